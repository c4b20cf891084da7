"""Players that judge positions with an evaluator, by search or by the policy alone, and one that knows nothing."""

import hashlib
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.encoding import blank_planes, encode
from hexlit.hex.geometry import geometry
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator
from hexlit.search.search import Search, SearchResult


class Judgement(NamedTuple):
    """What is thought of B positions."""

    action: NDArray[np.int16]
    """The move to play, a cell of the board, `[B]`."""
    value: NDArray[np.float32]
    """In [-1, 1] for the side to move, `[B]`."""


class Judge(Protocol):
    """A player who also says how it stands."""

    def judge(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> Judgement:
        """Judge undecided positions int8 `[B, size*size]` with `to_move` int8 `[B]` (+1, -1)."""
        ...


class SearchPlayer:
    """Plays the move that a search without noise finds."""

    def __init__(
        self, config: SearchConfig, evaluator: Evaluator, *, size: int, batch: int, swap: bool = False
    ) -> None:
        """`evaluator` takes `batch` positions a call; `swap` says whether its policies have a swap action."""
        if batch < config.leaves:
            raise UsageError(f"search.leaves={config.leaves}: the evaluator's batch has room for {batch}")
        self._batch = batch // config.leaves
        self._search = Search(config, size=size, games=self._batch, swap=swap, rows=batch)
        self._evaluator = evaluator
        self._swap = swap

    def search(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> SearchResult:
        """Search the undecided positions int8 `[B, size*size]`; a swap is never considered."""
        parts = []
        for start in range(0, len(cells), self._batch):
            rows = slice(start, start + self._batch)
            # Ply 2 or later in the eyes of the search: nobody may swap.
            ply = np.count_nonzero(cells[rows], axis=1).astype(np.int16) + 2
            parts.append(self._search.run(cells[rows], to_move[rows], self._evaluator, ply=ply))
        return SearchResult(*(np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])))

    def judge(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> Judgement:
        """See `Judge`: the searched move and its value."""
        found = self.search(cells, to_move)
        return Judgement(found.action, found.value)

    def choose(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> NDArray[np.int16]:
        """See `Player`."""
        return self.search(cells, to_move).action


class PolicyPlayer:
    """Plays the move with the highest probability, without any search."""

    def __init__(self, evaluator: Evaluator, *, size: int, batch: int, swap: bool = False) -> None:
        """As for `SearchPlayer`."""
        self._evaluator = evaluator
        self._size = size
        self._planes = blank_planes(batch, size)
        self._policy = np.zeros((batch, size * size + swap), np.float32)
        self._value = np.zeros(batch, np.float32)

    def judge(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> Judgement:
        """See `Judge`: the most likely move, and the evaluator's value of the position."""
        transposed = geometry(self._size).transposed
        moves = np.zeros(len(cells), np.int16)
        values = np.zeros(len(cells), np.float32)
        for start in range(0, len(cells), len(self._planes)):
            part = cells[start : start + len(self._planes)]
            rows = slice(start, start + len(part))
            colours = to_move[rows]
            self._planes[: len(part)] = encode(part, colours)
            self._evaluator.evaluate(self._planes, self._policy, self._value)
            # The swap action, if there is one, comes last and is not a cell.
            best = self._policy[: len(part), : part.shape[1]].argmax(1)
            moves[rows] = np.where(colours > 0, best, transposed[best])
            values[rows] = self._value[: len(part)]
        return Judgement(moves, values)

    def choose(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> NDArray[np.int16]:
        """See `Player`."""
        return self.judge(cells, to_move).action


class RandomPlayer:
    """Plays any legal move, drawn by seed and position, so that the other games of a batch do not matter."""

    def __init__(self, seed: int = 0) -> None:
        """Draws from `seed`."""
        self._seed = seed

    def choose(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> NDArray[np.int16]:
        """See `Player`."""
        return np.array([self._draw(board) for board in cells], np.int16)

    def _draw(self, board: NDArray[np.int8]) -> int:
        position = int.from_bytes(hashlib.blake2b(board.tobytes(), digest_size=8).digest())
        return int(np.random.default_rng([self._seed, position]).choice(np.flatnonzero(board == 0)))
