"""Self-play, network and training: the simulation beside what a pencil gives."""

from dataclasses import replace

import pytest

from hexlit.planning.cluster import Cluster, Link, Work
from hexlit.planning.pace import ActorRate, Pace
from hexlit.planning.simulation import EPOCHS, Outcome, simulate

# 100 positions a second play, 400 train on a device; every game has 10 positions.
PACE = Pace(
    cores=2,
    actors=(ActorRate(1, 1, 100.0),),
    training_positions_per_second=400.0,
    training_threads=0,
    positions_per_game=10.0,
    positions_per_game_deviation=0.0,
    bytes_per_game=1000.0,
    weights_bytes=1e6,
)
LOCAL = Cluster(2, 2, 0, 2, 2, devices=1, scaling=0.5, link=Link(1e12, 0.0))
REMOTE = replace(LOCAL, workers=0, hosts=4)
WORK = Work(positions=800, games=64, trained=3200, ahead=1)  # 4 s of play by two processes, 8 s of training


def test_taking_turns_adds_up() -> None:
    outcome = simulate(PACE, LOCAL, replace(WORK, ahead=0))
    assert outcome.epoch_seconds == pytest.approx(12)
    assert outcome.learner_busy == pytest.approx(8 / 12)
    assert outcome.actors_busy == pytest.approx(4 / 12)
    assert outcome.positions_per_second == pytest.approx(800 / 12, rel=1 / EPOCHS)
    assert outcome.staleness == 0


@pytest.mark.row("E13")
def test_self_play_ahead_costs_no_time_and_one_epoch_of_staleness() -> None:
    outcome = simulate(PACE, LOCAL, WORK)
    assert outcome.epoch_seconds == pytest.approx(8)
    assert outcome.learner_busy == pytest.approx(1)
    assert outcome.staleness == 1
    slow = simulate(replace(PACE, actors=(ActorRate(1, 1, 25.0),)), LOCAL, WORK)
    assert slow.epoch_seconds == pytest.approx(16)
    assert slow.actors_busy == pytest.approx(1)


def test_further_hosts_play_side_by_side_until_training_is_the_limit() -> None:
    def epoch(hosts: int, devices: int = 1) -> float:
        cluster = replace(REMOTE, hosts=hosts, devices=devices)
        return simulate(replace(PACE, actors=(ActorRate(1, 1, 10.0),)), cluster, WORK).epoch_seconds

    assert epoch(1) == pytest.approx(40)
    assert epoch(2) == pytest.approx(20)
    assert epoch(10) == epoch(20) == pytest.approx(8)
    assert epoch(20, devices=3) == pytest.approx(4), "two more devices count half each"


def test_weights_cross_the_network_once_for_each_host_and_records_once() -> None:
    outcome = simulate(PACE, REMOTE, WORK)
    assert outcome.games_per_epoch == pytest.approx(80, rel=1 / EPOCHS)
    per_epoch = outcome.bytes_per_second * outcome.epoch_seconds
    assert per_epoch == pytest.approx(4 * 1e6 + 80 * 1000, rel=2 / EPOCHS)
    slow = simulate(PACE, replace(REMOTE, link=Link(4e5, 0.0)), WORK)
    assert slow.epoch_seconds >= 10.2, "4 MB of weights and 80 kB of records at 400 kB/s"


def test_whole_games_make_small_shares_uneven() -> None:
    """Eight positions a share, ten a game: each process plays a whole game, and so a quarter more than asked."""
    small = replace(WORK, positions=64, trained=64)
    outcome = simulate(PACE, REMOTE, small)
    assert outcome.games_per_epoch == pytest.approx(8, rel=1 / EPOCHS)
    assert outcome.epoch_seconds == pytest.approx(0.16), "training is slower than the 0.1 s of each game"


def test_training_on_the_processor_shares_its_cores_with_self_play() -> None:
    busy = replace(PACE, training_threads=2)
    together = simulate(busy, LOCAL, WORK)
    assert together.epoch_seconds == pytest.approx(12), "4 s and 8 s of both cores, whoever comes first"


def test_the_same_seed_gives_the_same_outcome() -> None:
    uneven = replace(PACE, positions_per_game_deviation=4.0)

    def outcome(seed: int) -> Outcome:
        return simulate(uneven, REMOTE, replace(WORK, trained=64), seed=seed)

    assert outcome(1) == outcome(1)
    assert outcome(1) != outcome(2)
