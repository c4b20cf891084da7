"""Classes of new texts: one, and those of a file."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from hexlit.commands.predict import main
from hexlit.errors import UsageError
from hexlit.parquet import descriptions
from hexlit.tasks.classify.predict import predict, predict_text
from tests.commands.test_train import as_a_process
from tests.tasks.classify.texts import make_data, make_module, make_trainer, save, sentences


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    data, tokens = make_data(save(*sentences(60), folder / "t.csv"))
    module = make_module(data, tokens, kind="mean")
    trainer = make_trainer(6)
    trainer.fit(module, data)
    trainer.save_checkpoint(folder / "checkpoints" / "last.ckpt")
    return folder / "checkpoints" / "last.ckpt"


def test_one_text_is_classified_with_its_probabilities(checkpoint: Path) -> None:
    said = predict_text(checkpoint, "the comet and the galaxy")
    assert said.startswith("stars ")
    assert said.count("%") == 3
    assert predict_text(checkpoint, "saw " * 50).endswith("; cut to 32 tokens: 1 of 1")
    with pytest.raises(UsageError, match="text=' ': write the text to classify"):
        predict_text(checkpoint, " ")


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_a_file_is_classified_row_by_row(name: str, checkpoint: Path, tmp_path: Path) -> None:
    texts = ["apple and plum", "drill " * 40, "one moon", ""]
    pq.write_table(pa.table({"id": range(4), "text": texts}), tmp_path / "in.parquet")
    said = predict(checkpoint, tmp_path / "in.parquet", tmp_path / name)
    assert said == f"4 texts classified, written to {tmp_path / name}; cut to 32 tokens: 1 of 4"
    table = (pq.read_table if name.endswith("parquet") else pacsv.read_csv)(tmp_path / name)
    assert set(descriptions(table.schema)) == (set(table.column_names) if name.endswith("parquet") else set())
    assert table["predicted"].to_pylist()[:3] == ["fruit", "tools", "stars"]
    parts = [table[f"p_{label}"].to_pylist() for label in ("fruit", "stars", "tools")]
    for confidence, *row in zip(table["confidence"].to_pylist(), *parts, strict=True):
        assert sum(row) == pytest.approx(1)
        assert max(row) == confidence


def test_what_cannot_be_predicted_is_one_line(
    checkpoint: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.csv").write_text("body\nx\n")
    for arguments, said in (
        ([f"source={tmp_path / 'in.csv'}", "target=out.csv"], "has no column text; it has body"),
        ([f"source={tmp_path / 'in.csv'}", "target=out.txt"], "target=out.txt: the name of a table ends in"),
        ([f"source={tmp_path / 'in.csv'}"], "name source=FILE and target=FILE, or text=..."),
        (["text=x", "source=in.csv"], "source=in.csv: text=... is predicted without files"),
        ([], "name source=FILE and target=FILE, or text=..."),
    ):
        with as_a_process(tmp_path):
            assert main([f"checkpoint={checkpoint}", *arguments]) == 2
        err = capfd.readouterr().err
        assert said in err
        assert err.count("\n") == err.count("predict:") == 1


@pytest.mark.parametrize("text", ['text=the smith\'s hammer, a "saw": {drill}', "text='a hammer, and a saw'"])
def test_the_command_prints_the_class_of_a_text(
    text: str, checkpoint: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with as_a_process(tmp_path):
        assert main([f"checkpoint={checkpoint.parent.parent}", text]) == 0
    assert capfd.readouterr().out.startswith("tools ")
