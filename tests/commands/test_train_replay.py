"""`hexlit train data.replay_epochs=...`: the last epochs play no games and learn from all of the run."""

from pathlib import Path

import pytest

from hexlit.commands.train import main
from tests.commands.test_train import same_games, same_weights, train
from tests.commands.tiny import TINY

AHEAD = ("selfplay.workers=1", "selfplay.ahead=true")
BOARDS = ("board=3", "selfplay.smaller_boards=[2]", "selfplay.smaller_epochs=1", "data.window=1")
REPLAY = (*BOARDS, "trainer.max_epochs=8", "data.replay_epochs=5", "optimizer.schedule=constant", *AHEAD)


def test_the_last_epochs_learn_from_all_games_and_go_on_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The part ends before the last epoch, which would not fit its budget."""
    # Both train by the same kernels, whatever a measurement would choose: others round differently.
    monkeypatch.setattr("hexlit.tasks.hex.module.training_obstacle", lambda: "one choice")
    (tmp_path / "part").mkdir()
    whole = train(tmp_path, *REPLAY)
    rows = whole.table("metrics.csv")
    positions = sum(len(record.policy_plies) for record in whole.games.values() if record.size == 3)
    windows = [int(float(row["selfplay.window"])) for row in rows]
    assert windows[3:] == [positions] * 5
    assert max(windows[:3]) < positions
    assert rows[2]["selfplay.games"] == rows[7]["selfplay.games"]
    assert rows[2]["cost.actor_macs"] == rows[7]["cost.actor_macs"]
    assert float(rows[3]["cost.flops"]) < float(rows[4]["cost.flops"])
    part = train(tmp_path / "part", *REPLAY, f"trainer.max_flops={0.999 * float(rows[7]['cost.flops'])}")
    assert len(part.table("metrics.csv")) == 7
    train(tmp_path / "part", "resume=run", "trainer.max_flops=null", base=())
    assert same_weights(whole, part)
    assert same_games(whole.games, part.games)


def test_a_run_without_games_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*TINY, "trainer.max_epochs=3", "data.replay_epochs=3"]) == 2
    assert "data.replay_epochs=3: must be below trainer.max_epochs=3" in capfd.readouterr().err
