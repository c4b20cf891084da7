"""Games between players: the openings, the one loop that plays them, and matches in pairs.

Every opening is played twice, each player once with either colour. The rules are enforced here: a
player that plays a taken cell or no cell loses the game, with a note, and the other games continue.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache, partial
from importlib import resources
from itertools import permutations
from typing import NamedTuple

import numpy as np

from hexlit.arena.players import RESIGN, Contestant, Forfeit, Player
from hexlit.errors import UsageError, printable
from hexlit.hex.board import GameBoard
from hexlit.hex.encoding import encode
from hexlit.hex.geometry import geometry
from hexlit.hex.notation import format_cell, parse_moves
from hexlit.hex.record import Ending
from hexlit.search.evaluator import RolloutEvaluator

CANDIDATES = 4
"""Random openings per opening taken, the fairest of them, if the board has so many."""

CELL = re.compile(r"[a-z]\d+")

LISTED_PLIES = 2
"""Moves of an opening of `fair_openings`."""

PLAYOUTS = 256
"""Random playouts that judge how fair an opening is."""

ENUMERATED = 2
"""Openings of up to this many plies are drawn without replacement from all there are."""

Opening = tuple[int, ...]
"""Given cells at the start of a game, Black's first."""

Sides = Sequence[int]

Stones = tuple[tuple[int, ...], tuple[int, ...]]
"""Sorted cells of Black and of White."""


@dataclass(frozen=True)
class ArenaGame:
    """One game of a match, with or without the swap rule."""

    pair: int
    """Number of its opening; one other game of the two players has the same."""
    black: str
    white: str
    opening: int
    """Number of given moves at the start."""
    moves: tuple[int, ...]
    """Cells (row * size + column) or size * size for swap-pieces, Black's first, the opening
    included.
    """
    winner: int
    """+1 Black, -1 White."""
    ending: Ending
    """Connected, resigned or forfeited."""
    note: str = ""
    """Why a game was forfeited."""

    @property
    def won_by(self) -> str:
        """Name of the winner."""
        return self.black if self.winner > 0 else self.white


Pair = tuple[ArenaGame, ArenaGame]
"""Both games of an opening; the first player has Black in the first one."""


def illegality(move: int, board: GameBoard) -> str:
    """Error of `move` on `board`; empty for a legal move."""
    if move in board.legal_moves():
        return ""
    return f"illegal move: {format_cell(move, board.size) if 0 <= move <= board.size**2 else move}"


def play_games(
    both: tuple[Player, Player],
    openings: Sequence[Opening],
    size: int,
    *,
    swap: bool = False,
    sides: Sides = (1, -1),
) -> Iterator[tuple[int, ArenaGame]]:
    """Play P undecided `openings` of one length for each of the `sides`, all games at once.

    `sides` are colours of the first player of `both`: by default it has Black in the rows 0 to P -
    1, and White in the rows P to 2 P - 1. Gives (row, game) as games end, by a connection, a
    resignation or a forfeit. Names and pairs are blank. With `swap`, White may answer an opening of
    one move by swap-pieces.
    """
    boards: list[GameBoard] = []
    side_of: list[int] = []
    for side in sides:
        for opening in openings:
            boards.append(GameBoard(size, swap=swap, moves=opening))
            side_of.append(side)
    running = list(range(len(boards)))

    def ended(row: int, winner: int, ending: Ending, note: str = "") -> tuple[int, ArenaGame]:
        running.remove(row)
        return row, ArenaGame(0, "", "", len(openings[0]), boards[row].moves, winner, ending, note)

    for turn in (sides[0], -sides[0]):  # Black's player begins
        player = both[0] if turn > 0 else both[1]
        try:
            player.begin(size, swap=swap)
        except Forfeit as forfeit:
            for row in list(running):
                yield ended(row, -turn * side_of[row], Ending.FORFEITED, _note(forfeit))
            return
    while running:
        rows_of_first = [row for row in running if boards[row].to_move == side_of[row]]
        rows_of_second = [row for row in running if boards[row].to_move != side_of[row]]
        for player, rows in ((both[0], rows_of_first), (both[1], rows_of_second)):
            if not rows:
                continue
            try:
                moves = player.answer([boards[row] for row in rows])
            except Forfeit as forfeit:
                for row in rows:
                    yield ended(row, -boards[row].to_move, Ending.FORFEITED, _note(forfeit))
                continue
            for row, move in zip(rows, moves, strict=True):
                board = boards[row]
                if move == RESIGN:
                    yield ended(row, -board.to_move, Ending.RESIGNED)
                    continue
                fault = illegality(move, board)
                if fault:
                    yield ended(row, -board.to_move, Ending.FORFEITED, fault)
                elif board.play(move).winner:
                    yield ended(row, board.winner, Ending.CONNECTED)


