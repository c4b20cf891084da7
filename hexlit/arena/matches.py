"""Games between players: the openings, the one loop that plays them, and matches in pairs.

Every opening is played twice, each player once with either colour. The rules are enforced here: a player that plays a
taken cell or no cell loses the game, with a note, and the other games continue.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, permutations
from typing import NamedTuple

import numpy as np

from hexlit.arena.players import RESIGN, Contestant, Forfeit, Player
from hexlit.errors import UsageError
from hexlit.hex.board import Board
from hexlit.hex.encoding import encode
from hexlit.hex.geometry import geometry
from hexlit.hex.notation import SWAP, format_cell
from hexlit.hex.record import Ending
from hexlit.search.evaluator import RolloutEvaluator

CANDIDATES = 4
"""Random openings per opening taken, the fairest of them, if the board has so many."""

PLAYOUTS = 256
"""Random playouts that judge how fair an opening is."""

ENUMERATED = 2
"""Openings of up to this many plies are drawn without replacement from all there are."""

Opening = tuple[int, ...]
"""Given cells at the start of a game, Black's first."""

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
    """Cells (row * size + column) or size * size for swap-pieces, Black's first, the opening included."""
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


def illegality(move: int, board: Board) -> str:
    """Error of `move` on `board`; empty for a legal move."""
    size = board.size
    if move == size * size:
        if board.may_swap:
            return ""
        if board.swap:
            return f"illegal move: {SWAP}, but only the answer to the first stone may swap"
        return f"illegal move: {SWAP}, but the match is played without the swap rule"
    if not 0 <= move < size * size:
        return f"illegal move: {move} is no cell of the board"
    return "" if board.cells[move] == 0 else f"illegal move: {format_cell(move, size)} is taken"


def play_games(
    first: Player,
    second: Player,
    openings: Sequence[Opening],
    size: int,
    *,
    swap: bool = False,
    sides: Sequence[int] = (1, -1),
) -> Iterator[tuple[int, ArenaGame]]:
    """Play P undecided `openings` of one length for each of the `sides`, all games at once.

    `sides` are colours of the first player: by default it has Black in the rows 0 to P - 1, and White in the rows P to
    2 P - 1. Gives (row, game) as games end, by a connection, a resignation or a forfeit. Names and pairs are blank.
    With `swap`, White may answer an opening of one move by swap-pieces.
    """
    boards = [Board(size, swap=swap, moves=opening) for _ in sides for opening in openings]
    side_of = [side for side in sides for _ in openings]
    running = list(range(len(boards)))

    def ended(row: int, winner: int, ending: Ending, note: str = "") -> tuple[int, ArenaGame]:
        running.remove(row)
        return row, ArenaGame(0, "", "", len(openings[0]), boards[row].moves, winner, ending, note)

    players = (first, 1), (second, -1)
    for player, turn in players if sides[0] > 0 else players[::-1]:  # Black begins first
        try:
            player.begin(size, swap=swap)
        except Forfeit as forfeit:
            for row in list(running):
                yield ended(row, -turn * side_of[row], Ending.FORFEITED, _note(forfeit))
            return
    while running:
        turns = [[row for row in running if boards[row].to_move * side_of[row] == turn] for _, turn in players]
        for (player, _), rows in zip(players, turns, strict=True):
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
                elif fault := illegality(move, board):
                    yield ended(row, -board.to_move, Ending.FORFEITED, fault)
                elif board.play(move).winner:
                    yield ended(row, board.winner, Ending.CONNECTED)


