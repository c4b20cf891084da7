"""Proving the value of a Hex position: depth-first proof-number search with carriers.

This is df-pn (Nagai 2002) in the form of Arneson, Hayward and Henderson ("Solving Hex: beyond
humans", 2010) for Hex. The most proving position is searched next, few replies at a time
(*widening*). The choice between them is by disproof numbers, which count the more, the lower a
move's score is. Virtual connections end most branches. Every result comes with its *carrier*, the
empty cells that the winner's strategy uses. When a move is refuted, every move outside the
refutation's carrier is refuted, too. So the moves still to be tried, the *must-play* region, shrink
to its cells (Hayward et al., "Solving 7×7 Hex: Virtual connections and game-state reduction",
2003). Once none is left the mover has lost, and the union of the carriers proves it.

Cells that cannot matter are filled in first (`hexlit.hex.solver.moves`); only filled positions are
searched and remembered. Adding the cells that the winner captured turns a carrier into one of the
position itself.

A carrier proves more than its position: the same stones win wherever its cells are free of the
other side. So a position that is new is first compared with the carriers known for the stones of
either side.

Threads search the same position with one table. Each sees the paths of the others, keeps away from
the moves that they are searching where others are about as good, and leaves a position that another
has solved, as in Pawlewicz and Hayward, "Scalable parallel DFPN search" (2013).

The order of the moves may also follow a *prior*, the policy of a network. A search asks for that of
a position once it has cost some nodes, and ends; its caller stores the prior in the table, and
begins again.

Boards are words as in `hexlit.hex.solver.bitboard`, always in the mover's frame: `own` connects top
to bottom, and the position after a move is seen with row and column exchanged.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hexlit.hex.arrays import Int64Array
from hexlit.hex.jit import inline, uncounted_device_function, uncounted_kernel
from hexlit.hex.solver.bitboard import MAX_SIZE, STRIDE, ZERO, Words, count, lowest, transpose
from hexlit.hex.solver.connection import FULL, NOTHING, Connections, connect, new_connections
from hexlit.hex.solver.moves import Edges, edges, fill_in, inferior_moves
from hexlit.hex.solver.order import Ordering, Prior, new_ordering, order
from hexlit.hex.solver.table import (
    INFINITE,
    LOST,
    UNSOLVED,
    WON,
    Knowledge,
    ProofTable,
    cost_of,
    find,
    keep,
    look_up,
    solved,
    store,
)

_READY = 3  # next to LOST, WON and UNSOLVED: a frame was begun, and its moves are to be searched

_MOST_CELLS = MAX_SIZE * MAX_SIZE
NO_PLY = _MOST_CELLS + 1

_FIRST_MOVES = 1  # searched at once, besides a share of the others
_SHARE_OF_MOVES = 0.25
_KEPT_AWAY = (
    1.0  # share that each thread which searches a move adds to its disproof number for the others
)
_SLACK = 0.1  # a move is left when its disproof number passes that of the next best by this share
_BIAS, _BIAS_WITH_PRIOR = (
    0.1,
    0.3,
)  # shares that each point of score less adds to a move's disproof number
_COSTLY = 1_000  # nodes of a position before a prior is asked for


class Ingredients(NamedTuple):
    """Methods of the search; without any of them the answers are the same, but take longer."""

    fill_in: bool = True
    """Dead and captured cells get an owner."""
    inferior: bool = True
    """Vulnerable and dominated moves are left out."""
    or_rule: bool = True
    """Virtual connections made of several alternatives, not only chains of bridges."""
    must_play: bool = True
    """Only moves that meet the opponent's threats are tried."""
    carriers: bool = True
    """A refutation also refutes the moves outside its carrier."""
    widening: bool = True
    """The best moves are searched first, not all at once."""
    stones: bool = True
    """A carrier that won with the same stones wins again wherever its cells are free."""


EVERYTHING = Ingredients()


FRAME = np.dtype(
    [
        ("own", np.uint64),
        ("opp", np.uint64),
        ("must", np.uint64),  # moves not refuted
        ("proof", np.uint64),  # carriers of the refutations
        ("most_phi", np.int64),  # the search of the position ends when a number reaches its bound
        ("most_delta", np.int64),
        ("moves", np.int64),  # how many
        ("chosen", np.int64),  # the one that is searched
        ("start", np.int64),  # nodes when it began
    ]
)
"""A position under way."""

MOVE = np.dtype(
    [
        ("cell", np.uint64),
        ("own", np.uint64),  # the position after it, filled in, in the frame of its mover
        ("opp", np.uint64),
        ("own_captured", np.uint64),  # what was captured in filling it in
        ("opp_captured", np.uint64),
        ("phi", np.int64),  # of the position after it
        ("delta", np.int64),
        ("factor", np.float64),  # of delta in the choice of a move; 1 for the best score
        ("refuted", np.bool_),
    ]
)
"""A move of such a position."""


