"""Two players and a set of openings: every opening is played twice, with the colours exchanged.

Players of many games play all of them in parallel. If one of the two plays one game at a time (a foreign program), the
games follow one another. The rules are enforced here: a player that plays a taken cell or no cell loses the game, with
a note, and the other games continue.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from hexlit.arena.arena_game import ArenaGame, Opening, ended, illegality, position_of, put, swap_is_open
from hexlit.arena.game_player import RESIGN, Forfeit, GamePlayer
from hexlit.arena.match import Player, side_by_side
from hexlit.hex.engine import empty_stones, place_all
from hexlit.hex.geometry import geometry
from hexlit.hex.record import Ending


@dataclass(frozen=True)
class Contestant:
    """A named player."""

    name: str
    one_game: Callable[[], GamePlayer]
    """Makes the player for one game after another."""
    many_games: Callable[[int], Player] | None = None
    """Makes the player for a number of games at once; None: it only plays one game after another."""


def batched(name: str, many_games: Callable[[int], Player]) -> Contestant:
    """The contestant `name` whose player `many_games(games)` moves in many games at once."""
    return Contestant(name, lambda: InTurn(many_games(1)), many_games)


Pair = tuple[ArenaGame, ArenaGame]
"""Both games of an opening; the first player has Black in the first one."""


def play_pairs(
    first: Contestant,
    second: Contestant,
    openings: Mapping[int, Opening],
    size: int,
    *,
    at_once: int,
    swap: bool = False,
) -> Iterator[Pair]:
    """Play every opening twice, and give each pair as soon as both games are over.

    `openings` are undecided and of one length, by their numbers. A player has to move in at most `at_once` games at a
    time. With `swap`, White may answer an opening of one move by swap-pieces.
    """
    if first.many_games is None or second.many_games is None:
        yield from _one_after_another(first, second, openings, size, swap=swap)
        return
    players = first.many_games(at_once), second.many_games(at_once)
    numbers = list(openings)
    for start in range(0, len(numbers), at_once):
        part = numbers[start : start + at_once]
        finished: dict[int, dict[bool, ArenaGame]] = {}
        for row, game in side_by_side(*players, [openings[number] for number in part], size, swap=swap):
            number, first_is_black = part[row % len(part)], row < len(part)
            both = finished.setdefault(number, {})
            both[first_is_black] = _named(game, number, first, second, first_is_black)
            if len(both) == 2:
                yield both[True], both[False]


def _one_after_another(
    first: Contestant, second: Contestant, openings: Mapping[int, Opening], size: int, *, swap: bool
) -> Iterator[Pair]:
    with closing(first.one_game()) as one, closing(second.one_game()) as other:
        for number, opening in openings.items():
            there = play_game(one, other, opening, size, swap=swap)
            back = play_game(other, one, opening, size, swap=swap)
            yield _named(there, number, first, second, True), _named(back, number, first, second, False)


def _named(game: ArenaGame, pair: int, first: Contestant, second: Contestant, first_is_black: bool) -> ArenaGame:
    black, white = (first, second) if first_is_black else (second, first)
    return replace(game, pair=pair, black=black.name, white=white.name)


def play_game(black: GamePlayer, white: GamePlayer, opening: Opening, size: int, *, swap: bool = False) -> ArenaGame:
    """Play one game from `opening` to its end, a connection, a resignation or a forfeit. Names and pair are blank.

    With `swap`, White may answer an opening of one move by swap-pieces.
    """
    moves = list(opening)
    cells = position_of(moves, size)
    stones, table = empty_stones(1, size), geometry(size)
    colour = 1
    try:
        # The player at fault if something goes wrong: Black begins first.
        black.begin(size, swap=swap)
        colour = -1
        white.begin(size, swap=swap)
        while True:
            colour = 1 if len(moves) % 2 == 0 else -1
            move = (black if colour > 0 else white).answer(tuple(moves))
            if move == RESIGN:
                return ended(moves, len(opening), -colour, Ending.RESIGNED)
            fault = illegality(move, cells, size, ply=len(moves), swap=swap)
            if fault:
                raise Forfeit(fault)
            moves.append(move)
            put(move, colour, cells, size)
            if place_all(stones, 0, cells, table):
                return ended(moves, len(opening), colour, Ending.CONNECTED)
    except Forfeit as forfeit:
        note = "".join(sign if sign.isprintable() else " " for sign in str(forfeit))  # it may quote a program
        return ended(moves, len(opening), -colour, Ending.FORFEITED, " ".join(note.split()))


class InTurn:
    """A player of many games that plays one."""

    def __init__(self, player: Player) -> None:
        """`player` is asked about one position at a time."""
        self._player = player
        self._size = 0
        self._swap = False

    def begin(self, size: int, *, swap: bool = False) -> None:
        """See `GamePlayer`."""
        self._size, self._swap = size, swap

    def answer(self, moves: Sequence[int]) -> int:
        """See `GamePlayer`."""
        cells = position_of(moves, self._size)[None]
        if swap_is_open(len(moves), swap=self._swap):
            return int(self._player.reply(cells)[0])
        to_move = np.array([1 if len(moves) % 2 == 0 else -1], np.int8)
        return int(self._player.choose(cells, to_move)[0])

    def close(self) -> None:
        """See `GamePlayer`."""
