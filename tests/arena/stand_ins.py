"""Players for tests that nothing has to be compiled or trained for."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from hexlit.arena.matches import Block, MatchWorker, Opening, Pair
from hexlit.arena.players import Contestant, Forfeit, Player
from hexlit.hex.arrays import Int8Array, Int16Array
from hexlit.hex.board import GameBoard


class NeverSwaps(Player):
    """Answers the first stone as any other."""

    def reply(self, cells: Int8Array) -> Int16Array:
        return self.choose(cells, np.full(len(cells), -1, np.int8))


class Lowest(NeverSwaps):
    """Plays the lowest empty cell, or with `last` the highest; notes what it is asked."""

    def __init__(self, *, last: bool = False) -> None:
        self.last = last
        self.asked: list[tuple[bytes, int]] = []
        self.calls: list[int] = []

    def choose(self, cells: Int8Array, to_move: Int8Array) -> Int16Array:
        assert cells.dtype == to_move.dtype == np.int8
        self.calls.append(len(cells))
        self.asked += [
            (board.tobytes(), int(colour)) for board, colour in zip(cells, to_move, strict=True)
        ]
        return np.array(
            [np.flatnonzero(board == 0)[-1 if self.last else 0] for board in cells], np.int16
        )


class AlwaysSwaps(Lowest):
    """Takes every first stone over."""

    def reply(self, cells: Int8Array) -> Int16Array:
        assert (cells.sum(1) == 1).all()
        assert (np.abs(cells).sum(1) == 1).all(), "one black stone"
        return np.full(len(cells), cells.shape[1], np.int16)


class Faulty(NeverSwaps):
    """Plays the highest empty cell, until in some of the games it answers with `answer`."""

    def __init__(self, answer: int, *, stones: int = 4) -> None:
        self.wrong = answer
        self.stones = stones

    def choose(self, cells: Int8Array, to_move: Int8Array) -> Int16Array:
        moves = [np.flatnonzero(board == 0)[-1] for board in cells]
        wrong = (cells != 0).sum(1) >= self.stones
        return np.where(wrong & (to_move > 0), self.wrong, moves).astype(np.int16)


class Scripted(Player):
    """One game at a time: answers by `answer(moves)`,
    and notes how often games were begun and closed.
    """

    def __init__(
        self, answer: Callable[[Sequence[int]], int], *, fails_at: Sequence[int] = ()
    ) -> None:
        self._answer = answer
        self._fails_at = fails_at
        self.begun = 0
        self.closed = 0
        self.seen: list[tuple[int, ...]] = []

    def begin(self, size: int, *, swap: bool = False) -> None:
        self.begun += 1
        self.swap = swap
        if self.begun in self._fails_at:
            raise Forfeit("did not start within\n30 seconds")

    def answer(self, boards: Sequence[GameBoard]) -> list[int]:
        (board,) = boards
        self.seen.append(board.moves)
        return [self._answer(board.moves)]

    def close(self) -> None:
        self.closed += 1


def lowest_empty(moves: Sequence[int]) -> int:
    return next(cell for cell in range(1000) if cell not in moves)


def named(name: str, player: Lowest | Faulty) -> Contestant:
    return Contestant(name, lambda games: player)


def play_pairs(
    first: Contestant,
    second: Contestant,
    openings: Mapping[int, Opening],
    size: int,
    *,
    at_once: int,
    swap: bool = False,
) -> Iterator[Pair]:
    """The pairs of a block of these openings."""
    worker = MatchWorker((first, second), size, at_once=at_once, swap=swap)
    return worker.play(Block(first.name, second.name, openings))


def alone(name: str, player: Scripted) -> Contestant:
    return Contestant(name, lambda games: player, one_game=True)
