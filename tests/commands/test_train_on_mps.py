"""A whole training on a pretended mps:
its decisions are tried, no figure comes from Apple hardware.
"""

import json
from pathlib import Path

import pytest

from hexlit.cli import main
from tests.pretended_device import pretend_mps
from tests.tables import rows_of

TINY = (
    *("board=3", "net.channels=8", "net.blocks=[1]", "selfplay.positions=100", "selfplay.games=16"),
    *("selfplay.workers=0", "selfplay.ahead=false", "search.simulations=4", "trainer.max_epochs=2"),
    *("trainer.monitor=train.loss", "trainer.monitor_mode=min", "trainer.ema_decay=0.9"),
    *("evaluation.every_epochs=0", "logger=csv"),
)


@pytest.mark.parametrize(
    "precision", ["16-mixed", pytest.param("bf16-mixed", marks=pytest.mark.slow), "32-true"]
)
def test_a_run_on_mps_trains_to_its_end(
    precision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its steps are timed by the host,
    and the network is back on the device for what follows the training.
    """
    monkeypatch.setattr("hexlit.commands.train.refuse_missing", lambda settings: None)
    with pretend_mps(monkeypatch) as device:
        code = main(
            [
                "train",
                "accelerator=mps",
                f"accelerator.precision={precision}",
                *TINY,
                f"hydra.run.dir={tmp_path}",
            ]
        )
    assert code == 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["epochs"] == 2
    assert summary["device"].startswith("mps")
    rows = rows_of(tmp_path / "steps.csv")
    assert [float(row["backward_seconds"]) > 0 for row in rows] == [True, True]
    assert device.moves[-1] == "mps"
