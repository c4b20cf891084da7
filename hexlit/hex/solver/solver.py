"""Entry to the exact solver, for positions in the absolute frame."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hexlit.errors import UsageError
from hexlit.hex.arrays import BoolArray, FloatArray, Int8Array, Int64Array
from hexlit.hex.frame import frame_action, frame_map
from hexlit.hex.jit import over_slices
from hexlit.hex.solver.bitboard import (
    MAX_SIZE,
    STRIDE,
    Words,
    flood,
    full_board,
    lowest,
    pack,
    transpose,
    unpack,
)
from hexlit.hex.solver.proof import (
    EVERYTHING,
    NO_PLY,
    Ingredients,
    Work,
    known_moves,
    new_works,
    prove,
    store_prior,
)
from hexlit.hex.solver.table import (
    COLUMNS,
    LOST,
    UNSOLVED,
    WON,
    Knowledge,
    ProofTable,
    copy,
    dearest,
    new_table,
    positions_in,
)
from hexlit.locks import Guarded, in_turn
from hexlit.settings import check_numbers


class UnsolvedError(RuntimeError):
    """The search gave up at its node limit; the position's value is not known."""


_ROWS = {2: 1 << 4, 3: 1 << 8, 4: 1 << 12, 5: 1 << 14, 6: 1 << 18}
"""Enough for all openings; larger boards have 2**22."""
_FIRST_ROWS = 1 << 12
_TABLE_GROWTH = 4
"""A table begins small and grows this many times when half of it may be in use: fresh memory costs
time, too.
"""
_UNLIMITED = np.iinfo(np.int64).max
_SHARES = (
    0.4,
    0.05,
)  # of the best move's probability, that a move must have to be likely, and to be possible

Policy = Callable[[Int8Array], FloatArray]
"""A position int8 `[size*size]` in the mover's frame, +1 the mover -> probabilities of the moves
`[size*size]`.
"""


@dataclass(frozen=True)
class Solution:
    """The exact value of a position."""

    winner: int  # +1 Black (top-bottom), -1 White (left-right)
    winning_moves: tuple[int, ...]
    """Every winning cell of the side to move, ascending; empty when it loses or all is over."""
    nodes: int  # positions judged by their virtual connections
    seconds: float  # wall-clock time


