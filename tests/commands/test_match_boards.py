"""Boards of a match: which games are drawn, and how."""

import pytest

from hexlit.arena.matches import ArenaGame
from hexlit.commands.match import MatchConfig
from hexlit.commands.match_boards import closest_games, draw_games
from hexlit.errors import UsageError
from hexlit.hex.notation import parse_moves
from hexlit.hex.record import Ending


def game(pair: int, black: str, white: str, moves: str, winner: int, ending: Ending = Ending.RESIGNED) -> ArenaGame:
    return ArenaGame(pair, black, white, 0, tuple(parse_moves(moves, 3)), winner, ending)


GAMES = [
    game(0, "a", "b", "a1 a2", 1),
    game(0, "b", "a", "a1 a2 b1", -1),
    game(0, "a", "c", "a1", 1),
    game(0, "c", "a", "b2 a1 b1 a2", 1),
    game(1, "a", "c", "b2 a1 c1", 1),
    game(1, "c", "a", "b2 a1", 1),
]
"""`a` has won all games against `b`, and half of those against `c`."""


def test_the_longest_games_of_the_closest_players_come_first() -> None:
    found = closest_games(GAMES, 4)
    assert found == [GAMES[3], GAMES[1], GAMES[4], GAMES[0]]
    assert closest_games(GAMES, 99)[:4] == found
    assert len(closest_games(GAMES, 99)) == len(GAMES)
    assert closest_games([], 3) == []


def test_a_board_shows_players_stones_and_the_end() -> None:
    moves = "a1 swap-pieces b2 c3 b1 a2 b3"
    drawn = draw_games([game(0, "new", "old", moves, 1, Ending.CONNECTED)], 3).plain
    assert drawn.splitlines()[1:] == [
        "X new – O old",
        "   a b c",
        " 1 O X . 1",
        "  2 O X . 2",
        "   3 .(X)O 3",
        "      a b c",
        "Black connects after 7 moves",
    ]


def test_less_than_no_board_is_refused() -> None:
    with pytest.raises(UsageError, match="boards=-1: must be 0 or more"):
        MatchConfig(boards=-1)
