"""Tasks without a board, trained and applied from Python."""

from pathlib import Path

import pandas as pd
import pytest

import hexlit
from tests.commands.test_train_forecast import SMALL
from tests.tasks.forecast.tables import hourly, save


def test_a_forecaster_is_trained_and_predicts_a_data_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = save(hourly(), tmp_path / "table.csv")
    run = hexlit.train(
        *SMALL, quiet=True, logger="csv", **{"data.path": file, "trainer.max_epochs": 1}
    )
    assert run.task == "forecast"
    assert run.metrics["epoch"].tolist() == [0]
    found = run.predict(pd.read_csv(file))
    assert {"series", "time", "steps_ahead", "temp"} <= set(found.columns)
    for asked in (lambda: run.search(hexlit.Board(3)), lambda: run.openings()):
        with pytest.raises(hexlit.UsageError, match="not a checkpoint of a Hex network"):
            asked()
    with pytest.raises(hexlit.UsageError, match="task=forecast: has no evaluate"):
        run.evaluate()
    with pytest.raises(hexlit.UsageError, match="takes a data frame, or a CSV or Parquet file"):
        run.predict(["a text"])
