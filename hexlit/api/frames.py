"""Data frames: the one place that needs pandas."""

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.errors import UsageError
from hexlit.extras import install

if TYPE_CHECKING:
    import pandas as pd


def frame(rows: Iterable[Mapping[str, Any]], columns: Iterable[str] | None = None) -> "pd.DataFrame":
    """A data frame of `rows`; with `columns` these alone, also where there are no rows.

    Raises:
        UsageError: pandas is not installed.
    """
    return pandas_here().DataFrame(list(rows), columns=None if columns is None else list(columns))


def frame_of_csv(path: Path) -> "pd.DataFrame":
    """The table in `path`; an empty one where there is no such file.

    Raises:
        UsageError: pandas is not installed.
    """
    pandas = pandas_here()
    if not path.is_file() or not path.stat().st_size:
        return pandas.DataFrame()
    return pandas.read_csv(path)


def pandas_here() -> Any:
    """The package pandas; raises `UsageError` where it is not installed."""
    if find_spec("pandas") is None:
        raise UsageError(f"data frames need pandas, which is not installed: {install('notebooks')}")
    import pandas

    return pandas
