"""Tournaments: pairings, no game twice, and resuming an interrupted one."""

from pathlib import Path

import pytest

from hexlit.arena.matches import Pair
from hexlit.arena.tournament import GameLog, Tournament, pairings, standings
from hexlit.errors import UsageError
from tests.arena.stand_ins import AlwaysSwaps, Lowest, named

OPENINGS = {number: (number, 15 - number // 2) for number in range(6)}


def tournament(log: GameLog, **settings: object) -> Tournament:
    players = [named("low", Lowest()), named("high", Lowest(last=True)), named("also low", Lowest())]
    return Tournament(players, settings.pop("openings", OPENINGS), log, at_once=2, **settings)  # type: ignore[arg-type]


def test_everybody_meets_everybody_or_the_first_all_others() -> None:
    assert pairings(["a", "b", "c"], "round_robin") == [("a", "b"), ("a", "c"), ("b", "c")]
    assert pairings(["a", "b", "c"], "gauntlet") == [("a", "b"), ("a", "c")]
    with pytest.raises(UsageError, match="mode=swiss"):
        pairings(["a", "b"], "swiss")


@pytest.mark.parametrize(("mode", "count"), [("round_robin", 36), ("gauntlet", 24)])
def test_every_pairing_plays_the_same_openings_with_both_colours(mode: str, count: int, tmp_path: Path) -> None:
    log = GameLog(tmp_path / "games.csv", 4)
    played: list[Pair] = []
    everything = tournament(log, mode=mode)
    everything.play(played.append)
    assert len(log.games) == everything.games == count == 2 * len(played)
    for group in log.pairs.values():
        assert sorted(group) == list(OPENINGS)
        assert [game.moves[:2] for pair in group.values() for game in pair] == [
            OPENINGS[number] for number in group for _ in range(2)
        ]
    assert everything.repeated == 0


def test_a_tournament_broken_off_goes_on_and_ends_as_it_would_have(tmp_path: Path) -> None:
    whole = GameLog(tmp_path / "whole.csv", 4)
    tournament(whole).play(lambda pair: None)

    def until_the_seventh(pair: Pair) -> None:
        if len(broken.games) == 14:
            raise KeyboardInterrupt

    broken = GameLog(tmp_path / "broken.csv", 4)
    with pytest.raises(KeyboardInterrupt):
        tournament(broken).play(until_the_seventh)
    again = GameLog(tmp_path / "broken.csv", 4)
    assert len(again.games) == 14
    played: list[Pair] = []
    tournament(again).play(played.append)
    assert len(played) == 11, "nothing is played a second time"
    assert again.pairs == whole.pairs


def test_games_that_come_a_second_time_are_dropped_with_their_pair_and_counted(tmp_path: Path) -> None:
    """Openings 1 and 2 come to the position of opening 0, by another order of moves and turned; 3 to another one."""
    openings = {0: (1, 6, 9), 1: (9, 6, 1), 2: (14, 9, 6), 3: (1, 7, 9)}
    log = GameLog(tmp_path / "games.csv", 4)
    once = tournament(log, mode="gauntlet", openings=openings)
    once.play(lambda pair: None)
    # The highest and the lowest cell are one another turned, so two such players turned are not the same game again.
    assert sorted(log.pairs["low", "high"]) == [0, 2, 3]
    assert once.repeated == 4
    again = GameLog(log.path, 4)
    resumed = tournament(again, mode="gauntlet", openings=openings)
    resumed.play(lambda pair: None)
    assert again.pairs == log.pairs
    assert resumed.repeated == 4


def test_a_pairing_ends_when_it_is_decided(tmp_path: Path) -> None:
    log = GameLog(tmp_path / "games.csv", 4)
    tournament(log, mode="gauntlet", every=2, decided=lambda counts: sum(counts) >= 3).play(lambda pair: None)
    assert {pairing: len(group) for pairing, group in log.pairs.items()} == {("low", "high"): 4, ("low", "also low"): 4}


def test_a_tournament_broken_off_between_two_looks_ends_where_it_would_have(tmp_path: Path) -> None:
    """Four pairs decide; five are not looked at, though the first half of the next block is there already."""
    whole = GameLog(tmp_path / "whole.csv", 4)
    settings = {"mode": "gauntlet", "every": 3, "decided": lambda counts: sum(counts) in (4, 5, 6)}
    tournament(whole, **settings).play(lambda pair: None)
    assert {len(group) for group in whole.pairs.values()} == {6}

    def until_the_fourth(pair: Pair) -> None:
        if len(broken.games) == 8:
            raise KeyboardInterrupt

    broken = GameLog(tmp_path / "broken.csv", 4)
    with pytest.raises(KeyboardInterrupt):
        tournament(broken, **settings).play(until_the_fourth)
    again = GameLog(tmp_path / "broken.csv", 4)
    tournament(again, **settings).play(lambda pair: None)
    assert again.pairs == whole.pairs


def test_standings_count_every_game_once(tmp_path: Path) -> None:
    log = GameLog(tmp_path / "games.csv", 4)
    everything = tournament(log)
    everything.play(lambda pair: None)
    names = ["low", "high", "also low"]
    found = standings(names, everything.pairings, log, "high")
    assert found["games"] == 36
    assert sum(player["wins"] for player in found["players"]) == 36
    elos = [player["elo"] for player in found["players"]]
    assert elos == sorted(elos, reverse=True)
    assert [player["elo"] for player in found["players"] if player["name"] == "high"] == [0]
    for player in found["players"]:
        row = found["cross"][player["name"]]
        assert sum(cell["wins"] for cell in row.values()) == player["wins"]
        assert sum(cell["games"] for cell in row.values()) == player["games"] == 24
    assert found["black_wins"] == sum(game.winner > 0 for game in log.games)
    both = [sum(game.won_by == game.black for game in pair) for group in log.pairs.values() for pair in group.values()]
    assert found["split_pairs"] == sum(wins != 1 for wins in both), "each has won once: Black both games, or White"
    unplayed = standings(names, everything.pairings, GameLog(tmp_path / "empty.csv", 4), "high")
    assert (unplayed["players"], unplayed["games"]) == ([], 0)


def test_by_the_swap_rule_a_tournament_goes_on_from_disk_and_finds_what_it_has_played(tmp_path: Path) -> None:
    """Openings 0 and 2 are one another turned by 180 degrees, swap and all."""
    openings = {0: (1,), 1: (5,), 2: (14,)}
    players = [named("swaps", AlwaysSwaps(last=True)), named("low", Lowest())]
    whole = GameLog(tmp_path / "games.csv", 4)
    Tournament(players, openings, whole, at_once=2, swap=True).play(lambda pair: None)
    swapped = [game for game in whole.games if game.moves[1] == 16]
    assert [game.white for game in swapped] == ["swaps"] * (len(whole.games) // 2)
    assert standings(["swaps", "low"], [("swaps", "low")], whole, "low")["swaps"] == len(swapped)
    whole.path.write_text("".join(whole.path.read_text().splitlines(keepends=True)[:3]))
    again = GameLog(whole.path, 4)
    Tournament(players, openings, again, at_once=2, swap=True).play(lambda pair: None)
    assert again.pairs == whole.pairs