class ExactSolver(Guarded):
    """Solves positions of one board size; its proofs are kept for the next call.

    Threads may share a solver: their calls wait for each other. Only `stop`, `nodes` and `progress`
    answer at once.

    Args:
        size: rows and columns, 2 to 8. All openings of 5×5 are solved at once, those of 6×6 in less
            than a second, of 7×7 in half a minute or so; some single openings of 8×8 take as long,
            others far longer.
        rows: of the transposition table, 64 bytes each, which begins small; by default enough for
            all openings up to 7×7.
        threads: that search one position with one table. One thread always judges the same number
            of positions.
        use: methods of the search; leave some out to measure their worth.
    """

    def __init__(
        self, size: int, rows: int | None = None, threads: int = 1, use: Ingredients = EVERYTHING
    ) -> None:
        check_numbers(f"[2, {MAX_SIZE}]", size=size)
        check_numbers("[16, inf)", rows=rows)
        check_numbers("[1, inf)", threads=threads)
        super().__init__()
        self.size = size
        self.progress = 0, 0
        """Moves settled, and moves in all, in the latest or present call of `solve`."""
        self.alone = 4_000
        """Nodes of one thread before the others join in: most positions need no more."""
        self.policy: Policy | None = None
        """Of a network, asked for costly positions. It decides what is tried first, never what is
        true.
        """
        self._most_rows = _ROWS.get(size, 1 << 22) if rows is None else rows // 4 * 4
        self._stored = (
            0  # positions judged in all calls: at least the rows of the table that are in use
        )
        self._before = 0  # positions judged in this call, up to the present search
        self._node_limit = _UNLIMITED
        self._works = new_works(size, new_table(min(self._most_rows, _FIRST_ROWS)), use, threads)

    @in_turn
    def solve(self, cells: Int8Array, to_move: int, node_limit: int | None = None) -> Solution:
        """The winner and every winning move.

        Args:
            cells: int8 `[size*size]`, +1 black, -1 white, 0 empty; any numbers of stones.
            to_move: +1 or -1.
            node_limit: give up after this many positions.

        Raises:
            UsageError: the position does not fit this board.
            UnsolvedError: `node_limit` was reached. The proofs so far are kept.
        """
        start = time.perf_counter()
        own, opp = self._frame(cells, to_move)
        over = self._finished(own, opp)
        if over:
            return Solution(over * to_move, (), 0, time.perf_counter() - start)
        self._begin(node_limit)
        other, wins = np.uint64(transpose(opp)), []
        left = np.flatnonzero(self._grid(~(own | opp), to_move)).tolist()
        moves = len(left)
        self.progress = 0, moves
        # First a pass, since no move is worse: if it wins, all moves do; if not, only moves in its
        # refutation can.
        known = self.prove(other, np.uint64(transpose(own)))
        if known.state == LOST:
            wins, left = left, []
        else:
            left = self._among(left, known.cells, to_move)
        self.progress = moves - len(left), moves
        while left:
            move = left.pop(0)
            known = self.prove(other, np.uint64(transpose(own | self._word(move, to_move))))
            if known.state == LOST:
                wins.append(move)
            else:  # moves outside the refutation's carrier are refuted, too
                left = self._among(left, known.cells, to_move)
            self.progress = moves - len(left), moves
        winner = to_move if wins else -to_move
        return Solution(winner, tuple(wins), self.nodes, time.perf_counter() - start)

    def wins(self, cells: Int8Array, to_move: int, node_limit: int | None = None) -> bool:
        """Whether the side to move wins; as `solve`, but stops at the first winning move."""
        return self.proof(cells, to_move, node_limit)[0]

    @in_turn
    def proof(
        self, cells: Int8Array, to_move: int, node_limit: int | None = None
    ) -> tuple[bool, BoolArray]:
        """Whether the side to move wins, and the carrier of the winner, bool `[size*size]`: empty
        cells it needs.
        """
        own, opp = self._frame(cells, to_move)
        over = self._finished(own, opp)
        if over:
            return over == 1, np.zeros(cells.shape, np.bool_)
        self._begin(node_limit)
        known = self.prove(own, opp)
        return known.state == WON, self._grid(known.cells, to_move)

    @in_turn
    def winning_move(
        self, cells: Int8Array, to_move: int, node_limit: int | None = None
    ) -> int | None:
        """One winning cell of an undecided position, the first that was proved; None in a lost one.
        See `solve`.
        """
        own, opp = self._frame(cells, to_move)
        self._begin(node_limit)
        known = self.prove(own, opp)
        if known.state == LOST:
            return None
        if known.proof:
            return self._cell(known.proof, to_move)
        other, left = np.uint64(transpose(opp)), known.cells
        while left:  # a virtual connection, so that each of these moves is soon judged
            move = np.uint64(lowest(left))
            left &= ~move
            after = np.uint64(transpose(own | move))
            if self._finished(other, after) or self.prove(other, after).state == LOST:
                return self._cell(move, to_move)
        raise AssertionError("a won position has a winning move in its carrier")

    @in_turn
    def costs(self, cells: Int8Array, to_move: int) -> Int64Array:
        """Nodes that refuting each move of a lost position has cost in the calls so far,
        `[size*size]`.

        A move that the refutation of another one refutes has cost nothing.
        """
        costs = np.zeros(cells.size, np.int64)
        own, opp = self._frame(cells, to_move)
        for move, _, cost in self.known_moves(own, opp, WON):
            costs[self._cell(move, to_move)] = cost
        return costs

    @in_turn
    def remembered(self, least: int) -> Words:
        """The rows of the table, uint64 `[n, 6]`, whose positions cost at least `least` nodes."""
        return dearest(self._works[0].table, least)

    @in_turn
    def remember(self, rows: Words) -> None:
        """Take over rows of another solver's table for boards of this size.

        Raises:
            UsageError: they are no such rows. A changed bit shows as a position that does not fit
                the board, if it is not one of a stone.
        """
        if rows.ndim != 2 or rows.shape[1] != COLUMNS or rows.dtype != np.uint64:
            raise UsageError(
                f"a table of shape {rows.shape} and type {rows.dtype}: not one of this solver"
            )
        own, opp = positions_in(rows)
        if (own & opp).any() or ((own | opp) & ~full_board(self.size)).any():
            raise UsageError(
                f"a table that is damaged, or of a board of more than {self.size} rows"
            )
        self._grow(ProofTable(rows, np.zeros((1, 1, 2), np.uint64)), len(rows))
        self._stored += len(rows)

    @in_turn
    def forget(self) -> None:
        """Clear the table; the next answer then costs the same whatever was asked before."""
        for words in self._works[0].table:
            words.fill(0)
        self._stored = 0

    def stop(self) -> None:
        """End the call under way in another thread, which raises `UnsolvedError`; its proofs are
        kept.
        """
        self._node_limit = 0
        self._limit(0)

    @property
    def nodes(self) -> int:
        """Positions judged in the latest call, or so far in the one under way in another thread."""
        return self._before + sum(int(work.nodes[0]) for work in self._works)

    def _frame(self, cells: Int8Array, to_move: int) -> tuple[np.uint64, np.uint64]:
        board = np.asarray(cells)
        if board.shape != (self.size * self.size,):
            raise UsageError(
                f"cells of shape {board.shape} do not fit: the solver wants ({self.size * self.size},)"
            )
        if to_move not in (1, -1):
            raise UsageError(f"to_move is {to_move}: it must be +1 (Black) or -1 (White)")
        if not ((board >= -1) & (board <= 1)).all():
            raise UsageError("cells hold a value other than +1 (black), -1 (white) and 0 (empty)")
        board = frame_map(board, to_move, self.size)
        return pack(board == to_move, self.size), pack(board == -to_move, self.size)

    def _grid(self, word: np.uint64, to_move: int) -> BoolArray:
        return frame_map(unpack(int(word), self.size), to_move, self.size)

    def _word(self, cell: int, to_move: int) -> np.uint64:
        row, column = divmod(frame_action(cell, to_move, self.size), self.size)
        return np.uint64(1 << (STRIDE * row + column))

    def _cell(self, move: np.uint64, to_move: int) -> int:
        return int(self._grid(move, to_move).argmax())

    def _finished(self, own: np.uint64, opp: np.uint64) -> int:
        """+1 when the mover has already connected, -1 when the opponent has, 0 while the game is
        open.
        """
        top, bottom = self._works[0].edges.top, int(self._works[0].edges.bottom)
        if int(flood(top, own)) & bottom:
            return 1
        other = np.uint64(transpose(opp))
        return -1 if int(flood(top, other)) & bottom else 0

    def _among(self, moves: list[int], carrier: np.uint64, to_move: int) -> list[int]:
        """Those of the mover's `moves` that lie in the opponent's `carrier`, a word in the
        opponent's frame.
        """
        useful = self._grid(np.uint64(transpose(carrier)), to_move)
        return [cell for cell in moves if useful[cell]]

    def _begin(self, node_limit: int | None) -> None:
        check_numbers("[1, inf)", node_limit=node_limit)
        self._before = 0
        self._node_limit = _UNLIMITED if node_limit is None else node_limit

    def _limit(self, nodes: int) -> None:
        """Let every search under way end after so many nodes."""
        for work in self._works:
            work.nodes[1] = nodes

    @in_turn
    def prove(self, own: np.uint64, opp: np.uint64) -> Knowledge:
        """Knowledge of a position, `own` the mover's words, within the present node limit; the
        table may grow.
        """
        alone, idle = True, 0
        while True:
            rows, judged = len(self._works[0].table.positions), self.nodes
            left = max(rows // 2 - self._stored, 0) if rows < self._most_rows else _UNLIMITED
            left = min(self._node_limit - judged, left)
            works = self._works[:1] if alone else self._works
            if alone and len(self._works) > 1:
                left = min(left, self.alone)
            self._before = judged
            for work in self._works:
                work.nodes[:] = 0, -(-left // len(works))
                work.left[work.thread] = NO_PLY
                # Priors that push each other out of a full table would be asked for again and
                # again: then none is.
                work.asked[:] = self.policy is not None and idle <= self.size**2, 0, 0
            if self._node_limit == 0:
                self._limit(0)  # `stop` was called in between

            def search(first: int, _: int, works: list[Work] = works) -> Knowledge:
                state, phi, delta, cells, proof = prove(own, opp, works[first])
                self._limit(0)
                return Knowledge(state, phi, delta, np.uint64(cells), np.uint64(proof))

            results = over_slices(search, len(works), len(works))
            self._stored += self.nodes - judged
            idle = idle + 1 if self.nodes == judged else 0  # searches in a row that only asked
            for known in results:
                if known.state != UNSOLVED:
                    return known
            if self.nodes >= self._node_limit:
                raise UnsolvedError(f"unsolved after {self.nodes} nodes")
            alone = False
            for work in works:
                if self.policy and work.asked[0] == 2:
                    mine, theirs = (
                        unpack(int(word), self.size).astype(np.int8) for word in work.asked[1:]
                    )
                    moves = self.policy(mine - theirs)
                    likely, possible = (
                        pack(moves >= share * moves.max(), self.size) for share in _SHARES
                    )
                    store_prior((likely, possible), work)
            if rows < self._most_rows and self._stored >= rows // 2:
                self._grow(self._works[0].table, rows)

    @in_turn
    def known_moves(self, own: np.uint64, opp: np.uint64, state: int) -> Words:
        """The moves after which the other side is known to be in `state`, uint64 `[n, 3]`; see
        `proof.known_moves`.
        """
        work = self._works[0]
        empty = work.edges.board & ~(own | opp)
        moves = np.zeros((STRIDE * STRIDE, 3), np.uint64)
        count = known_moves(own, opp, empty, state, work, moves)
        return moves[:count]

    def _grow(self, table: ProofTable, rows: int) -> None:
        """Go on with a table larger than `rows` that knows what `table` does."""
        wanted = max(rows, _FIRST_ROWS) * _TABLE_GROWTH // 4 * 4
        larger = new_table(min(wanted, self._most_rows))
        copy(table, larger)
        self._works = [work._replace(table=larger) for work in self._works]
