"""The worth of each first stone, for players that never learned the swap rule.

With the rule such a player opens with a stone that is nearly even, and swaps a stone that wins.
Networks judge positions near the empty board badly, but order them well, so values are searched.
Every player, page and protocol asks here, so one player gives one answer.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from hexlit.arena.position import may_swap
from hexlit.hex.arrays import Int8Array
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.search.config import GumbelConfig, SearchConfig
from hexlit.search.evaluator import Evaluator
from hexlit.search.live import LiveSearch

MakeEvaluator = Callable[[int, bool, int], Evaluator]
"""(size of the board, whether policies have the swap action, positions per call) -> an
evaluator.
"""

Until = Callable[[], bool]
"""Whether to stop."""

SEARCH = SearchConfig(simulations=400, gumbel=GumbelConfig(value_scale=0.2))
"""The search of a first stone, and of its rotation."""


def never() -> bool:
    """Go on to the end."""
    return False


class FirstStones:
    """Values for Black of first stones, each the mean over a cell and its rotation by 180°."""

    def __init__(
        self,
        make_evaluator: MakeEvaluator,
        *,
        knows_swap: Callable[[int], bool] = lambda size: False,
        shipped: Callable[[int], Sequence[float] | None] = lambda size: None,
    ) -> None:
        """`shipped` gives the values that need no search, of all cells; None where there are none.

        `knows_swap` says whether policies of the evaluator for a size have the swap action.
        """
        self._make_evaluator = make_evaluator
        self._knows_swap = knows_swap
        self._shipped = shipped
        self._values: dict[int, dict[int, float]] = {}
        self._search: tuple[int, LiveSearch] | None = None

    def found(self, size: int) -> Mapping[int, float]:
        """Cell -> value for Black, of all first stones that were judged."""
        if size not in self._values:
            self._values[size] = dict(enumerate(self._shipped(size) or ()))
        return self._values[size]

    def value(self, size: int, cell: int, until: Until = never) -> float:
        """The value for Black of a first stone on `cell`, in [-1, 1].

        Where `until` ends a search early, what it has found is the answer, and is not kept.
        """
        if cell in self.found(size):
            return self._values[size][cell]
        turned = size * size - 1 - cell
        mean = (self._searched(size, cell, until) + self._searched(size, turned, until)) / 2
        if not until():
            self._values[size] |= {cell: mean, turned: mean}
        return mean

    def all_values(self, size: int) -> Iterator[Mapping[int, float]]:
        """Judge all first stones; yields what is found after each search."""
        for cell in range((size * size + 1) // 2):
            self.value(size, cell)
            yield self._values[size]

    def fairest(self, size: int, until: Until = never) -> int:
        """The first stone that is the nearest to even.

        Where values have to be searched, the evaluator's own judgement orders the cells, and
        bisection finds where the searched value changes its sign. `until` ends it early.
        """
        if len(self.found(size)) < size * size:
            ordered = self._ordered(size)
            low, high = 0, len(ordered) - 1
            while high - low > 1 and not until():
                middle = (low + high) // 2
                if self.value(size, ordered[middle], until) < 0:
                    low = middle
                else:
                    high = middle
            if until():
                return ordered[(low + high) // 2]
            self.value(size, ordered[low])
            self.value(size, ordered[high])
        values = self.found(size)
        return min(values, key=lambda cell: (abs(values[cell]), cell))

    def answer(
        self, cells: Int8Array, colour: int, until: Until = never
    ) -> tuple[int, float] | None:
        """The first stone, or swap-pieces as its answer: (move, value for `colour`).

        None where `colour` should play as without the rule: the stone is left, or the position is
        another one.
        """
        size = int(len(cells) ** 0.5)
        if colour == BLACK and not cells.any():
            cell = self.fairest(size, until)
            return cell, -abs(self.value(size, cell, until))
        if not may_swap(cells, colour):
            return None
        value = self.value(size, int(cells.argmax()), until)
        return (size * size, value) if value > 0 else None

    def _ordered(self, size: int) -> list[int]:
        """One cell of each pair, the worst for Black first, as the evaluator alone judges."""
        search = self._live(size)

        def judged(cell: int) -> float:
            _place(search, size, cell)
            return -float(search.run(1).value[0])

        return sorted(range((size * size + 1) // 2), key=judged)

    def _searched(self, size: int, cell: int, until: Until) -> float:
        search = self._live(size)
        _place(search, size, cell)
        return -float(search.run(SEARCH.simulations, until=until).value[0])

    def _live(self, size: int) -> LiveSearch:
        if self._search is None or self._search[0] != size:
            has_swap = self._knows_swap(size)
            evaluator = self._make_evaluator(size, has_swap, SEARCH.leaves)
            search = LiveSearch(SEARCH, evaluator, size=size, swap=has_swap)
            self._search = size, search
        return self._search[1]


def _place(search: LiveSearch, size: int, cell: int) -> None:
    """Go to the position after a first stone; at its third ply, so that no swap is allowed."""
    cells = np.zeros(size * size, np.int8)
    cells[cell] = BLACK
    search.position(cells, WHITE, 3)
    search.forget()
