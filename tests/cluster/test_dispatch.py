"""The distribution of work, without Ray: no needless wait, nothing is lost and nothing comes twice."""

import logging
import random
from dataclasses import replace

import numpy as np
import pytest

from hexlit.cluster.config import RayConfig
from hexlit.errors import UsageError
from hexlit.selfplay.actor import SelfPlayCounts
from hexlit.selfplay.cluster import GameNews, Round, Shares
from hexlit.selfplay.players import RoundRequest, RoundResult
from tests.cluster.simulation import Learner, LightWorkers, first_games, killer, light_game, set_up

pytestmark = pytest.mark.row("E14")


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of light games are sound; looking at each batch takes longer than all the rest."""
    monkeypatch.setattr("hexlit.selfplay.cluster.to_table", lambda records: None)
    monkeypatch.setattr("hexlit.selfplay.cluster.faults_of", lambda table: {})


def kill_all(workers: LightWorkers, *lost: int) -> None:
    for worker in lost:
        workers.kill(worker, "exit code 1")


def look_each_second(workers: LightWorkers, seconds: int, log: list[logging.LogRecord]) -> list[int]:
    """Seconds of the messages."""
    said = []
    for second in range(seconds):
        workers.now, before = second, len(log)
        workers.dispatch.tick()
        said += [second] * (len(log) - before)
    return said


def by_round(learner: Learner) -> list[tuple[int, int]]:
    return sorted(learner.games)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("parts", "ahead"), [(2, 0), (2, 1), (200, 1), (200, 3)])
def test_a_storm_loses_no_game_and_brings_none_twice(parts: int, ahead: int) -> None:
    """F21: and every game has the version that it has without the storm."""
    calm = Learner(set_up(400, parts, lambda worker: 1.0), positions=800, ahead=ahead, seconds=0.5)
    calm.learn(3)
    chance = random.Random(parts + ahead)
    workers = set_up(400, parts, lambda worker: 0.5 + worker % 5, config=RayConfig(deaths=100))
    stormy = Learner(workers, positions=800, ahead=ahead, seconds=0.5)
    stormy.learn(3, killer(workers, chance, 0.5, 300))
    assert len(workers.hired) > parts + 3
    numbers = [game for game, _ in stormy.games]
    assert len(numbers) == len(set(numbers))
    done = 3 * 800
    assert set(range(done)) <= set(numbers)
    assert [one for one in by_round(stormy) if one[0] < done] == [one for one in by_round(calm) if one[0] < done]


@pytest.mark.row("E13")
@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("ahead", [1, 3])
def test_self_play_is_never_further_ahead_than_asked_for(ahead: int) -> None:
    """E13: the queue is bounded: with a slow learner the workers stop, and wait for it."""
    workers = set_up(400, 200, lambda worker: 0.1)
    learner = Learner(workers, positions=400, ahead=ahead, seconds=1000.0)
    learner.learn(5)
    assert learner.most_open <= ahead + 1
    assert len(learner.games) == (5 + ahead) * 400
    for game, version in learner.games:
        assert version == max(0, game // 400 - ahead)


@pytest.mark.row("E13")
@pytest.mark.usefixtures("unchecked")
def test_unequal_workers_do_not_wait_for_the_slowest_where_they_may_be_ahead() -> None:
    """E13: 200 workers, each slow at times: further ahead, the learner waits much less."""

    def waits(ahead: int) -> float:
        chance = random.Random(1)
        workers = set_up(400, 200, lambda worker: 5.0 if chance.random() < 0.01 else 1.0)
        learner = Learner(workers, positions=400, ahead=ahead, seconds=1.5)
        learner.learn(12)
        return learner.idle

    assert waits(3) < 0.5 * waits(1)


def test_a_learner_that_is_slower_than_two_workers_never_waits() -> None:
    workers = set_up(4, 2, lambda worker: 1.0)
    learner = Learner(workers, positions=40, ahead=1, seconds=3.0)
    learner.learn(10)
    assert learner.idle == pytest.approx(1.0)  # for the first round


def test_few_places_play_the_shares_of_all() -> None:
    workers = set_up(64, 16, lambda worker: 1.0, places=3)
    learner = Learner(workers, positions=64, ahead=0, seconds=0.0)
    learner.learn(2)
    assert sorted(game for game, _ in learner.games) == list(range(128))
    assert len(workers.busy) == 3


def test_a_lost_share_is_played_again_and_what_came_before_is_not_passed_on_twice() -> None:
    workers = set_up(4, 1, lambda worker: 2.0)
    learner = Learner(workers, positions=8, ahead=0, seconds=0.0)
    learner.add(0)
    workers.step()  # joins
    workers.step()  # tells half of its share
    assert [game for game, _ in learner.games] == [0, 1, 2, 3]
    workers.kill(0)
    while not learner.rounds[0].ended.done():
        assert workers.step()
    assert [game for game, _ in learner.games] == list(range(8))
    played: RoundResult = learner.rounds[0].ended.result()
    assert (played.counts.games, played.counts.positions) == (8, 8)
    assert played.in_progress[0]["slot.game_id"].tolist() == [8, 9, 10, 11]


def test_the_work_of_a_round_is_that_of_all_its_parts() -> None:
    """The time inside the network is their mean; of a share that is played again, the last time counts."""
    round_ = Round(RoundRequest(None, 8, 0, lambda records, counts: None), begun=1.0)
    Shares(4, first_games(4, 2), lambda: 0.0).add(round_)
    round_.spent[0] = SelfPlayCounts(evaluations=9, recalled=9, network_seconds=9.0)
    round_.spent[0] = SelfPlayCounts(evaluations=3, recalled=1, network_seconds=1.0)
    round_.spent[1] = SelfPlayCounts(evaluations=5, recalled=2, network_seconds=3.0)
    assert round_.counts(11.0) == SelfPlayCounts(evaluations=8, recalled=3, network_seconds=2.0, seconds=10.0)


def test_a_worker_that_sends_what_is_no_game_is_ended_and_its_share_played_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    workers = set_up(4, 1, lambda worker: 2.0)
    learner = Learner(workers, positions=4, ahead=0, seconds=0.0)
    learner.add(0)
    workers.step()
    workers.dispatch.tick()
    broken = replace(light_game(0, 0), moves=np.array([0, 0, 2], np.int16))
    with caplog.at_level(logging.WARNING):
        workers.dispatch.heard(0, GameNews([broken], SelfPlayCounts(), 0.0, None))
    assert "an actor was lost on host-0 (game 0 is none: move 2 is no free cell" in caplog.text
    assert workers.present == {1}
    while not learner.rounds[0].ended.done():
        assert workers.step()
    assert [game for game, _ in learner.games] == [0, 1, 2, 3]


@pytest.mark.parametrize("game", [3, 4, -1])  # of another part, before its turn, none
def test_a_worker_that_sends_games_of_others_is_ended(game: int, caplog: pytest.LogCaptureFixture) -> None:
    workers = set_up(4, 2, lambda worker: 2.0)
    Learner(workers, positions=4, ahead=0, seconds=0.0).add(0)
    workers.step()
    workers.dispatch.tick()
    workers.dispatch.heard(0, GameNews([light_game(game, 0)], SelfPlayCounts(), 0.0, None))
    assert f"game {game} is not the next one of part 0 of 2" in caplog.text
    assert 0 not in workers.present


def test_a_place_where_every_actor_dies_is_given_up_and_the_last_one_ends_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    workers = set_up(4, 2, lambda worker: 1.0, config=RayConfig(deaths=3))
    kill_all(workers, 0, 2, 3)
    assert "3 actors in a row were lost before it could work (exit code 1); 1 places are left" in caplog.text
    with pytest.raises(UsageError, match=r"^self-play on Ray: 3 actors in a row .*; no actor is left$"):
        kill_all(workers, 1, 4, 5)


def test_finished_shares_forgive_deaths() -> None:
    workers = set_up(4, 1, lambda worker: 1.0, config=RayConfig(deaths=2))
    learner = Learner(workers, positions=4, ahead=0, seconds=0.0)
    for epoch in range(5):
        learner.learn(epoch + 1)
        workers.kill(max(workers.hired))
    assert len(workers.hired) == 6


def test_without_a_place_it_says_so_and_gives_up_when_asked_to(caplog: pytest.LogCaptureFixture) -> None:
    workers = set_up(4, 2, lambda worker: 1.0, config=RayConfig(wait=60), places=0)
    assert look_each_second(workers, 60, caplog.records) == [9, 19, 39]
    workers.now = 61
    with pytest.raises(UsageError, match="for 61 s none of 2 actors has started .0 places.; add nodes"):
        workers.dispatch.tick()
    assert "2 of 2 actors have not started yet (0 places)" in caplog.text


def test_it_waits_without_end_where_that_is_asked_for() -> None:
    workers = set_up(4, 2, lambda worker: 1.0, config=RayConfig(wait=None), places=0)
    workers.now = 1e6
    workers.dispatch.tick()


def test_processor_time_of_the_lost_counts() -> None:
    workers = set_up(4, 1, lambda worker: 1.0)
    learner = Learner(workers, positions=4, ahead=0, seconds=0.0)
    learner.learn(1)
    workers.kill(0)
    assert workers.dispatch.cpu_seconds == pytest.approx(0.1)
