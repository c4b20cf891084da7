"""Data and judged examples from Python."""

from pathlib import Path

import pytest

import hexlit
from tests.commands.test_train_classify import SMALL
from tests.tasks.classify.texts import save, sentences


def test_data_can_be_looked_at_before_a_run_and_judged_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = {"data.path": save(*sentences(20), tmp_path / "t.csv")}
    table = hexlit.data(*SMALL, **path)
    assert list(table.columns) == ["text", "label", "split"]
    run = hexlit.train(*SMALL, quiet=True, **path)
    found = run.judged("test")
    assert found["text"].tolist() == table[table["split"] == "test"]["text"].tolist()
    right = (found["predicted"] == found["truth"]).mean()
    assert right == pytest.approx(run.summary["test"]["model"]["accuracy"])
    assert (
        run.predict(table)["predicted"].iloc[-len(found) :].tolist() == found["predicted"].tolist()
    )
    with pytest.raises(
        hexlit.UsageError, match="split=tests: choose one of train, validation, test"
    ):
        run.judged("tests")