class Work(NamedTuple):
    """Data of the kernels: the board, what the threads share, and the working space of one of them."""

    size: int
    edges: Edges
    spare: np.uint64  # see `hexlit.hex.solver.bitboard.rotate`
    use: Ingredients
    table: ProofTable
    # [threads, 66, 2]: the positions under way, by ply; two words of 0 where there is none
    paths: Words
    left: npt.NDArray[
        np.int64
    ]  # [threads]: ply of a position that another thread has solved, else NO_PLY
    thread: int
    connections: Connections
    frame: Any  # FRAME [65], one per ply
    move: Any  # MOVE [65, 64]
    ordering: Ordering
    nodes: npt.NDArray[
        np.int64
    ]  # [2]: positions judged so far, and the number at which the search gives up
    # [3]: 0 without priors, 1 with them, 2 if the search asks for that of a position; and its words
    asked: Words


def new_works(size: int, table: ProofTable, use: Ingredients, threads: int) -> list[Work]:
    """The room of each thread to search boards of `size` with one `table`."""
    paths, left = (
        np.zeros((threads, _MOST_CELLS + 2, 2), np.uint64),
        np.full(threads, NO_PLY, np.int64),
    )
    return [
        Work(
            size=size,
            edges=edges(size),
            spare=np.uint64((STRIDE + 1) * (STRIDE - size)),
            use=use,
            table=table,
            paths=paths,
            left=left,
            thread=thread,
            connections=new_connections(size),
            frame=np.zeros(_MOST_CELLS + 1, FRAME),
            move=np.zeros((_MOST_CELLS + 1, _MOST_CELLS), MOVE),
            ordering=new_ordering(size),
            nodes=np.zeros(2, np.int64),
            asked=np.zeros(3, np.uint64),
        )
        for thread in range(threads)
    ]


@inline
def _judge(own: np.uint64, opp: np.uint64, ply: int, w: Work) -> Knowledge:
    """The winner of a position by virtual connections, or the moves that the mover must choose
    from.

    The mover's own connections are built at the root only. Deeper, the move before has met all of
    them, and the few that are found cost more than they save.
    """
    sides = w.edges
    empty = sides.board & ~(own | opp)
    w.nodes[0] += 1
    result, carrier, common, union = connect(
        transpose(opp), transpose(empty), sides.top, sides.bottom, w.use.or_rule, w.connections
    )
    if result == FULL:
        return solved(LOST, transpose(carrier))
    must, proof = empty, ZERO
    if result != NOTHING and w.use.must_play:
        must, proof = transpose(common), transpose(union)
    if ply == 0 or not w.use.must_play:
        result, carrier, common, union = connect(
            own, empty, sides.top, sides.bottom, w.use.or_rule, w.connections
        )
        if result != NOTHING:
            return solved(WON, carrier)
    return Knowledge(UNSOLVED, 1, 1, must, proof)