def _note(forfeit: Forfeit) -> str:
    """The message on one printable line: it may quote a program."""
    return " ".join(printable(str(forfeit)).split())


@dataclass(frozen=True)
class Block:
    """Openings of games between two players: an independent part of a tournament, which any process
    can play.
    """

    first: str
    """Name of the player who has Black first."""
    second: str
    openings: Mapping[int, Opening]
    """The openings by number, undecided and of one length."""

    def cut(self, at_once: int) -> "list[Block]":
        """Blocks of `at_once` openings, which a player plays in parallel, and the rest."""
        numbers = list(self.openings)
        blocks = []
        for start in range(0, len(numbers), at_once):
            part = {number: self.openings[number] for number in numbers[start : start + at_once]}
            blocks.append(replace(self, openings=part))
        return blocks


@dataclass(frozen=True)
class MatchWorker:
    """Plays blocks of openings between its contestants, in this process."""

    contestants: Sequence[Contestant]
    size: int
    _: KW_ONLY
    at_once: int
    """Most games that wait for the same player's move."""
    swap: bool = False
    """Whether an opening of one move may be answered by swap-pieces."""

    def play(self, block: Block) -> Iterator[Pair]:
        """Play every opening of `block` twice, and give each pair as soon as both games are over.

        If one of the two players plays one game at a time, the games follow one another.
        """
        by_name = {contestant.name: contestant for contestant in self.contestants}
        names = block.first, block.second
        contestants = [by_name[name] for name in names]
        alone = any(contestant.one_game for contestant in contestants)
        count = 1 if alone else self.at_once
        with (
            closing(contestants[0].make(count)) as one,
            closing(contestants[1].make(count)) as other,
        ):
            for part in block.cut(count):
                numbers = list(part.openings)
                openings = list(part.openings.values())
                games: dict[tuple[int, int], ArenaGame] = {}
                rounds: list[Sides] = [(1,), (-1,)] if alone else [(1, -1)]
                for sides in rounds:
                    played = play_games(
                        (one, other), openings, self.size, swap=self.swap, sides=sides
                    )
                    for row, game in played:
                        number, side = numbers[row % len(numbers)], sides[row // len(numbers)]
                        black, white = names[::side]
                        games[number, side] = replace(game, pair=number, black=black, white=white)
                        if (number, -side) in games:
                            yield games[number, 1], games[number, -1]


class MatchResult(NamedTuple):
    """Result of a match for its first player."""

    wins: int
    games: int

    @property
    def share(self) -> float:
        """Share of the games that the first player won."""
        return self.wins / self.games


def play_match(
    first: Player, second: Player, *, size: int, pairs: int, seed: int, opening_plies: int = 2
) -> MatchResult:
    """Play `pairs` different random openings of `opening_plies` stones twice each, all games in
    parallel.
    """
    wins = 0
    openings = random_openings(size, pairs, opening_plies, seed)
    for row, game in play_games((first, second), openings, size):
        first_has_black = row < pairs
        wins += (game.winner > 0) == first_has_black
    return MatchResult(wins, 2 * pairs)


def pair_counts(
    first: Player, second: Player, openings: Sequence[Opening], size: int
) -> tuple[int, int, int]:
    """Numbers of `openings`, of one length, with none, one, and both of their games won by the
    first player.
    """
    wins = [0] * len(openings)
    for row, game in play_games((first, second), openings, size):
        first_has_black = row < len(openings)
        wins[row % len(openings)] += (game.winner > 0) == first_has_black
    return wins.count(0), wins.count(1), wins.count(2)


def first_openings(size: int, count: int, seed: int) -> list[list[Opening]]:
    """`count` openings that differ by more than a turn, by their length: all of one stone first,
    then of two.

    There are fewer if the board has no more.
    """
    most_ones = (size**2 + 1) // 2
    ones = balanced_openings(size, min(count, most_ones), 1, seed, balanced=False)
    most_twos = min(count - len(ones), most_openings(size, 2))
    if most_twos == 0:
        return [ones]
    twos = balanced_openings(size, most_twos, 2, seed, balanced=False)
    return [ones, twos]


@cache
def fair_openings() -> dict[int, list[Opening]]:
    """Rows of a board, from 8 to 13 -> 200 openings of two moves that `hexlit:large` judges fair.

    It values them between -0.3 and 0.3 after 400 simulations; on 8×8, which has too few, the
    fairest go up to 0.45.
    """
    text = resources.files("hexlit.arena").joinpath("openings.txt").read_text()
    openings = {}
    for line in text.splitlines():
        rows, *words = line.split()
        size = int(rows)
        openings[size] = [tuple(parse_moves(CELL.findall(word), size)) for word in words]
    return openings


def balanced_openings(
    size: int, count: int, plies: int, seed: int, *, balanced: bool = True
) -> list[Opening]:
    """`count` openings of `plies` moves, in random order.

    No two of them lead to the same position, or to one turned by 180 degrees: deterministic players
    would play the same game again. With `balanced`, those of two moves are drawn from
    `fair_openings` if it has as many. Else four times as many are drawn (or all that the board
    has). Those with random playouts closest to half of the games won are kept.

    Raises:
        UsageError: `plies` moves could decide the game, or there are too few openings.
    """
    listed: list[Opening] = []
    if balanced and plies == LISTED_PLIES:
        listed = fair_openings().get(size, [])
    if count <= len(listed):
        order = np.random.default_rng([seed, size]).permutation(len(listed))
        return [listed[index] for index in order[:count]]
    key = partial(position_key, size=size)
    wanted = count * CANDIDATES if balanced else count
    drawn = _drawn(size, count, plies, seed, key, wanted=wanted, every=True)
    if not balanced:
        return drawn
    cells = np.stack([GameBoard(size, moves=opening).cells for opening in drawn])
    to_move = np.full(len(drawn), 1 if plies % 2 == 0 else -1, np.int8)
    policy = np.zeros(cells.shape, np.float32)
    value = np.zeros(len(drawn), np.float32)
    RolloutEvaluator(PLAYOUTS, seed).evaluate(encode(cells, to_move), policy, value)
    fairest = np.argsort(np.abs(value), kind="stable")[:count]
    return [drawn[index] for index in np.sort(fairest)]


def random_openings(size: int, count: int, plies: int, seed: int) -> list[Opening]:
    """`count` random openings of `plies` moves that come to different positions.

    Raises:
        UsageError: `plies` moves could decide the game, or too few openings were found.
    """
    return _drawn(size, count, plies, seed, stones_of, wanted=count, every=False)


def _drawn(
    size: int,
    count: int,
    plies: int,
    seed: int,
    key: Callable[[Opening], Stones],
    *,
    wanted: int,
    every: bool,
) -> list[Opening]:
    """Up to `wanted` random openings with different keys, `count` at least; short ones out of
    `every` one there is.
    """
    check_plies(size, plies)
    random = np.random.default_rng([seed, size, plies])
    if every and plies <= ENUMERATED:
        known = list(permutations(range(size * size), plies))
        draws = (known[index] for index in random.permutation(len(known)))
    else:
        draws = (
            tuple(random.choice(size * size, plies, replace=False).tolist())
            for _ in range(100 * wanted)
        )
    different = dict[Stones, Opening]()
    for opening in draws:
        different.setdefault(key(opening), opening)
        if len(different) == wanted:
            break
    if len(different) < count:
        raise UsageError(
            f"{count} openings: a {size}x{size} board has {len(different)} of {plies} plies"
        )
    return list(different.values())


def check_plies(size: int, plies: int) -> None:
    """Raise `UsageError` if `plies` is below 1, or an opening of `plies` moves could win a game."""
    if not 1 <= plies < size:
        raise UsageError(
            f"openings.plies={plies}: on a {size}x{size} board an opening has 1 to {size - 1} plies"
        )


def stones_of(moves: Opening) -> Stones:
    """Black's and White's cells."""
    return tuple(sorted(moves[0::2])), tuple(sorted(moves[1::2]))


def turned(moves: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The moves turned by 180 degrees."""
    rotated = geometry(size).rotated
    return tuple(int(rotated[move]) for move in moves)


def position_key(moves: Opening, size: int) -> Stones:
    """A key shared by sequences of moves that end in the same position, or in one turned by 180
    degrees.
    """
    return min(stones_of(moves), stones_of(turned(moves, size)))


def most_openings(size: int, plies: int) -> int:
    """Most openings to ask for, so that random draws find them soon: half of those of 1 or 2
    plies.
    """
    return max(1, size**2 * (size**2 - 1 if plies > 1 else 1) // 2)
