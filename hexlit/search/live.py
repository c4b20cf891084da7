"""The search of one game that continues from move to move.

The part of the tree below the moves that were played is kept, and its visits count. The result can
be read at any time, by a player without a fixed number of simulations or one that stops early.

PUCT needs nothing else for that. Sequential halving, Gumbel's rule at the root, plans a fixed
number of simulations. So it is used only for the first `run` of a position, up to
`SearchConfig.simulations`. Visits kept from earlier moves shorten the plan and do not count as
turns in it; their values count from the start. All other simulations use at the root Gumbel's rule
for inner nodes: visits approach the improved policy. Without a completed plan, the move is the best
by the improved policy among the moves visited most or once less. In the middle of a round some
moves have had their turn and others have not.
"""

from collections.abc import Callable

import numpy as np

from hexlit.errors import UsageError
from hexlit.hex.arrays import Int8Array
from hexlit.hex.frame import frame_map
from hexlit.hex.jit import kernel
from hexlit.hex.symmetry import exchange_colours
from hexlit.locks import Guarded, by_one_thread
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator
from hexlit.search.rule import plans_ahead, store_root, with_budget
from hexlit.search.search import SearchResult, TreeNode, TreeSearch
from hexlit.search.tree import NODE, NONE, Params, Tree

MOST_BYTES = 1 << 30
"""Default memory limit of one tree: 700,000 nodes on 19x19, 2 million on 11x11."""

UNATTENDED = 1024
"""`until` is asked again after this many simulations even if none of them needed the evaluator."""


