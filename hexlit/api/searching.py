"""`hexlit.Search`: searches of single positions, with a network or with random playouts."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from hexlit.api.boards import NAMES, Board
from hexlit.api.openings import OpeningMap
from hexlit.api.searched import Opinion, Searched
from hexlit.errors import UsageError
from hexlit.hex.board import Board as Position
from hexlit.hex.encoding import encode
from hexlit.hex.frame import frame_map
from hexlit.hex.openings import SOLVED, solved_openings
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator, RolloutEvaluator, empty_batch
from hexlit.search.search import Search as Machine

if TYPE_CHECKING:
    from hexlit.accelerate.profile import DeviceProfile
    from hexlit.tasks.hex.checkpoint import LoadedNetwork


class HasNetwork(Protocol):
    """A run or a model of Hex."""

    @property
    def network(self) -> "LoadedNetwork": ...


class Search:
    """Searches positions, one at a time, judged by a network or by random playouts.

    A result has the policy of the search float32 `[A]`, its visits int32 `[A]` and the value in [-1, 1] for the player
    to move; A is size*size, and one more where White may swap.

    >>> import hexlit
    >>> search = hexlit.Search(simulations=200)           # by random playouts
    >>> found = search.run(hexlit.Board(3, moves="a1"))   # White may take the middle, and wins
    >>> found.move, found.value > 0
    ('b2', True)
    >>> found.expected[0]
    'b2'
    """

    def __init__(
        self,
        judge: "HasNetwork | str | Path | None" = None,
        *,
        simulations: int = 400,
        algorithm: str = "gumbel",
        playouts: int = 16,
    ) -> None:
        """A search that a network judges, or without one random playouts.

        Args:
            judge: a run, a model, a checkpoint, the folder of a run, or the name of a packaged network such as
                `hexlit:small`; None: random playouts.
            simulations: positions that are looked at for a move.
            algorithm: `gumbel` or `puct`.
            playouts: random games for a position, without a network.

        Raises:
            UsageError: a setting is out of range, or there is no network.
        """
        self.config = SearchConfig(algorithm=algorithm, simulations=simulations)
        self._network = _network_of(judge)
        self._playouts = playouts
        self._profile: DeviceProfile | None = None
        self._ready: dict[tuple[int, bool, int], tuple[Machine, Evaluator]] = {}

    @property
    def judge(self) -> str:
        """Who judges positions, in words."""
        return f"{self._playouts} random playouts" if self._network is None else "the network"

    def run(self, board: Position) -> Searched:
        """Search the position on `board`; raises `UsageError` where the game is over."""
        swap = self._swap_of(board)
        machine, evaluator = self._made(board.size, swap, 1)
        ply = len(board.moves) if board.swap else len(board.moves) + 2  # the swap is no longer possible then
        colour = np.array([board.to_move], np.int8)
        result = machine.run(board.cells[None], colour, evaluator, ply=np.array([ply], np.int16))
        return Searched(_pictured(board), result, machine.root())

    def look(self, board: Position) -> Opinion:
        """Judge the position without any search.

        >>> import hexlit
        >>> hexlit.Search().look(hexlit.Board(3)).policy.sum().round(3).item()  # playouts prefer no move
        1.0
        """
        swap = self._swap_of(board)
        machine, evaluator = self._made(board.size, swap, 1)
        batch = empty_batch(machine.rows, board.size, board.size**2 + swap)
        batch.planes[:] = encode(board.cells[None], np.array([board.to_move], np.int8), np.array([board.may_swap]))
        evaluator.evaluate(*batch)
        policy = frame_map(batch.policy[0], board.to_move, board.size)
        return Opinion(_pictured(board), policy, float(batch.value[0]))

    def openings(self, size: int) -> OpeningMap:
        """Search every first move of Black on a board of `size` rows.

        >>> import hexlit
        >>> hexlit.Search(simulations=100).openings(3).values.shape
        (9,)
        """
        cells = np.eye(size * size, dtype=np.int8)
        colours = np.full(len(cells), -1, np.int8)
        swap = False if self._network is None else self._network.swap
        machine, evaluator = self._made(size, swap, len(cells))
        plies = np.full(len(cells), 3, np.int16)
        result = machine.run(cells, colours, evaluator, ply=plies)
        truth = solved_openings(size).tolist() if size in SOLVED else None
        judge = f"{self.judge}, {self.config.simulations} simulations"
        return OpeningMap(-result.value, judge, truth)

    def _swap_of(self, board: Position) -> bool:
        """Whether the policies for `board` have the swap action."""
        if not isinstance(board, Position):
            raise UsageError(f"board={board!r}: must be a board, such as hexlit.Board(5, moves='a1 b2')")
        if board.winner:
            raise UsageError(f"the game is over, {NAMES[board.winner]} has won: there is nothing to search")
        swap = board.swap if self._network is None else self._network.swap
        if board.may_swap and not swap:
            raise UsageError("swap=True: the network was trained without the swap rule; search a board without it")
        return swap

    def _made(self, size: int, swap: bool, positions: int) -> tuple[Machine, Evaluator]:
        key = size, swap, positions
        if key not in self._ready:
            machine = Machine(self.config, size=size, games=positions, swap=swap)
            self._ready[key] = machine, self._evaluator(size, swap, machine.rows)
        return self._ready[key]

    def _evaluator(self, size: int, swap: bool, rows: int) -> Evaluator:
        if self._network is None:
            return RolloutEvaluator(self._playouts)
        from hexlit.accelerate.config import AcceleratorConfig
        from hexlit.accelerate.profile import build_profile
        from hexlit.nets.evaluator import NetworkEvaluator

        self._profile = self._profile or build_profile(AcceleratorConfig())
        return NetworkEvaluator(self._network.net, size=size, swap=swap, batch=rows, profile=self._profile)


def _pictured(board: Position) -> Board:
    return board if isinstance(board, Board) else Board(board.size, swap=board.swap, moves=board.moves)


def _network_of(judge: Any) -> "LoadedNetwork | None":
    if judge is None:
        return None
    if isinstance(judge, str | Path):
        from hexlit.tasks.hex.checkpoint import load_network

        return load_network(judge)
    network: LoadedNetwork = judge.network
    return network
