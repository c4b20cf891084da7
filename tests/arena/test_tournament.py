"""Tournaments: pairings, resuming an interrupted one; games on disk, as a table and as SGF."""

from pathlib import Path

import pytest

from hexlit.arena.matches import ArenaGame, MatchWorker, Pair
from hexlit.arena.tournament import COLUMNS, GameLog, Tournament, as_collection, pairings, standings
from hexlit.errors import UsageError
from hexlit.hex.record import Ending
from hexlit.hex.records.game import RecordError, as_record
from hexlit.hex.records.sgf import escaped, read_sgf
from tests.arena.stand_ins import AlwaysSwaps, Lowest, named

OPENINGS = {number: (number, 15 - number // 2) for number in range(6)}


def tournament(log: GameLog, **settings: object) -> Tournament:
    players = [
        named("low", Lowest()),
        named("high", Lowest(last=True)),
        named("also low", Lowest()),
    ]
    worker = MatchWorker(players, log.size, at_once=2)
    return Tournament(worker, settings.pop("openings", OPENINGS), log, **settings)  # type: ignore[arg-type]


def test_everybody_meets_everybody_or_the_first_all_others() -> None:
    assert pairings(["a", "b", "c"], "round_robin") == [("a", "b"), ("a", "c"), ("b", "c")]
    assert pairings(["a", "b", "c"], "gauntlet") == [("a", "b"), ("a", "c")]


@pytest.mark.parametrize(("mode", "count"), [("round_robin", 36), ("gauntlet", 24)])
def test_every_pairing_plays_the_same_openings_with_both_colours(
    mode: str, count: int, tmp_path: Path
) -> None:
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


def test_a_pairing_ends_when_it_is_decided(tmp_path: Path) -> None:
    log = GameLog(tmp_path / "games.csv", 4)
    tournament(log, mode="gauntlet", every=2, decided=lambda counts: sum(counts) >= 3).play(
        lambda pair: None
    )
    assert {pairing: len(group) for pairing, group in log.pairs.items()} == {
        ("low", "high"): 4,
        ("low", "also low"): 4,
    }


def test_standings_count_every_game_once(tmp_path: Path) -> None:
    log = GameLog(tmp_path / "games.csv", 4)
    everything = tournament(log)
    everything.play(lambda pair: None)
    found = standings(everything, "high")
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
    both = [
        sum(game.won_by == game.black for game in pair)
        for group in log.pairs.values()
        for pair in group.values()
    ]
    assert found["split_pairs"] == sum(wins != 1 for wins in both), (
        "each has won once: Black both games, or White"
    )
    unplayed = standings(tournament(GameLog(tmp_path / "empty.csv", 4)), "high")
    assert (unplayed["players"], unplayed["games"]) == ([], 0)


def test_by_the_swap_rule_a_tournament_goes_on_from_disk_and_finds_what_it_has_played(
    tmp_path: Path,
) -> None:
    """Openings 0 and 2 are one another turned by 180 degrees, swap and all."""
    openings = {0: (1,), 1: (5,), 2: (14,)}
    players = [named("swaps", AlwaysSwaps(last=True)), named("low", Lowest())]
    whole = GameLog(tmp_path / "games.csv", 4)
    worker = MatchWorker(players, 4, at_once=2, swap=True)
    everything = Tournament(worker, openings, whole)
    everything.play(lambda pair: None)
    swapped = [game for game in whole.games if game.moves[1] == 16]
    assert [game.white for game in swapped] == ["swaps"] * (len(whole.games) // 2)
    assert standings(everything, "low")["swaps"] == len(swapped)
    whole.path.write_text("".join(whole.path.read_text().splitlines(keepends=True)[:3]))
    again = GameLog(whole.path, 4)
    Tournament(worker, openings, again).play(lambda pair: None)
    assert again.pairs == whole.pairs


def pair_of(number: int, first: str = "a", second: str = 'b, the "second"') -> Pair:
    there = ArenaGame(number, first, second, 2, (0, 5, 4, 8), 1, Ending.RESIGNED)
    back = ArenaGame(
        number, second, first, 2, (0, 5, 3, 4), -1, Ending.FORFEITED, 'said "x, y"; gone'
    )
    return there, back


@pytest.fixture
def filled(tmp_path: Path) -> GameLog:
    log = GameLog(tmp_path / "games.csv", 3)
    for number in (2, 0, 7):
        log.append(pair_of(number))
    log.append(pair_of(0, "c", "a"))
    return log


def test_what_was_kept_is_found_again(filled: GameLog) -> None:
    again = GameLog(filled.path, 3)
    assert again.pairs == filled.pairs
    assert again.games == filled.games
    assert [game.pair for game in again.games] == [0, 0, 2, 2, 7, 7, 0, 0]
    assert again.counts("a", 'b, the "second"') == (0, 0, 3)
    assert again.counts("x", "y") == (0, 0, 0)
    assert filled.path.read_text().splitlines()[0] == ",".join(COLUMNS)


def test_a_file_torn_anywhere_keeps_every_whole_pair(filled: GameLog) -> None:
    whole = filled.path.read_bytes()
    for end in range(0, len(whole), 7):
        filled.path.write_bytes(whole[:end])
        log = GameLog(filled.path, 3)
        rows_on_disk = whole[:end].count(b"\n") - 1
        assert len(log.games) == max(0, rows_on_disk // 2 * 2)
        assert GameLog(filled.path, 3).pairs == log.pairs
        assert not filled.path.read_bytes().endswith(b"\n\n")
        log.append(pair_of(99))
        assert GameLog(filled.path, 3).pairs == log.pairs


@pytest.mark.parametrize(
    "text", ["a,b\n1,2\n", ",".join(COLUMNS) + "\n1,a,b,black,connected,2,3,a1 z9 b1,\n" * 2]
)
def test_a_file_that_is_something_else_is_refused_and_left_alone(text: str, tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"games\.csv"):
        GameLog(path, 3)
    assert path.read_text() == text


def test_every_game_is_read_back_with_players_result_and_note() -> None:
    odd = "an [odd] na\\me; (x)"
    games = [
        ArenaGame(0, "a", odd, 2, (0, 24, 12), 1, Ending.CONNECTED),
        ArenaGame(0, odd, "a", 2, (0, 24), -1, Ending.RESIGNED),
        ArenaGame(1, "a", odd, 1, (7,), 1, Ending.FORFEITED, "answers 'c[2]', which is \\no move"),
        ArenaGame(1, odd, "a", 0, (), -1, Ending.FORFEITED, "did not start]"),
    ]
    text = as_collection(games, 5)
    for read, game in zip(read_sgf(text.splitlines()), games, strict=True):
        assert not isinstance(read, RecordError)
        assert (read.size, read.black, read.white) == (5, game.black, game.white)
        assert tuple(move.action for move in read.moves if move.action >= 0) == game.moves
        assert read.winner == game.winner
        assert escaped(game.note) in text


def test_a_swap_is_written_and_imported_as_swap_pieces() -> None:
    games = [
        ArenaGame(0, "a", "b", 1, (1, 9, 4, 0, 7), -1, Ending.RESIGNED),
        ArenaGame(0, "b", "a", 1, (1, 9), -1, Ending.FORFEITED, "hangs"),
    ]
    text = as_collection(games, 3)
    assert "B[b1];W[swap-pieces];B[b2];W[a1]" in text
    for read, game in zip(read_sgf(text.splitlines()), games, strict=True):
        assert not isinstance(read, RecordError)
        record = as_record(read)
        assert (record.swap, tuple(record.moves.tolist()), record.opening) == (True, game.moves, 1)
        assert (record.winner, record.ending) == (game.winner, game.ending)
