"""Search many positions at once."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.arrays import FloatArray, Int8Array, Int16Array
from hexlit.hex.distance import potential_after
from hexlit.hex.engine import Stones, empty_stones, place_all
from hexlit.hex.frame import frame_action, framed
from hexlit.hex.geometry import LARGEST_BOARD, Geometry, geometry
from hexlit.hex.jit import over_slices, uncounted_kernel
from hexlit.hex.rng import NOISE, key
from hexlit.locks import Guarded, by_one_thread
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Batch, Evaluator, empty_batch, empty_cache
from hexlit.search.rule import compiled_params, root_result
from hexlit.search.simulate import advance, advance_leaves, begin_all, empty_leaf_queue
from hexlit.search.tree import NONE, Params, Tree, empty_tree, root_value, with_room

_DECIDED = 0.9
"""From this distance of a move's value from 0 on, the length of the game matters."""
_EQUAL, _EQUAL_VISITS = 0.02, 0.25
"""Largest difference of values, and least share of the most visits, of moves that count as equally
good.
"""

GAMES_A_THREAD = 128
"""Fewest games that a further thread takes: a game advances in a microsecond, but starting a thread
takes fifty.
"""


@dataclass(frozen=True)
class SearchResult:
    """Results of a search over B positions. Actions are those of the board (not of the mover's
    frame).
    """

    policy: FloatArray
    """Policy of the search: visit shares (PUCT) or the improved policy (Gumbel), `[B, A]`."""
    action: Int16Array
    """The action to play, `[B]`."""
    value: FloatArray
    """Mean value of that action for the player to move, in [-1, 1], `[B]`."""
    visits: NDArray[np.int32]
    """Visits of each action, `[B, A]`."""


class TreeNode:
    """A node of a tree, with the move that leads to it. The nodes below it are read when they are
    asked for.

    Attributes:
        index: number of the node in its tree; 0 for the root.
        to_move: player to move at the node, +1 or -1.
        action: cell of the board, `size*size` for the swap, -1 for the root.
        visits: simulations that went through it.
        value: mean value for the player who made the move, in [-1, 1]; at the root for the player
            to move.
        prior: prior of the move before it was searched; 1 at the root.
    """

    def __init__(self, nodes: NDArray[np.void], size: int, to_move: int, index: int = 0) -> None:
        """Node `index` of the tree `nodes` (NODE `[N]`) on a board of `size`, where `to_move`
        moves.
        """
        node = nodes[index]
        self.index = index
        self.to_move = to_move
        self.action = frame_action(int(node["action"]), -to_move, size) if index else NONE
        self.visits = int(node["visits"])
        self.value = float(node["value_sum"]) / max(1, self.visits) * (-1 if index else 1)
        self.prior = float(node["prior"]) if index else 1.0
        self._nodes = nodes
        self._size = size

    @cached_property
    def children(self) -> "list[TreeNode]":
        """The moves tried after it, the most visited first."""
        children, index = [], int(self._nodes["first_child"][self.index])
        while index != NONE:
            children.append(TreeNode(self._nodes, self._size, -self.to_move, index))
            index = int(self._nodes["sibling"][index])
        return sorted(children, key=lambda node: -node.visits)


