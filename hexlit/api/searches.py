"""Searches and models: the judgement of positions, by a network or by random playouts."""

import shlex
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hexlit.api.boards import NAMES, Board, Drawn, OpeningMap, Picture, pictured
from hexlit.api.interface import DataFrame, frame, pandas_here
from hexlit.commands.predict import task_of
from hexlit.commands.tasks import part_of
from hexlit.errors import UsageError
from hexlit.hex.arrays import FloatArray
from hexlit.hex.board import GameBoard
from hexlit.hex.frame import frame_map
from hexlit.hex.notation import SWAP, format_cell
from hexlit.hex.openings import SOLVED, solved_openings
from hexlit.locks import Guarded, in_turn
from hexlit.reporting import board_svg as svg
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator, RolloutEvaluator, empty_batch
from hexlit.search.search import TreeNode, TreeSearch
from hexlit.tasks.hex.packaged import is_packaged, network_file

if TYPE_CHECKING:
    from hexlit.tasks.hex.checkpoint import LoadedNetwork

MOST_EXPECTED = 5
"""Moves of the expected line that a caption has room for."""


@dataclass(eq=False)
class Opinion(Drawn):
    """An opinion of a position without any search; a notebook draws the policy on the board.

    Attributes:
        board: the position.
        policy: float `[A]`, over the board's actions; 0 where illegal.
        value: for the player to move, in [-1, 1].
    """

    board: Board
    policy: FloatArray
    value: float

    @property
    def moves(self) -> DataFrame:
        """The legal moves, the likeliest first: `move` and `prior`."""
        moves = sorted(self.board.legal_moves(), key=lambda move: -float(self.policy[move]))
        return frame(
            [(format_cell(move, self.board.size), self.policy[move]) for move in moves],
            ("move", "prior"),
        )

    def picture(self) -> Picture:
        """The board with the policy of each move."""
        title = f"{NAMES[self.board.to_move]} to move, value {100 * self.value:+.0f}%"
        return self.board.picture(
            shares=self.policy, title=title, caption="policy in percent, without search"
        )


@dataclass(eq=False, repr=False)
class Searched(Drawn):
    """Results of a search; a notebook draws the board with the share of the visits of each move.

    Attributes:
        board: the position.
        move: the move to play.
        value: its value for the player to move, in [-1, 1].
        policy: float `[A]`, the policy that the search arrived at, over the board's actions.
        visits: int `[A]`.
        root: the tree, see `hexlit.search.search.TreeNode`.
    """

    board: Board
    move: str
    value: float
    policy: FloatArray
    visits: NDArray[np.int32]
    root: TreeNode

    @property
    def expected(self) -> list[str]:
        """The line of play that the search expects: its move, then always the one visited most."""
        return [self._name(node) for node in self._line()]

    @property
    def candidates(self) -> DataFrame:
        """The moves that were tried, the most visited first: `move`, `visits`, `value` (for the
        mover), `prior`.
        """
        rows = [
            (self._name(node), node.visits, node.value, node.prior) for node in self.root.children
        ]
        return frame(rows, ("move", "visits", "value", "prior"))

    def tree(self, nodes: int = 30) -> Picture:
        """The tree as a picture: its `nodes` most visited nodes.

        A stone has the colour of the player who moves. Its ring shows the value for the player to
        move at the root: blue is good, red bad. Visits and that value, in percent, stand below it.
        Red lines are expected to be played.

        >>> import hexlit
        >>> hexlit.Search(simulations=50).run(hexlit.Board(3)).tree(nodes=10).svg.count("<circle")
        9
        """
        expected, mover = {node.index for node in self._line()}, self.board.to_move
        most = sorted(_below(self.root), key=lambda node: -node.visits)[
            :nodes
        ]  # stable: parents before children
        kept = {node.index for node in most}

        def drawn(node: TreeNode) -> svg.DrawnNode:
            children = [drawn(child) for child in node.children if child.index in kept]
            if node is self.root:
                return svg.DrawnNode(
                    f"{NAMES[mover]} to move", 0, node.visits, node.value, False, children
                )
            value, player = node.value * -node.to_move * mover, -node.to_move
            return svg.DrawnNode(
                self._name(node), player, node.visits, value, node.index in expected, children
            )

        caption = "stones: who moves · number: visits · percent and ring: value for the player to move at the top"
        return Picture(
            svg.tree_svg(
                drawn(self.root), title=f"The {nodes} most visited positions", caption=caption
            )
        )

    def _line(self) -> Iterator[TreeNode]:
        following = [child for child in self.root.children if self._name(child) == self.move]
        while following:
            yield following[0]
            following = following[0].children

    def _name(self, node: TreeNode) -> str:
        return format_cell(node.action, self.board.size)

    def picture(self) -> Picture:
        """The board with the share of the visits of each move."""
        count, line = int(self.visits.sum()), self.expected
        expected = " ".join(line[:MOST_EXPECTED]) + (" ..." if len(line) > MOST_EXPECTED else "")
        title = f"{NAMES[self.board.to_move]} plays {self.move}, value {100 * self.value:+.0f}%"
        caption = f"percent of {count:,} visits; expected: {expected}"
        marks = [self.move] if self.move != SWAP else []
        return self.board.picture(
            shares=self.visits / max(1, count), marks=marks, title=title, caption=caption
        )

    def __repr__(self) -> str:
        return f"<Searched: {NAMES[self.board.to_move]} plays {self.move}, value {self.value:+.2f}>"


