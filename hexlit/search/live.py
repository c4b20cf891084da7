"""The search of one game that continues from move to move.

The part of the tree below the moves that were played is kept, and its visits count. The result can be read at any time,
by a player without a fixed number of simulations or one that stops early.

PUCT needs nothing else for that. Sequential halving, Gumbel's rule at the root, plans a fixed number of simulations.
So it is used only for the first `run` of a position, up to `SearchConfig.simulations`. Visits kept from earlier moves
shorten the plan and do not count as turns in it; their values count from the start. All other simulations use at the
root Gumbel's rule for inner nodes: visits approach the improved policy. Without a completed plan, the move is the best
by the improved policy among the moves visited most or once less. In the middle of a round some moves have had their
turn and others have not.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.frame import frame_action, frame_map
from hexlit.hex.symmetry import exchange_colours
from hexlit.search.algorithm import plans_ahead, with_budget
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator
from hexlit.search.search import Search, SearchResult
from hexlit.search.subtree import keep_subtree
from hexlit.search.tree import NODE, NONE

MOST_BYTES = 1 << 30
"""Default memory limit of one tree: 700,000 nodes on 19x19, 2 million on 11x11."""

UNATTENDED = 1024
"""`until` is asked again after this many simulations even if none of them needed the evaluator."""


class Candidate(NamedTuple):
    """A move that the search has tried at the root."""

    action: int
    """Cell of the board, or `size*size` for the swap."""
    visits: int
    value: float
    """Mean value for the player who moves at the root, in [-1, 1]."""
    prior: float


class LiveSearch:
    """Searches the positions of one game in turn, without noise, and keeps the useful part of the tree.

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
        self._search = Search(config, size=size, games=1, swap=swap)
        self._evaluator = evaluator
        self._cells = np.zeros(size * size, np.int8)
        self._most_nodes = most_bytes // (NODE.itemsize + 8 + 4 * self._search.actions)
        self.rows = self._search.rows
        self._start(self._cells, 1, 0)

    @property
    def full(self) -> bool:
        """See the class."""
        return int(self._search.tree.game["nodes"][0]) + UNATTENDED > self._most_nodes

    def position(self, cells: NDArray[np.int8], to_move: int, ply: int) -> None:
        """Go to the undecided position `cells` int8 `[size*size]`, `ply` moves after the empty board.

        If it follows from the last position by moves in the tree, their subtree is kept. Raises `UsageError` for a
        position that cannot be searched; the last one stays then.
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
        self._credit = self._visits()

    def forget(self) -> None:
        """Drop the tree of the position."""
        game = self._search.tree.game[0]
        self._start(self._cells, int(game["to_move"]), int(game["ply"]))

    def run(self, simulations: int, *, until: Callable[[], bool] | None = None) -> SearchResult:
        """Search the position by `simulations` more; returns the result of all its simulations (B = 1).

        The visits kept from earlier positions count towards the first run: it adds the missing ones. `until` is asked
        between calls of the evaluator, and True stops the search; the position itself is evaluated in any case. If an
        evaluation fails, the tree is dropped and the exception is raised.
        """
        if simulations < 1:
            raise UsageError(f"{simulations} simulations: 1 or more are needed")
        search = self._search
        missing = max(0, simulations - self._credit)
        target = self._visits() + missing
        planned = self._plan(missing)
        self._credit = 0
        try:
            while self._visits() < target and not self.full:
                step = min(target - self._visits(), UNATTENDED)
                self._make_room(int(search.tree.game["nodes"][0]) + step + 1)
                if self._advance(self._visits() + step, until):
                    break
        except BaseException:
            self.forget()
            raise
        self._halved = planned and self._visits() == target
        return self._result()

    def principal_variation(self, action: int | None = None) -> list[int]:
        """The moves that the search expects: the one it would play, then always the one visited most.

        With `action`, one of the moves tried, the line begins with it.
        """
        root = self._children(0)
        if not root:
            return []
        action = int(self._result().action[0]) if action is None else action
        node = next(child for child in root if self._on_board(child, 0) == action)
        moves, depth = [action], 1
        while children := self._children(node):
            node = max(children, key=lambda child: int(self._node(child)["visits"]))
            moves.append(self._on_board(node, depth))
            depth += 1
        return moves

    def candidates(self) -> list[Candidate]:
        """The moves tried in this position, the one visited most first."""
        found = []
        for child in self._children(0):
            node = self._node(child)
            value = -float(node["value_sum"]) / int(node["visits"])
            found.append(Candidate(self._on_board(child, 0), int(node["visits"]), value, float(node["prior"])))
        return sorted(found, key=lambda candidate: (-candidate.visits, -candidate.value, candidate.action))

    def _start(self, cells: NDArray[np.int8], to_move: int, ply: int) -> None:
        self._search.place(cells[None], np.array([to_move], np.int8))
        self._search.begin(np.array([to_move], np.int8), np.array([ply], np.int16), 0.0, _NO_KEY)
        self._cells = cells.copy()
        self._credit = 0
        self._halved = False

    def _plan(self, simulations: int) -> bool:
        """Choose Gumbel's rule at the root (see the top of this file); returns whether it is sequential halving."""
        search = self._search
        tree, first = search.tree, self._visits() == self._credit
        planned = plans_ahead(search.params) and first and 0 < simulations <= search.config.simulations
        tree.game["schedule"] = 0 if planned else NONE
        tree.game["kept"] = 0
        if planned:
            search.params = with_budget(search.params, simulations)
            tree.game["kept"] = self._visits()
            tree.root_kept[0] = 0
            for child in self._children(0):
                tree.root_kept[0, self._node(child)["action"]] = self._node(child)["visits"]
        return planned

    def _advance(self, visits: int, until: Callable[[], bool] | None) -> bool:
        """Search up to `visits` visits of the root's children; returns whether `until` stopped it earlier."""
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
        if self._visits() == 0:
            return self._unsearched()
        result = search.read(1)
        if self._halved or not plans_ahead(search.params):
            return result
        in_race = result.visits[0] >= max(1, result.visits.max() - 1)
        action = int(np.where(in_race, result.policy[0], -1.0).argmax())
        result.action[0] = action
        result.value[0] = next(c.value for c in self.candidates() if c.action == action)
        return result

    def _unsearched(self) -> SearchResult:
        """The evaluator's own answer, before any search."""
        tree = self._search.tree
        priors = frame_map(tree.root_policy[0], int(tree.game["to_move"][0]), self._search.size)
        value = tree.node["network_value"][0, :1].copy()
        action = priors[None].argmax(1).astype(np.int16)
        return SearchResult(priors[None].copy(), action, value, np.zeros((1, len(priors)), np.int32))

    def _find(self, cells: NDArray[np.int8], to_move: int, ply: int) -> int:
        """The evaluated node of this position in the tree (the most visited, if there are several), or NONE."""
        search = self._search
        size, first = search.size, search.tree.game[0]
        found = []
        open_nodes = [(0, self._cells, int(first["to_move"]), int(first["ply"]))]
        while open_nodes:
            node, board, colour, at = open_nodes.pop()
            if at == ply:
                if colour == to_move and self._node(node)["visits"] > 0 and np.array_equal(board, cells):
                    found.append(node)
                continue
            for child in self._children(node) if at < ply else []:
                action = int(self._node(child)["action"])
                if action == size * size:
                    after = exchange_colours(board)
                else:
                    cell = frame_action(action, colour, size)
                    if cells[cell] != colour and not (search.params.swap and at == 0):  # that stone may be swapped
                        continue
                    after = board.copy()
                    after[cell] = colour
                open_nodes.append((child, after, -colour, at + 1))
        return max(found, key=lambda node: int(self._node(node)["visits"]), default=NONE)

    def _make_room(self, nodes: int) -> None:
        room = self._search.tree.node.shape[1]
        if nodes > room:
            self._search.make_room(max(nodes, min(2 * room, self._most_nodes)))

    def _visits(self) -> int:
        """Visits of the root's children."""
        return max(0, int(self._search.tree.node["visits"][0, 0]) - 1)

    def _node(self, node: int) -> Any:
        return self._search.tree.node[0, node]

    def _children(self, node: int) -> list[int]:
        """The children of `node`, in the order they were tried."""
        children = []
        child = int(self._node(node)["first_child"])
        while child != NONE:
            children.append(child)
            child = int(self._node(child)["sibling"])
        return children

    def _on_board(self, node: int, depth: int) -> int:
        """The action that leads to `node` from a node `depth` moves below the root, in the frame of the board."""
        action = int(self._node(node)["action"])
        to_move = int(self._search.tree.game["to_move"][0])
        return frame_action(action, -to_move if depth % 2 else to_move, self._search.size)


_NO_KEY = np.zeros(1, np.uint64)
"""There is no noise to draw."""