class TreeSearch(Guarded):
    """Tree search over up to `games` positions in lock step, through one evaluator.

    All memory is taken here; a search allocates only its result. It serves one thread: a second one
    is refused with `UsageError`.

    Attributes:
        rows: positions in one call of the evaluator.
        batch: these positions and the answers for them.
        evaluator_calls: calls of the evaluator so far.
        rows_used: rows of these calls that held a needed position; the others were padding.
    """

    def __init__(
        self,
        config: SearchConfig,
        *,
        size: int,
        games: int,
        swap: bool = False,
        rows: int | None = None,
    ) -> None:
        """A search on boards of `size` (2 to 19), with or without the swap rule.

        `rows` is the evaluator's batch, if larger than `games` times `config.leaves`.
        """
        if not 2 <= size <= LARGEST_BOARD:
            raise UsageError(
                f"board={size}: networks and search take boards of 2 to {LARGEST_BOARD} rows"
            )
        super().__init__()
        self.config = config
        self.size = size
        self.games = games
        self.actions = size * size + swap
        self.params: Params = compiled_params(config, budgets=(config.simulations,), swap=swap)
        self.geometry: Geometry = geometry(size)
        self.rows = max(games * config.leaves, rows or 0)
        self.evaluator_calls = self.rows_used = 0
        self.tree: Tree = empty_tree(games, config.simulations, self.actions)
        self._queue = empty_leaf_queue(games, config.leaves, config.simulations + 1)
        self.batch: Batch = empty_batch(self.rows, size, self.actions)
        self.roots: Stones = empty_stones(games, size)
        self._walk = empty_stones(games, size)
        self._cache = empty_cache(
            0, self.actions
        )  # none: the next call may come with another evaluator

    @by_one_thread
    def run(
        self,
        cells: Int8Array,
        to_move: Int8Array,
        evaluator: Evaluator,
        *,
        ply: Int16Array | None = None,
        noise: float = 0.0,
        seed: int = 0,
    ) -> SearchResult:
        """Search the undecided positions `cells` int8 `[B, size*size]`, B up to `games`, with
        `to_move` int8 `[B]`.

        `ply` int16 `[B]` matters only for the swap rule, which White may use at ply 1 (read from
        the stones unless given). `noise` scales the noise at the root; 0 searches for the best
        move. `seed` keys the noise, with the position's index. Raises `UsageError` for positions
        that cannot be searched, and for an evaluator whose answers are none, see `check_answers`.
        """
        self.place(cells, to_move)
        batch = len(cells)
        plies = plies_before(cells, to_move, swap=self.params.swap) if ply is None else ply
        keys = [
            key(seed, index, ply, NOISE) if noise else 0 for index, ply in enumerate(plies.tolist())
        ]
        self.begin(to_move, plies, noise, np.array(keys, np.uint64))
        while self.advance():
            self.evaluate(evaluator)
        return self.read(batch)

    @by_one_thread
    def place(self, cells: Int8Array, to_move: Int8Array) -> None:
        """Set up the roots, as for `run`; raises `UsageError` for positions that cannot be
        searched.
        """
        batch = len(cells)
        if not 0 < batch <= self.games:
            raise UsageError(f"{batch} positions: this search was made for 1 to {self.games}")
        if cells.shape != (batch, self.size**2) or to_move.shape != (batch,):
            raise UsageError(
                f"cells {cells.shape}, to_move {to_move.shape}: a board has {self.size**2} cells"
            )
        if not (np.isin(cells, (-1, 0, 1)).all() and np.isin(to_move, (-1, 1)).all()):
            raise UsageError("cells are 1 (Black), -1 (White) or 0 (empty), and to_move is 1 or -1")
        decided = _set_up(self.roots, np.ascontiguousarray(cells), self.geometry)
        if decided != NONE:
            raise UsageError(
                f"position {decided} of {batch} is decided already: there is nothing to search"
            )

    @by_one_thread
    def begin(
        self,
        to_move: Int8Array,
        ply: Int16Array,
        noise: float | FloatArray,
        keys: NDArray[np.uint64],
    ) -> None:
        """Start the searches from the roots that were set up, with noise drawn from `keys`.

        `noise` scales it, one number for all or `[B]`.
        """
        scales = np.full(len(to_move), noise, np.float32)
        begin_all(self.tree, to_move, ply, self.config.simulations, scales, keys)
        self._queue.length[:] = 0
        self._queue.waiting[:] = 0

    def make_room(self, nodes: int) -> None:
        """Give every tree room for `nodes` nodes; no leaf may wait for the evaluator."""
        self.tree = with_room(self.tree, nodes)
        self._queue = empty_leaf_queue(self.games, self.config.leaves, nodes)

    def root(self, game: int = 0) -> TreeNode:
        """The root of the tree of one `game`, as it is now."""
        return TreeNode(
            self.tree.node[game].copy(), self.size, int(self.tree.game["to_move"][game])
        )

    @by_one_thread
    def read(self, batch: int) -> SearchResult:
        """The results of the first `batch` games; each has run one simulation or more."""
        policy = np.zeros((batch, self.actions), np.float32)
        visits = np.zeros((batch, self.actions), np.int32)
        action = np.zeros(batch, np.int16)
        value = np.zeros(batch, np.float32)
        row = np.empty(self.actions, np.float32)
        _read_roots(self.tree, row, policy, visits, action, value, self.params, self.geometry)
        return SearchResult(policy, action, value, visits)

    def shortest(
        self, cells: Int8Array, action: int, value: float, game: int = 0
    ) -> tuple[int, float]:
        """The move that wins soonest, or loses latest, among those as good as `action` with its
        decided `value`.

        A search does not distinguish the moves of a won position, and would drift. The winner's
        two-distance potential after a move stands for the length of the rest. `cells` int8
        `[size*size]` is the position of `game`. Returns the move and its value; in open positions
        and for the swap, those that were given.
        """
        if abs(value) < _DECIDED or action == cells.size:
            return action, value
        root, ahead = self.root(game), 1 if value > 0 else -1

        def order(move: TreeNode) -> tuple[int, bool]:
            length = potential_after(cells, move.action, root.to_move, ahead * root.to_move)
            return ahead * length, move.action != action

        least = max(1, _EQUAL_VISITS * root.children[0].visits)
        equal = [
            move
            for move in root.children
            if move.action == action or (move.visits >= least and move.value >= value - _EQUAL)
        ]
        best = min((move for move in equal if move.action < cells.size), key=order)
        return best.action, best.value

    @by_one_thread
    def advance(self) -> int:
        """Take in the evaluator's answers and find the next leaves; returns how many of them wait
        in `batch`.

        Raises `UsageError` as `check_answers`.
        """
        arguments = self.roots, self._walk, *self.batch
        rules = self.params, self.geometry
        if self.config.leaves == 1:
            alone = self.tree, *arguments, self._cache, *rules
            waiting = sum(
                over_slices(
                    lambda first, last: advance(first, last, *alone),
                    self.games,
                    least=GAMES_A_THREAD,
                )
            )
        else:
            waiting = advance_leaves(self.tree, self._queue, *arguments, *rules)
        check_answers(self.tree)
        self.rows_used += waiting
        return waiting

    def evaluate(self, evaluator: Evaluator) -> None:
        """Let `evaluator` evaluate the positions that wait in `batch`."""
        self.evaluator_calls += 1
        evaluator.evaluate(*self.batch)