@inline
def _fill_in(
    own: np.uint64, opp: np.uint64, w: Work
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    if w.use.fill_in:
        return fill_in(own, opp, w.edges)
    return own, opp, ZERO, ZERO


@uncounted_device_function
def _width(moves: int, w: Work) -> int:
    """Number of moves that are searched at once."""
    return _FIRST_MOVES + int(np.ceil(_SHARE_OF_MOVES * moves)) if w.use.widening else moves


@inline
def _begin(
    own: np.uint64, opp: np.uint64, ply: int, most_phi: int, most_delta: int, w: Work
) -> Knowledge:
    """Begin the search of a filled position in frame `ply`; its state is _READY unless enough is
    known already.
    """
    start = w.nodes[0]
    seen, known = look_up(w.table, own, opp, w.spare, w.use.stones)
    if not seen:
        known = _judge(own, opp, ply, w)
    if known.state != UNSOLVED:
        if not seen:
            keep(w.table, own, opp, w.spare, known, 1, w.use.stones)
        return known
    must, proof = known.cells, known.proof
    needless, replies = ZERO, ZERO
    if w.use.inferior:
        needless, replies = inferior_moves(own, opp, must, w.edges)
    if not seen:
        known = Knowledge(UNSOLVED, 1, _width(count(must & ~needless), w), must, proof)
        keep(w.table, own, opp, w.spare, known, 1, w.use.stones)
    if known.phi >= most_phi or known.delta >= most_delta:
        return known
    empty = w.edges.board & ~(own | opp)
    prior, bias = (empty, empty), _BIAS
    if w.asked[0] and cost_of(w.table.positions, own, opp, w.spare) >= _COSTLY:
        answered, answer = find(w.table.positions, own | opp, w.edges.board & ~own, w.spare)
        if not answered:
            w.asked[0], w.asked[1], w.asked[2], w.nodes[1] = 2, own, opp, 0
            return known
        prior, bias = (answer.cells, answer.proof), _BIAS_WITH_PRIOR
    frame = w.frame[ply]
    frame.own, frame.opp, frame.must, frame.proof = own, opp, must, proof | replies
    frame.most_phi, frame.most_delta, frame.start = most_phi, most_delta, start
    w.paths[w.thread, ply, 0], w.paths[w.thread, ply, 1] = own, opp
    frame.moves = order(own, opp, empty, must & ~needless, prior, w.ordering)
    moves, scores = w.ordering.moves, w.ordering.scores
    for i in range(frame.moves):
        move = w.move[ply, i]
        move.cell, move.refuted, move.factor = moves[i], False, 1 + bias * (scores[0] - scores[i])
    frame.chosen = -1
    return Knowledge(_READY, 1, 1, ZERO, ZERO)


@uncounted_device_function
def _learn(ply: int, i: int, reply: Knowledge, w: Work) -> Knowledge:
    """Take in the knowledge of the position after move `i` of frame `ply`; the move may win."""
    frame, move = w.frame[ply], w.move[ply, i]
    if reply.state == LOST:
        return Knowledge(
            WON, 0, 0, transpose(reply.cells | move.opp_captured) | move.cell, move.cell
        )
    if reply.state == WON:
        carrier = transpose(reply.cells | move.own_captured)
        move.refuted = True
        frame.proof |= carrier
        frame.must &= carrier if w.use.carriers else ~move.cell
    move.phi, move.delta = reply.phi, reply.delta
    return Knowledge(_READY, 1, 1, ZERO, ZERO)


@uncounted_kernel
def _leave(paths: Words, left: Int64Array, thread: int, ply: int, is_solved: bool) -> None:
    """Take a position off the path of a thread; if it is solved, `left` stops the others there."""
    for other in range(len(left)):
        same = (
            paths[other, ply, 0] == paths[thread, ply, 0]
            and paths[other, ply, 1] == paths[thread, ply, 1]
        )
        if is_solved and same and other != thread and ply < left[other]:
            left[other] = ply
    paths[thread, ply, 0], paths[thread, ply, 1] = ZERO, ZERO


@uncounted_kernel
def _others_at(paths: Words, thread: int, ply: int, own: np.uint64, opp: np.uint64) -> int:
    """How many threads other than `thread` search a position at a ply."""
    number = 0
    for other in range(paths.shape[0]):
        number += other != thread and paths[other, ply, 0] == own and paths[other, ply, 1] == opp
    return number


@inline
def _read(ply: int, w: Work) -> tuple[Knowledge, bool]:
    """Look up the moves of a frame that has just begun, or that another thread searches, too.

    Also returns whether another thread searches it.
    """
    frame, known = w.frame[ply], Knowledge(_READY, 1, 1, ZERO, ZERO)
    fresh = frame.chosen < 0
    shared = _others_at(w.paths, w.thread, ply, frame.own, frame.opp) > 0
    if w.left[w.thread] == ply:
        w.left[w.thread] = NO_PLY
        shared = True
    if shared:
        _, now = look_up(w.table, frame.own, frame.opp, w.spare, w.use.stones)
        if now.state != UNSOLVED:
            return now, True
    if fresh or shared:
        other = transpose(frame.opp)
        for i in range(frame.moves):
            move = w.move[ply, i]
            if fresh:
                after = transpose(frame.own | move.cell)
                move.own, move.opp, move.own_captured, move.opp_captured = _fill_in(other, after, w)
            elif move.refuted or move.cell & frame.must == ZERO:
                continue
            seen, reply = look_up(w.table, move.own, move.opp, w.spare, w.use.stones)
            if fresh or seen:
                known = _learn(ply, i, reply, w)
            if known.state != _READY:
                break
    return known, shared


@inline
def _select(ply: int, w: Work) -> tuple[Knowledge, int, int]:
    """Choose the move of a frame that is to be searched next, and the bounds of its search.

    Its state is _READY, unless the position is solved or one of its numbers has reached the bound.
    """
    frame = w.frame[ply]
    known, shared = _read(ply, w)
    if known.state != _READY:
        return known, 0, 0
    open_moves = 0
    for i in range(frame.moves):
        open_moves += not w.move[ply, i].refuted and w.move[ply, i].cell & frame.must != ZERO
    width = _width(open_moves, w)
    best, looked_at = -1, 0
    least, first, second, total = INFINITE, INFINITE, INFINITE, 0
    for i in range(frame.moves):
        move = w.move[ply, i]
        if looked_at == width:
            break
        if move.refuted or move.cell & frame.must == ZERO:
            continue
        looked_at += 1
        total += move.phi
        least = min(least, move.delta)
        cost = move.delta
        if cost < frame.most_phi:  # one that can still be searched stays so
            busy = _others_at(w.paths, w.thread, ply + 1, move.own, move.opp) if shared else 0
            cost = int(cost * move.factor)
            cost = min(cost + busy * (1 + int(_KEPT_AWAY * cost)), frame.most_phi - 1)
        if best < 0 or cost < first:
            best, first, second = i, cost, first
        elif cost < second:
            second = cost
    if best < 0:
        # The rest of the must-play region are moves that need no search.
        return solved(LOST, frame.proof), 0, 0
    total = min(total, INFINITE - 1)
    if (
        least >= frame.most_phi
        or total >= frame.most_delta
        or w.nodes[0] >= w.nodes[1]
        or w.left[w.thread] < ply
    ):
        return Knowledge(UNSOLVED, least, total, frame.must, frame.proof), 0, 0
    frame.chosen = best
    move = w.move[ply, best]
    most_phi, second = min(frame.most_delta - total + move.phi, INFINITE), int(second / move.factor)
    most_delta = min(frame.most_phi, max(second + int(_SLACK * second), move.delta) + 1)
    return Knowledge(_READY, 1, 1, ZERO, ZERO), most_phi, most_delta


@uncounted_kernel
def prove(own: np.uint64, opp: np.uint64, w: Work) -> tuple[int, int, int, np.uint64, np.uint64]:
    """The parts of the `Knowledge` of an unfinished position; UNSOLVED when the nodes are used up.

    It is a loop over the frames, because Numba cannot reload a recursive kernel from its cache. A
    named tuple would be made by Python code, which Ctrl-C interrupts, and then Numba crashes.
    """
    own, opp, own_captured, opp_captured = _fill_in(own, opp, w)
    ply, most_phi, most_delta = 0, INFINITE, INFINITE
    known = Knowledge(_READY, 1, 1, ZERO, ZERO)
    entering, ending = True, False
    while True:
        if entering:
            known = _begin(own, opp, ply, most_phi, most_delta, w)
            entering = False
        elif ending:
            frame = w.frame[ply]
            keep(
                w.table,
                frame.own,
                frame.opp,
                w.spare,
                known,
                w.nodes[0] - frame.start,
                w.use.stones,
            )
            _leave(w.paths, w.left, w.thread, ply, known.state != UNSOLVED)
            ending = False
        elif known.state == _READY:
            known, most_phi, most_delta = _select(ply, w)
            ending = known.state != _READY
            if not ending:
                move = w.move[ply, w.frame[ply].chosen]
                own, opp = move.own, move.opp
                ply += 1
                entering = True
        elif ply > 0:
            ply -= 1
            known = _learn(ply, w.frame[ply].chosen, known, w)
            ending = known.state != _READY
        elif known.state == UNSOLVED:
            return known.state, known.phi, known.delta, known.cells, known.proof
        else:
            captured = own_captured if known.state == WON else opp_captured
            return known.state, 0, 0, known.cells | captured, known.proof


def store_prior(prior: Prior, w: Work) -> None:
    """Store the prior of the position that a search has asked for, in a row that no position has.

    It is the row of a full board, or of one on which both sides have the same cells.
    """
    _, own, opp = w.asked
    store(
        w.table.positions,
        own | opp,
        w.edges.board & ~own,
        w.spare,
        Knowledge(UNSOLVED, 1, 1, *prior),
        _COSTLY,
    )


@uncounted_kernel
def known_moves(
    own: np.uint64, opp: np.uint64, cells: np.uint64, state: int, w: Work, found: Words
) -> int:
    """The moves of `cells` after which the other side is known to be in `state`; returns how many.

    `found` [64, 3] gets each move, the carrier of the winner, and the nodes that the position after
    it has cost.
    """
    number = 0
    while cells:
        cell = lowest(cells)
        cells &= ~cell
        own_after, opp_after, own_captured, opp_captured = _fill_in(
            transpose(opp), transpose(own | cell), w
        )
        seen, known = look_up(w.table, own_after, opp_after, w.spare, w.use.stones)
        if seen and known.state == state:
            captured = own_captured if state == WON else opp_captured
            found[number, 0], found[number, 1] = cell, transpose(known.cells | captured)
            found[number, 2] = cost_of(w.table.positions, own_after, opp_after, w.spare)
            number += 1
    return number