def _below(node: TreeNode) -> Iterator[TreeNode]:
    yield node
    for child in node.children:
        yield from _below(child)


class Search(Guarded):
    """Searches positions, one at a time, judged by a network or by random playouts.

    Threads may share a search: they wait for each other.

    A result has the policy of the search float32 `[A]`, its visits int32 `[A]` and the value in
    [-1, 1] for the player to move; A is size*size, and one more where White may swap.

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
        judge: "Model | str | Path | None" = None,
        *,
        simulations: int = 400,
        algorithm: str = "gumbel",
        playouts: int = 16,
    ) -> None:
        """A search that a network judges, or without one random playouts.

        Args:
            judge: a run, a model, a checkpoint, the folder of a run, or the name of a packaged
                network such as `hexlit:small`; None: random playouts.
            simulations: positions that are looked at for a move.
            algorithm: `gumbel` or `puct`.
            playouts: random games for a position, without a network.

        Raises:
            UsageError: a setting is out of range, or there is no network.
        """
        super().__init__()
        self.config = SearchConfig(algorithm=algorithm, simulations=simulations)
        self._playouts = playouts
        self._network: LoadedNetwork | None = None
        if isinstance(judge, Model):
            self._network = judge.network
        elif judge is not None:
            from hexlit.tasks.hex.checkpoint import load_network

            self._network = load_network(judge)
        self._made = cache(self._make)

    @in_turn
    def run(self, board: GameBoard) -> Searched:
        """Search the position on `board`; raises `UsageError` where the game is over."""
        machine, evaluator, _ = self._for(board)
        ply = len(board.moves)
        if not board.swap:
            ply += 2  # the swap is no longer possible then
        colour = np.array([board.to_move], np.int8)
        result = machine.run(board.cells[None], colour, evaluator, ply=np.array([ply], np.int16))
        move = format_cell(int(result.action[0]), board.size)
        found = float(result.value[0]), result.policy[0], result.visits[0]
        return Searched(pictured(board), move, *found, machine.root())

    @in_turn
    def look(self, board: GameBoard) -> Opinion:
        """Judge the position without any search.

        >>> import hexlit
        >>> hexlit.Search().look(hexlit.Board(3)).policy.sum().round(3).item()  # playouts prefer no move
        1.0
        """
        machine, evaluator, swap = self._for(board)
        batch = empty_batch(machine.rows, board.size, board.size**2 + swap)
        batch.planes[:] = board.planes()
        evaluator.evaluate(*batch)
        policy = frame_map(batch.policy[0], board.to_move, board.size)
        return Opinion(pictured(board), policy, float(batch.value[0]))

    @in_turn
    def openings(self, size: int) -> OpeningMap:
        """Search every first move of Black on a board of `size` rows.

        >>> import hexlit
        >>> hexlit.Search(simulations=100).openings(3).values.shape
        (9,)
        """
        cells = np.eye(size * size, dtype=np.int8)
        swap = self._network is not None and self._network.swap
        machine, evaluator = self._made(size, swap, len(cells))
        colours = np.full(len(cells), -1, np.int8)
        plies = np.full(len(cells), 3, np.int16)
        result = machine.run(cells, colours, evaluator, ply=plies)
        truth = np.asarray(solved_openings(size), np.bool_) if size in SOLVED else None
        judge = "the network" if self._network else f"{self._playouts} random playouts"
        return OpeningMap(
            -result.value.astype(np.float64),
            f"{judge}, {self.config.simulations} simulations",
            truth,
        )

    def _for(self, board: GameBoard) -> tuple[TreeSearch, Evaluator, bool]:
        """The search for `board`, its evaluator, and whether their policies have the swap
        action.
        """
        if not isinstance(board, GameBoard):
            raise UsageError(
                f"board={board!r}: must be a board, such as hexlit.Board(5, moves='a1 b2')"
            )
        swap = board.swap if self._network is None else self._network.swap
        if board.may_swap and not swap:
            raise UsageError(
                "swap=True: the network was trained without the swap rule; search a board without it"
            )
        return *self._made(board.size, swap, 1), swap

    def _make(self, size: int, swap: bool, positions: int) -> tuple[TreeSearch, Evaluator]:
        machine = TreeSearch(self.config, size=size, games=positions, swap=swap)
        if self._network is None:
            return machine, RolloutEvaluator(self._playouts)
        from hexlit.accelerate.config import AcceleratorConfig
        from hexlit.accelerate.profile import build_profile
        from hexlit.commands.player_factory import Evaluators

        make_evaluator = Evaluators(self._network, size, build_profile(AcceleratorConfig()))
        return machine, make_evaluator(machine.rows)


class Model:
    """The network of a checkpoint."""

    def __init__(self, checkpoint: str | Path) -> None:
        """Of a checkpoint, of the best one in the folder of a run, or a packaged network such as
        `hexlit:small`.

        Raises:
            UsageError: there is none.
        """
        self.checkpoint = network_file(checkpoint)
        self._source = str(checkpoint if is_packaged(checkpoint) else self.checkpoint)
        self.task = task_of(self.checkpoint)

    @cached_property
    def network(self) -> "LoadedNetwork":
        """The policy/value network of a model of Hex; raises `UsageError` for other tasks."""
        from hexlit.tasks.hex.checkpoint import load_network

        return load_network(self.checkpoint)

    @property
    def board(self) -> int:
        """The size of the board that the network was trained on."""
        return self.network.size

    def search(
        self, board: GameBoard, simulations: int = 400, algorithm: str = "gumbel"
    ) -> Searched:
        """Search a position; see `hexlit.Search`, which is faster for many of them."""
        return Search(self, simulations=simulations, algorithm=algorithm).run(board)

    def openings(self, simulations: int = 64, size: int | None = None) -> OpeningMap:
        """Search every first move of Black; `size` None is that of the training."""
        return Search(self, simulations=simulations).openings(size or self.board)

    def player(self, simulations: int = 64, name: str = "", algorithm: str = "gumbel") -> str:
        """The model as a player of `hexlit.match`; 0 simulations: the policy alone."""
        source = shlex.quote(self._source)
        named = f" name={shlex.quote(name)}" if name else ""
        if simulations == 0:
            return f"policy={source}{named}"
        return f"checkpoint={source} simulations={simulations} algorithm={algorithm}{named}"

    def evaluate(self, **settings: Any) -> dict[str, Any]:
        """Measure the model again: a model of Hex against the exact truth, with the settings of
        `hexlit strength`.

        Returns:
            Plain values, those of `strength.json`.

        Raises:
            UsageError: the task measures its models only while they are trained.
        """
        return dict(part_of(self.task, "evaluate")(self.checkpoint, **settings))

    def look(self, board: GameBoard) -> Opinion:
        """The opinion of a network of Hex without search: its policy and its value."""
        return Search(self, simulations=1).look(board)

    def predict(self, data: "str | Path | Sequence[str] | DataFrame") -> DataFrame:
        """Apply the model to new data, as `hexlit predict` does.

        Args:
            data: a table with the columns of the training: a data frame, or the name of a CSV or
                Parquet file. Models that read texts also take one text, or a list of them.

        Raises:
            UsageError: the model takes no such data.
        """
        predict, pd = part_of(self.task, "predict"), pandas_here()

        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "source.parquet", Path(folder) / "target.parquet"
            if isinstance(data, str | Path) and Path(data).suffix in (".csv", ".parquet"):
                source = Path(data)
            else:
                self._table(data).to_parquet(source)
            predict(self.checkpoint, source, target)
            return pd.read_parquet(target)

    def _table(self, data: Any) -> DataFrame:
        if hasattr(data, "to_parquet"):
            return data
        from hexlit.training.checkpoints import read_checkpoint

        column = read_checkpoint(self.checkpoint, "checkpoint")["hyper_parameters"].get("column")
        if column is None:
            raise UsageError(
                f"predict: a model of task {self.task} takes a data frame, or a CSV or Parquet file"
            )
        return frame([{column: text} for text in ([data] if isinstance(data, str) else data)])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of task {self.task}: {self._source}>"