class LiveSearch(Guarded):
    """Searches the positions of one game in turn, without noise, and keeps the useful part of the
    tree.

    Attributes:
        rows: positions in one call of the evaluator.
        full: the tree has used its memory; `run` adds nothing any more.
    """

    def __init__(
        self,
        config: SearchConfig,
        evaluator: Evaluator,
        *,
        size: int,
        swap: bool = False,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """Starts with the empty board of `size` (2 to 19), with or without the swap rule."""
        super().__init__()
        self._search = TreeSearch(config, size=size, games=1, swap=swap)
        self._evaluator = evaluator
        self._cells = np.zeros(size * size, np.int8)
        self._most_nodes = most_bytes // (NODE.itemsize + 8 + 4 * self._search.actions)
        self.rows = self._search.rows
        self._start(self._cells, 1, 0)

    @property
    def full(self) -> bool:
        """See the class."""
        return int(self._search.tree.game["nodes"][0]) + UNATTENDED > self._most_nodes

    @property
    def visits(self) -> int:
        """Visits of the moves of the position, together."""
        return max(0, int(self._search.tree.node["visits"][0, 0]) - 1)

    @by_one_thread
    def position(self, cells: Int8Array, to_move: int, ply: int) -> None:
        """Go to the undecided position `cells` int8 `[size*size]`, `ply` moves after the empty
        board.

        If it follows from the last position by moves in the tree, their subtree is kept. Raises
        `UsageError` for a position that cannot be searched; the last one stays then.
        """
        try:
            self._search.place(cells[None], np.array([to_move], np.int8))
        except UsageError:
            self._search.place(self._cells[None], self._search.tree.game["to_move"])
            raise
        node = self._find(cells, to_move, ply)
        if node == NONE:
            self._start(cells, to_move, ply)
            return
        self._cells = cells.copy()
        if node != 0:
            keep_subtree(self._search.tree, 0, node, self._search.params)
            game = self._search.tree.game[0]
            game["to_move"], game["ply"] = to_move, ply
            self._halved = False
        self._credit = self.visits

    def forget(self) -> None:
        """Drop the tree of the position."""
        game = self._search.tree.game[0]
        self._start(self._cells, int(game["to_move"]), int(game["ply"]))

    @by_one_thread
    def run(self, simulations: int, *, until: Callable[[], bool] | None = None) -> SearchResult:
        """Search the position by `simulations` more; returns the result of all its simulations (B =
        1).

        The visits kept from earlier positions count towards the first run: it adds the missing
        ones. `until` is asked between calls of the evaluator, and True stops the search; the
        position itself is evaluated in any case. If an evaluation fails, the tree is dropped and
        the exception is raised.
        """
        if simulations < 1:
            raise UsageError(f"{simulations} simulations: 1 or more are needed")
        search = self._search
        missing = max(0, simulations - self._credit)
        target = self.visits + missing
        planned = self._plan(missing)
        self._credit = 0
        try:
            while self.visits < target and not self.full:
                step = min(target - self.visits, UNATTENDED)
                nodes, room = (
                    int(search.tree.game["nodes"][0]) + step + 1,
                    search.tree.node.shape[1],
                )
                if nodes > room:
                    search.make_room(max(nodes, min(2 * room, self._most_nodes)))
                if self._advance(self.visits + step, until):
                    break
        except BaseException:
            self.forget()
            raise
        self._halved = planned and self.visits == target
        return self._result()

    def principal_variation(self, action: int | None = None) -> list[int]:
        """The moves that the search expects: the one it would play, then always the one visited
        most.

        With `action`, one of the moves tried, the line begins with it.
        """
        moves = self._root.children
        if moves:
            first = int(self._result().action[0]) if action is None else action
            moves = [child for child in moves if child.action == first]
        line = []
        while moves:
            line.append(moves[0].action)
            moves = moves[0].children
        return line

    def candidates(self) -> list[TreeNode]:
        """The moves tried in this position, the one visited most first."""
        return sorted(
            self._root.children, key=lambda node: (-node.visits, -node.value, node.action)
        )

    def _start(self, cells: Int8Array, to_move: int, ply: int) -> None:
        colours = np.array([to_move], np.int8)
        plies = np.array([ply], np.int16)
        self._search.place(cells[None], colours)
        self._search.begin(colours, plies, 0.0, _NO_KEY)
        self._cells = cells.copy()
        self._credit = 0
        self._halved = False

    def _plan(self, simulations: int) -> bool:
        """Choose Gumbel's rule at the root (see the top of this file); returns whether it is
        sequential halving.
        """
        search = self._search
        tree, first = search.tree, self.visits == self._credit
        planned = (
            plans_ahead(search.params) and first and 0 < simulations <= search.config.simulations
        )
        tree.game["schedule"] = 0 if planned else NONE
        tree.game["kept"] = 0
        if planned:
            search.params = with_budget(search.params, simulations)
            tree.game["kept"] = self.visits
            tree.root_kept[0] = 0
            for child in self._root.children:
                tree.root_kept[0, tree.node["action"][0, child.index]] = child.visits
        return planned

    def _advance(self, visits: int, until: Callable[[], bool] | None) -> bool:
        """Search up to `visits` visits of the root's children; returns whether `until` stopped it
        earlier.
        """
        search = self._search
        game = search.tree.game
        game["budget"] = visits
        evaluated = bool(search.tree.node["visits"][0, 0] > 0)
        while True:
            stopped = evaluated and until is not None and until()
            if stopped:
                game["budget"] = 0  # answers are still taken in, but no leaf is selected
            if not search.advance():
                return stopped
            search.evaluate(self._evaluator)
            evaluated = True

    def _result(self) -> SearchResult:
        search = self._search
        if self.visits == 0:
            return self._unsearched()
        result = search.read(1)
        if plans_ahead(search.params) and not self._halved:
            in_race = result.visits[0] >= max(1, result.visits.max() - 1)
            action = int(np.where(in_race, result.policy[0], -1.0).argmax())
            result.action[0] = action
            result.value[0] = next(c.value for c in self.candidates() if c.action == action)
        result.action[0], result.value[0] = search.shortest(
            self._cells, int(result.action[0]), float(result.value[0])
        )
        return result

    def _unsearched(self) -> SearchResult:
        """The evaluator's answer, before any search."""
        tree = self._search.tree
        priors = frame_map(tree.root_policy[0], int(tree.game["to_move"][0]), self._search.size)
        value = tree.node["network_value"][0, :1].copy()
        action = priors[None].argmax(1).astype(np.int16)
        return SearchResult(
            priors[None].copy(), action, value, np.zeros((1, len(priors)), np.int32)
        )

    def _find(self, cells: Int8Array, to_move: int, ply: int) -> int:
        """The evaluated node of this position in the tree (the most visited, if there are several),
        or NONE.
        """
        swap, first = self._search.params.swap, int(self._search.tree.game["ply"][0])
        level = [(self._root, self._cells)] if first <= ply else []
        for at in range(first, ply):
            below = []
            for node, board in level:
                for child in node.children:
                    swaps = child.action == len(cells)
                    # Only the first stone may change its colour, by a swap.
                    if swaps or cells[child.action] == node.to_move or (swap and at == 0):
                        below.append((child, _after(board, child.action, node.to_move)))
            level = below
        same = [
            node
            for node, board in level
            if node.to_move == to_move and np.array_equal(board, cells)
        ]
        best = max(same, key=lambda node: node.visits, default=None)
        return best.index if best is not None and best.visits > 0 else NONE

    @property
    def _root(self) -> TreeNode:
        tree = self._search.tree
        return TreeNode(tree.node[0], self._search.size, int(tree.game["to_move"][0]))


def _after(cells: Int8Array, action: int, colour: int) -> Int8Array:
    """The board `cells` after `action` by `colour`."""
    if action == len(cells):
        return exchange_colours(cells)
    after = cells.copy()
    after[action] = colour
    return after


@kernel
def keep_subtree(tree: Tree, g: int, root: int, params: Params) -> None:
    """Make the evaluated node `root` of game `g` the root of its tree, in place; all other nodes
    are dropped.

    Visits and sums of values stay; the root's priors are those of the evaluator, without noise.
    """
    game = tree.game[g]
    # A node's number is above its parent's: one pass finds the kept nodes, and no copy overwrites a
    # later one.
    number = np.full(game.nodes, NONE, np.int32)
    number[root] = 0
    kept = 1
    for node in range(root + 1, game.nodes):
        if number[tree.node[g, node].parent] != NONE:
            number[node] = kept
            kept += 1
    for node in range(root, game.nodes):
        new = number[node]
        if new != NONE:
            tree.node[g, new] = tree.node[g, node]
            tree.policy[g, new] = tree.policy[g, node]
            moved = tree.node[g, new]
            moved.parent = NONE if new == 0 else number[moved.parent]
            moved.sibling = NONE if new == 0 or moved.sibling == NONE else number[moved.sibling]
            if moved.first_child != NONE:
                moved.first_child = number[moved.first_child]
                moved.last_child = number[moved.last_child]
    game.nodes = kept
    game.noise = 0.0
    restore_root(tree, g, params)


@kernel
def restore_root(tree: Tree, g: int, params: Params) -> None:
    """Write the root's priors and scores as they were before any action was tried; there is no
    noise in them.
    """
    untried = tree.policy[g, 0].copy()
    child = tree.node[g, 0].first_child
    while child != NONE:
        tree.policy[g, 0, tree.node[g, child].action] = tree.node[g, child].prior
        child = tree.node[g, child].sibling
    store_root(tree, g, params)
    tree.policy[g, 0] = untried


_NO_KEY = np.zeros(1, np.uint64)
"""There is no noise to draw."""
