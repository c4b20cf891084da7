"""A player that searches one game move by move and keeps its tree, without another process."""

from collections.abc import Sequence

from hexlit.arena.arena_game import position_of
from hexlit.arena.thinker import MakeEvaluator, Thinker
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.search.config import SearchConfig


class LivePlayer:
    """Plays as `hexlit htp` does with the same settings and evaluator: move for move the same."""

    def __init__(
        self, config: SearchConfig, make_evaluator: MakeEvaluator, *, knows_swap: bool = False, reuse: bool = True
    ) -> None:
        """As for `Thinker`."""
        self._thinker = Thinker(config, make_evaluator, knows_swap=knows_swap, reuse=reuse)

    def begin(self, size: int, *, swap: bool = False) -> None:
        """See `GamePlayer`."""
        self._thinker.prepare(size, swap=swap)

    def answer(self, moves: Sequence[int]) -> int:
        """See `GamePlayer`."""
        size = self._thinker.size
        cells = position_of(moves, size)
        colour = BLACK if len(moves) % 2 == 0 else WHITE
        return self._thinker.choose(cells, colour, simulations=self._thinker.config.simulations).action

    def close(self) -> None:
        """See `GamePlayer`: there is nothing to close."""
