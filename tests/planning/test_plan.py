"""Measured rates: read, refused, and what follows from them; a plan beside what a pencil gives."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from hexlit.errors import UsageError
from hexlit.planning.plan import ActorRate, Machines, Pace, Plan

PACE = Pace(2, [ActorRate(1, 64, 100.0), ActorRate(1, 4, 60.0), ActorRate(2, 64, 150.0)], 400.0, 2, 10.0, 3.0, 1e3, 1e6)
# 100 positions a second play, 400 train on a device; every game has 10 positions.
EVEN = Pace(2, [ActorRate(1, 1, 100.0)], 400.0, 0, 10.0, 0.0, 1e3, 1e6)
LOCAL = Machines(2, 2, 0, 2, 2, devices=1, scaling=0.5, bytes_per_second=1e12, latency=0.0)
REMOTE = replace(LOCAL, workers=0, hosts=4)
# 4 s of play by two processes, 8 s of training
PLAN = Plan(EVEN, EVEN, LOCAL, positions=800, games=64, trained=3200, ahead=1)


def plan(rate: float | None = None, threads: int = 0, **changed: Any) -> Plan:
    """`PLAN` with another rate of self-play, training that keeps `threads` busy, and other fields."""
    pace = replace(EVEN, actors=[ActorRate(1, 1, rate or 100.0)], training_threads=threads)
    return replace(PLAN, pace=pace, learner=pace, **changed)


def test_it_reads_what_was_written(tmp_path: Path) -> None:
    (tmp_path / "bench.json").write_text(json.dumps({"pace": asdict(PACE)}))
    assert Pace.read(tmp_path) == Pace.read(tmp_path / "bench.json") == PACE


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        ("{", "no figures of what=pace"),
        ("[]", "no figures of what=pace"),
        (json.dumps({"pace": {"actors": []}}), "pace.cores=0: must be 1 or more"),
        (json.dumps({"pace": asdict(PACE) | {"positions_per_game": 0}}), "pace.positions_per_game=0.0: must be"),
        (json.dumps({"pace": asdict(PACE) | {"weights_bytes": None}}), "weights_bytes"),
        (json.dumps({"pace": asdict(PACE) | {"actors": [asdict(ActorRate(2, 4, 1.0))]}}), "one process alone"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "bench.json").write_text(content)
    with pytest.raises(UsageError, match=said) as error:
        Pace.read(tmp_path)
    assert str(error.value).startswith(f"rates={tmp_path}")


def test_a_process_with_fewer_games_is_slower() -> None:
    assert [PACE.alone(games) for games in (1000, 64, 16, 4, 2)] == pytest.approx([100, 100, 80, 60, 30])


def test_busy_cores_slow_each_other_down_as_measured() -> None:
    assert [PACE.speed(busy) for busy in (0, 1, 2, 9)] == [1, 1, 0.75, 0.75]


def test_taking_turns_adds_up() -> None:
    outcome = plan(ahead=0).outcome()
    assert outcome.epoch_seconds == pytest.approx(12)
    assert outcome.learner_busy == pytest.approx(8 / 12)
    assert outcome.actors_busy == pytest.approx(4 / 12)
    assert outcome.positions_per_second == pytest.approx(800 / 12)
    assert outcome.staleness == 0


@pytest.mark.row("E13")
def test_self_play_ahead_costs_no_time_and_one_epoch_of_staleness() -> None:
    outcome = PLAN.outcome()
    assert outcome.epoch_seconds == pytest.approx(8)
    assert outcome.learner_busy == pytest.approx(1)
    assert outcome.staleness == 1
    slow = plan(rate=25.0).outcome()
    assert slow.epoch_seconds == pytest.approx(16)
    assert slow.actors_busy == pytest.approx(1)


def test_further_hosts_play_side_by_side_until_training_is_the_limit() -> None:
    def epoch(hosts: int, devices: int = 1) -> float:
        return plan(rate=10.0, machines=replace(REMOTE, hosts=hosts, devices=devices)).outcome().epoch_seconds

    assert epoch(1) == pytest.approx(40)
    assert epoch(2) == pytest.approx(20)
    assert epoch(10) == epoch(20) == pytest.approx(8)
    assert epoch(20, devices=3) == pytest.approx(4), "two more devices count half each"


def test_weights_cross_the_network_once_for_each_host_and_records_once() -> None:
    outcome = plan(machines=REMOTE).outcome()
    assert outcome.games_per_epoch == pytest.approx(80)
    assert outcome.bytes_per_second * outcome.epoch_seconds == pytest.approx(4 * 1e6 + 80 * 1000)
    slow = plan(machines=replace(REMOTE, bytes_per_second=4e5)).outcome()
    assert slow.epoch_seconds >= 10.2, "4 MB of weights and 80 kB of records at 400 kB/s"


def test_each_process_plays_whole_games() -> None:
    """Eight positions a share, ten a game: a quarter more than asked. Of games of 10 ± 4, 27% are too short."""
    small = plan(machines=REMOTE, positions=64, trained=64)
    assert small.outcome().games_per_epoch == pytest.approx(8)
    assert small.outcome().epoch_seconds == pytest.approx(0.16), "training is slower than the 0.1 s of each game"
    uneven = replace(EVEN, positions_per_game_deviation=4.0)
    assert replace(small, pace=uneven).outcome().games_per_epoch == pytest.approx(8 * 1.27, rel=0.02)


def test_training_on_the_processor_shares_its_cores_with_self_play() -> None:
    assert plan(threads=2).outcome().epoch_seconds == pytest.approx(12), "4 s and 8 s of both cores, whoever ends first"
