"""The choice of moves in a game that is played move by move, here or over HTP."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.arena.position import may_swap
from hexlit.hex.encoding import blank_planes, encode
from hexlit.hex.geometry import BLACK, geometry
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator
from hexlit.search.live import MOST_BYTES, Candidate, LiveSearch

MakeEvaluator = Callable[[int, bool, int], Evaluator]
"""(size of the board, whether policies have the swap action, positions per call) -> an evaluator."""

WARM_UP = 4
"""Simulations on the empty board that prepare everything: kernels are compiled, operators chosen."""


class Thought(NamedTuple):
    """Result of a search."""

    action: int
    """Cell, or `size*size` for swap-pieces."""
    value: float
    """Its value for the player to move, in [-1, 1]."""


class Thinker:
    """Searches the positions of a game with one evaluator; the tree is kept from move to move.

    Attributes:
        config: the search, and its simulations for a move.
        size: rows of the board, 0 before `prepare`.
        swap: whether White may swap.

    Args:
        config: see above.
        make_evaluator: makes the evaluator for a board.
        knows_swap: whether the evaluator's policies always have the swap action, as those of a network trained with the
            swap rule. False: they have it only in games with the rule.
        reuse: whether a search continues with the tree of the one before; else every move starts with an empty tree.
        tree_bytes: memory that the tree may take.
    """

    def __init__(
        self,
        config: SearchConfig,
        make_evaluator: MakeEvaluator,
        *,
        knows_swap: bool = False,
        reuse: bool = True,
        tree_bytes: int = MOST_BYTES,
    ) -> None:
        self.config = config
        self._knows_swap = knows_swap
        self._actions = 0
        self.size = 0
        self.swap = False
        self._search: LiveSearch
        self._evaluator: Evaluator
        self._make_evaluator = make_evaluator
        self._reuse = reuse
        self._tree_bytes = tree_bytes

    def prepare(self, size: int, *, swap: bool) -> None:
        """Prepare for a new game on a board of `size` rows, so that no move waits for compilation."""
        has_swap = swap or self._knows_swap
        if (size, size * size + has_swap) != (self.size, self._actions):
            evaluator = self._make_evaluator(size, has_swap, self.config.leaves)
            search = LiveSearch(self.config, evaluator, size=size, swap=has_swap, most_bytes=self._tree_bytes)
            search.run(WARM_UP)
            self._search, self._evaluator, self.size, self._actions = search, evaluator, size, size * size + has_swap
        self._search.forget()
        self.swap = swap

    def forget(self) -> None:
        """Drop the search tree."""
        self._search.forget()

    def choose(
        self, cells: NDArray[np.int8], colour: int, *, simulations: int, until: Callable[[], bool] | None = None
    ) -> Thought:
        """The move of `colour` in the undecided position `cells` int8 `[size*size]`; `until` True ends it early."""
        if not self._reuse:
            self._search.forget()
        return self.study(cells, colour, simulations=simulations, until=until)

    def study(
        self, cells: NDArray[np.int8], colour: int, *, simulations: int, until: Callable[[], bool] | None = None
    ) -> Thought:
        """As `choose`, but always with the present tree; `candidates` and `variation` then describe it."""
        # The search is told two plies more, so that no swap is allowed.
        plies = plies_before(cells, colour) + (0 if self.swap else 2)
        self._search.position(cells, colour, plies)
        return self.study_more(simulations, until=until)

    def study_more(self, simulations: int, *, until: Callable[[], bool] | None = None) -> Thought:
        """Search the last position by `simulations` more."""
        result = self._search.run(simulations, until=until)
        return Thought(int(result.action[0]), float(result.value[0]))

    def candidates(self) -> Sequence[Candidate]:
        """The moves that were tried in the last position, the most visited first."""
        return self._search.candidates()

    def variation(self, action: int | None = None) -> list[int]:
        """The moves expected from the last position on, `action` (one of the candidates) first; None: the best."""
        return self._search.principal_variation(action)

    @property
    def full(self) -> bool:
        """Whether the search has no room for more."""
        return self._search.full

    def look(self, cells: NDArray[np.int8], colour: int) -> tuple[NDArray[np.float32], float]:
        """The evaluator's own answer without search: policy `[A]` over the board's actions, value for `colour`."""
        planes = blank_planes(self._search.rows, self.size)
        planes[:] = encode(cells[None], np.array([colour], np.int8), np.array([self.swap and may_swap(cells, colour)]))
        policy = np.zeros((len(planes), self._actions), np.float32)
        value = np.zeros(len(planes), np.float32)
        self._evaluator.evaluate(planes, policy, value)
        frame = policy[0] if colour == BLACK else policy[0][geometry(self.size).transposed[: self._actions]]
        return frame, float(value[0])


def plies_before(cells: NDArray[np.int8], colour: int) -> int:
    """Moves played before the position `cells`, as counted by the search: White may swap only at ply 1.

    They are read from the stones, which may have been placed in any order: a swap gives White one stone more.
    """
    lead = int(cells.sum())
    plies = int(np.count_nonzero(cells)) + (lead < (0 if colour == BLACK else 1))
    regular = (plies == 0 and colour == BLACK) or may_swap(cells, colour)
    return plies if regular else max(2, plies)
