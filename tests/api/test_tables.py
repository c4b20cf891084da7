"""Data and judged examples from Python."""

from pathlib import Path

import pytest

import hexlit
from tests.tasks.classify.texts import save, sentences

SMALL = {
    "task": "classify",
    "logger": "csv",
    "accelerator": "cpu",
    "accelerator.threads": 1,
    "accelerator.precision": "32-true",
    "data.max_length": 32,
    "net.vocabulary": 400,
    "net.width": 16,
    "optimizer.lr": 1e-2,
    "trainer.max_epochs": 2,
}


@pytest.mark.row("F10")
def test_data_can_be_looked_at_before_a_run_and_judged_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = {**SMALL, "data.path": save(*sentences(20), tmp_path / "t.csv")}
    table = hexlit.data(**settings)
    assert list(table.columns) == ["text", "label", "split"]
    run = hexlit.train(quiet=True, **settings)
    found = run.judged("test")
    assert found["text"].tolist() == table[table["split"] == "test"]["text"].tolist()
    right = (found["predicted"] == found["truth"]).mean()
    assert right == pytest.approx(run.summary["test"]["model"]["accuracy"])
    assert run.predict(table)["predicted"].iloc[-len(found) :].tolist() == found["predicted"].tolist()
    with pytest.raises(hexlit.UsageError, match="split=tests: choose one of train, validation, test"):
        run.judged("tests")
