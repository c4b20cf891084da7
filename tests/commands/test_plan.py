"""`hexlit plan` from the command line, and the rates that `hexlit bench` measures for it."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from hexlit.commands import bench
from hexlit.commands.plan import main, read_pace
from tests.planning.test_plan import PACE


@pytest.fixture
def rates(tmp_path: Path) -> str:
    (tmp_path / "bench.json").write_text(json.dumps({"pace": asdict(PACE)}))
    return f"rates={tmp_path}"


def test_hours_and_cost_follow_from_epochs(rates: str, capfd: pytest.CaptureFixture[str]) -> None:
    prices = ["hosts=4", "host_price=0.5", "learner_price=2"]
    assert main(["experiment=hex5", rates, *prices, "target.epochs=100", "json=true"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["hours"] == pytest.approx(100 * found["epoch_seconds"] / 3600)
    assert found["cost"] == pytest.approx(found["hours"] * 4)
    assert found["cluster"]["actors"] == 8
    twice = next(change for change in found["changes"] if change["what"] == "8 hosts")
    assert twice["cost"] == pytest.approx(twice["hours"] * 6)


def test_epochs_without_games_take_the_time_of_their_training(
    rates: str, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = [
        "experiment=hex7",
        rates,
        "trainer.max_epochs=600",
        "data.replay_epochs=250",
        "json=true",
    ]
    assert main(asked) == 0
    found = json.loads(capfd.readouterr().out)
    training = found["epoch_seconds"] * found["learner_busy"]
    played = 318 + 16 * (5 / 7) ** 2 + 16 * (6 / 7) ** 2  # 5×5 and 6×6 come first
    assert found["hours"] == pytest.approx(
        (played * found["epoch_seconds"] + 250 * training) / 3600
    )
    assert found["learner_busy"] < 1


def test_a_target_is_in_games(rates: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment=hex5", rates, "target.games=100000", "json=true"]) == 0
    by_games = json.loads(capfd.readouterr().out)
    assert by_games["epochs"] == pytest.approx(100_000 / by_games["games_per_epoch"], abs=1)


@pytest.mark.slow
def test_the_bench_measures_what_a_plan_reads(tmp_path: Path) -> None:
    small = [
        "board=3",
        "net.channels=8",
        "net.blocks=[1]",
        "selfplay.games=8",
        "search.simulations=4",
    ]
    asked = [
        "what=pace",
        "experiment=hex5",
        "repeats=2",
        "seconds=0.01",
        f"output={tmp_path}",
        *small,
    ]
    assert bench.main([*asked, "accelerator=cpu", "accelerator.threads=1"]) == 0
    pace = read_pace(str(tmp_path))
    assert {actor["games"] for actor in pace.actors} == {8, 2, 1}
    assert 1 <= pace.positions_per_game <= 9
    assert pace.training_threads == 1