def _note(forfeit: Forfeit) -> str:
    """The message on one printable line: it may quote a program."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in str(forfeit)).split())


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
    time; if one of the two plays one game at a time, the games follow one another.
    """
    alone = first.one_game or second.one_game
    count = 1 if alone else at_once
    numbers = list(openings)
    with closing(first.make(count)) as one, closing(second.make(count)) as other:
        for start in range(0, len(numbers), count):
            part = numbers[start : start + count]
            games: dict[tuple[int, int], ArenaGame] = {}
            for sides in ((1,), (-1,)) if alone else ((1, -1),):
                for row, game in play_games(one, other, [openings[n] for n in part], size, swap=swap, sides=sides):
                    number, side = part[row % len(part)], sides[row // len(part)]
                    black, white = (first.name, second.name)[::side]
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
    """Play `pairs` different random openings of `opening_plies` stones twice each, all games in parallel."""
    wins = 0
    for row, game in play_games(first, second, random_openings(size, pairs, opening_plies, seed), size):
        first_is = 1 if row < pairs else -1
        if game.ending is Ending.FORFEITED:
            raise RuntimeError(f"{second if game.winner == first_is else first!r} chose an {game.note}")
        wins += game.winner == first_is
    return MatchResult(wins, 2 * pairs)


def balanced_openings(size: int, count: int, plies: int, seed: int, *, balanced: bool = True) -> list[Opening]:
    """`count` openings of `plies` moves, in random order.

    No two of them lead to the same position, or to one turned by 180 degrees: deterministic players would play the same
    game again. With `balanced`, four times as many are drawn (or all that the board has). Those with random playouts
    closest to half of the games won are kept.

    Raises:
        UsageError: `plies` moves could decide the game, or there are too few openings.
    """
    check_plies(size, plies)
    random = np.random.default_rng([seed, size, plies])
    wanted = count * (CANDIDATES if balanced else 1)
    draws = _draws(size, plies, random, most=100 * wanted)
    drawn = list(islice(_different(draws, partial(position_key, size=size)), wanted))
    if len(drawn) < count:
        most = f"a {size}x{size} board has {len(drawn)} of {plies} plies, turned ones counted once"
        raise UsageError(f"{count} openings: {most}")
    if not balanced:
        return drawn
    cells = np.stack([Board(size, moves=opening).cells for opening in drawn])
    to_move = np.full(len(drawn), 1 if plies % 2 == 0 else -1, np.int8)
    policy, value = np.zeros(cells.shape, np.float32), np.zeros(len(drawn), np.float32)
    RolloutEvaluator(PLAYOUTS, seed).evaluate(encode(cells, to_move), policy, value)
    fairest = np.argsort(np.abs(value), kind="stable")[:count]
    return [drawn[index] for index in np.sort(fairest)]


def random_openings(size: int, count: int, plies: int, seed: int) -> list[Opening]:
    """`count` random openings of `plies` moves that come to different positions.

    Raises:
        UsageError: `plies` moves could decide the game, or too few openings were found.
    """
    check_plies(size, plies)
    draws = _random_draws(size, plies, np.random.default_rng([seed, size, plies]), 100 * count)
    openings = list(islice(_different(draws, stones_of), count))
    if len(openings) < count:
        raise UsageError(f"{count} openings: a {size}x{size} board does not have that many of {plies} plies")
    return openings


def check_plies(size: int, plies: int) -> None:
    """Raise `UsageError` if `plies` is below 1, or an opening of `plies` moves could win a game."""
    if not 1 <= plies < size:
        raise UsageError(f"openings.plies={plies}: on a {size}x{size} board an opening has 1 to {size - 1} plies")


def _draws(size: int, plies: int, random: np.random.Generator, most: int) -> Iterator[Opening]:
    """Random openings: short ones all there are, others `most` draws, perhaps with repeats."""
    if plies > ENUMERATED:
        return _random_draws(size, plies, random, most)
    every = list(permutations(range(size * size), plies))
    return (every[index] for index in random.permutation(len(every)))


def _random_draws(size: int, plies: int, random: np.random.Generator, most: int) -> Iterator[Opening]:
    return (tuple(random.choice(size * size, plies, replace=False).tolist()) for _ in range(most))


def _different(openings: Iterable[Opening], key: Callable[[Opening], Stones]) -> Iterator[Opening]:
    """The first of the `openings` with each key."""
    seen = set()
    for opening in openings:
        if (stones := key(opening)) not in seen:
            seen.add(stones)
            yield opening


def stones_of(moves: Opening) -> Stones:
    """Black's and White's cells."""
    return tuple(sorted(moves[0::2])), tuple(sorted(moves[1::2]))


def turned(moves: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The moves turned by 180 degrees."""
    rotated = geometry(size).rotated
    return tuple(int(rotated[move]) for move in moves)


def position_key(moves: Opening, size: int) -> Stones:
    """A key shared by sequences of moves that end in the same position, or in one turned by 180 degrees."""
    return min(stones_of(moves), stones_of(turned(moves, size)))


def most_openings(size: int, plies: int) -> int:
    """Most openings to ask for, so that random draws find them soon: half of those of 1 or 2 plies."""
    return max(1, size**2 * (size**2 - 1 if plies > 1 else 1) // 2)