def check_answers(tree: Tree) -> None:
    """Raise `UsageError` if an evaluator has answered one of the searches with NaN or infinity, or
    a value outside [-1, 1].
    """
    if tree.game["faulty"].any():
        raise UsageError(
            "the evaluator answers with NaN or infinity, or with a value outside [-1, 1]"
        )


def plies_before(cells: Int8Array, to_move: Int8Array, *, swap: bool) -> Int16Array:
    """Moves played before the positions `[B, size*size]`: their stones, and one more after a swap."""
    stones: Int16Array = np.count_nonzero(cells, axis=1).astype(np.int16)
    if swap:
        stones += (stones == 1) & (to_move > 0)
    return stones


@uncounted_kernel
def _set_up(roots: Stones, cells: Int8Array, table: Geometry) -> int:
    """Put the positions into `roots`; returns the first that is decided, or NONE."""
    for g in range(cells.shape[0]):
        if place_all(roots, g, cells[g], table) != 0:
            return g
    return NONE


@uncounted_kernel
def _read_roots(
    tree: Tree,
    row: FloatArray,
    policy: FloatArray,
    visits: NDArray[np.int32],
    actions: Int16Array,
    values: FloatArray,
    params: Params,
    table: Geometry,
) -> None:
    """Write the results of the first games in the board's frame; `row` `[A]` is scratch space."""
    for g in range(policy.shape[0]):
        best = root_result(tree, g, row, params.rule)
        to_move = tree.game[g].to_move
        for action in range(row.size):
            policy[g, framed(action, to_move, table)] = row[action]
        actions[g] = framed(best, to_move, table)
        values[g] = root_value(tree, g, best)
        child = tree.node[g, 0].first_child
        while child != NONE:
            action = tree.node[g, child].action
            visits[g, framed(action, to_move, table)] = tree.node[g, child].visits
            child = tree.node[g, child].sibling
