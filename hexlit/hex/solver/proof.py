"""Proving the value of a Hex position: depth-first proof-number search with carriers.

This is df-pn (Nagai 2002) in the form of Arneson, Hayward and Henderson ("Solving Hex: beyond humans", 2010) for Hex.
The most proving position is searched next, few replies at a time (*widening*). Virtual connections end most branches.
Every result comes with its *carrier*, the empty cells that the winner's strategy uses. When a move is refuted, every
move outside the refutation's carrier is refuted, too. So the moves still to be tried, the *must-play* region, shrink to
its cells (Hayward et al., "Solving 7×7 Hex: Virtual connections and game-state reduction", 2003). Once none is left the
mover has lost, and the union of the carriers proves it.

Cells that cannot matter are filled in first (`hexlit.hex.solver.moves`); only filled positions are searched and
remembered. Adding the cells that the winner captured turns a carrier into one of the position itself.

Boards are words as in `hexlit.hex.solver.bitboard`, always in the mover's frame: `own` connects top to bottom, and the
position after a move is seen with row and column exchanged.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hexlit.hex.jit import inline, uncounted_kernel
from hexlit.hex.solver.bitboard import MAX_SIZE, ONE, STRIDE, ZERO, Words, count, rotate, transpose
from hexlit.hex.solver.connection import FULL, NOTHING, Connections, connect, new_connections
from hexlit.hex.solver.moves import LAYERS, Edges, edges, fill_in, inferior_moves, order

LOST, WON, UNSOLVED = 0, 1, 2  # for the player to move

INFINITE = (1 << 22) - 1
"""Proof and disproof numbers are below this."""

# The value column holds 1 + state in two bits, and both numbers in 22 bits each; 0 is an empty row.
_OWN, _OPP, _VALUE, _CELLS, _PROOF, _COST, COLUMNS = 0, 1, 2, 3, 4, 5, 6
_PROBES = 4  # neighbouring rows that a position may stand in
_STATE, _NUMBER = np.uint64(3), np.uint64(INFINITE)
_PHI_AT, _DELTA_AT = np.uint64(2), np.uint64(24)

_HASH_A = np.uint64(0x9E3779B97F4A7C15)
_HASH_B = np.uint64(0xC2B2AE3D27D4EB4F)
_S29, _S32 = np.uint64(29), np.uint64(32)
_BUCKET = np.uint64(_PROBES)


class Knowledge(NamedTuple):
    """Knowledge of a position."""

    state: int
    """LOST, WON or UNSOLVED."""
    phi: int
    """The proof number (UNSOLVED): least number of positions still to be proved for the mover to win."""
    delta: int
    """The disproof number: the same for the mover to lose."""
    cells: np.uint64
    """If solved, the carrier of the winner's strategy; else the moves that are not refuted."""
    proof: np.uint64
    """If UNSOLVED, the union of the carriers that refute the other moves."""


def new_table(rows: int) -> Words:
    """An empty table; `rows` is a power of two, at least 16."""
    return np.zeros((rows, COLUMNS), np.uint64)


@uncounted_kernel
def solved(state: int, carrier: np.uint64) -> Knowledge:
    """Knowledge of a won or lost position, with the winner's `carrier`."""
    return Knowledge(state, 0, 0, carrier, ZERO)


@uncounted_kernel
def _first_row(table: Words, own: np.uint64, opp: np.uint64) -> int:
    key = own * _HASH_A ^ (opp + _HASH_A) * _HASH_B
    key ^= key >> _S29
    key *= _HASH_B
    key ^= key >> _S32
    return np.int64(key % (np.uint64(table.shape[0]) // _BUCKET) * _BUCKET)  # type: ignore[return-value]


@uncounted_kernel
def find(table: Words, own: np.uint64, opp: np.uint64, spare: np.uint64) -> tuple[bool, Knowledge]:
    """Whether the position is in the table, and the knowledge of it."""
    turned_own, turned_opp = rotate(own, spare), rotate(opp, spare)
    turned = turned_own < own or (turned_own == own and turned_opp < opp)
    if turned:
        own, opp = turned_own, turned_opp
    first = _first_row(table, own, opp)
    for i in range(first, first + _PROBES):
        row = table[i]
        if row[_VALUE] == ZERO:
            break
        if row[_OWN] == own and row[_OPP] == opp:
            cells = rotate(row[_CELLS], spare) if turned else row[_CELLS]
            proof = rotate(row[_PROOF], spare) if turned else row[_PROOF]
            phi, delta = (row[_VALUE] >> _PHI_AT) & _NUMBER, (row[_VALUE] >> _DELTA_AT) & _NUMBER
            state = np.int64((row[_VALUE] & _STATE) - ONE)
            return True, Knowledge(state, np.int64(phi), np.int64(delta), cells, proof)  # type: ignore[arg-type]
    return False, Knowledge(UNSOLVED, 1, 1, ZERO, ZERO)


@uncounted_kernel
def store(table: Words, own: np.uint64, opp: np.uint64, spare: np.uint64, known: Knowledge, cost: int) -> None:
    """Store the knowledge gained by `cost` more nodes; if its rows are taken, the one that cost least gives way."""
    turned_own, turned_opp = rotate(own, spare), rotate(opp, spare)
    cells, proof = known.cells, known.proof
    if turned_own < own or (turned_own == own and turned_opp < opp):
        own, opp, cells, proof = turned_own, turned_opp, rotate(cells, spare), rotate(proof, spare)
    first = _first_row(table, own, opp)
    victim = first
    before = ZERO
    for i in range(first, first + _PROBES):
        row = table[i]
        if row[_VALUE] == ZERO or (row[_OWN] == own and row[_OPP] == opp):
            victim = i
            before = row[_COST]
            break
        if row[_COST] < table[victim, _COST]:
            victim = i
    row = table[victim]
    row[_OWN], row[_OPP] = own, opp
    row[_VALUE] = np.uint64(known.state + 1) | np.uint64(known.phi) << _PHI_AT | np.uint64(known.delta) << _DELTA_AT
    row[_CELLS], row[_PROOF] = cells, proof
    row[_COST] = before + np.uint64(cost)


@uncounted_kernel
def copy(table: Words, larger: Words) -> None:
    """Keep a table's rows in an empty `larger` one; if there is no place, the one that cost least gives way."""
    for i in range(table.shape[0]):
        row = table[i]
        if row[_VALUE] == ZERO:
            continue
        first = _first_row(larger, row[_OWN], row[_OPP])
        place = first
        for j in range(first, first + _PROBES):
            if larger[j, _VALUE] == ZERO:
                place = j
                break
            if larger[j, _COST] < larger[place, _COST]:
                place = j
        for column in range(COLUMNS):
            larger[place, column] = row[column]


_READY = 3  # beside LOST, WON and UNSOLVED: a frame was begun, and its moves are to be searched

_MOST_CELLS = MAX_SIZE * MAX_SIZE

_FIRST_MOVES = 1  # searched at once, besides a share of the others
_SHARE_OF_MOVES = 0.25
_SLACK = 0.1  # a move is left when its disproof number passes that of the next best by this share


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
        ("refuted", np.bool_),
    ]
)
"""A move of such a position."""


class Work(NamedTuple):
    """Data that the kernels share: the board, the table, and working space."""

    size: int
    edges: Edges
    spare: np.uint64  # see `hexlit.hex.solver.bitboard.rotate`
    use: Ingredients
    table: Words  # [rows, 6]
    connections: Connections
    frame: Any  # FRAME [65], one per ply
    move: Any  # MOVE [65, 64]
    order: Words  # [64]
    layers: Words  # [4, 12]
    scores: npt.NDArray[np.int64]  # [64]
    nodes: npt.NDArray[np.int64]  # [2]: positions judged so far, and the number at which the search gives up


def new_work(size: int, table_bits: int, use: Ingredients) -> Work:
    """An empty table of 2**table_bits rows and the room to search boards of `size`."""
    return Work(
        size=size,
        edges=edges(size),
        spare=np.uint64((STRIDE + 1) * (STRIDE - size)),
        use=use,
        table=new_table(1 << table_bits),
        connections=new_connections(size),
        frame=np.zeros(_MOST_CELLS + 1, FRAME),
        move=np.zeros((_MOST_CELLS + 1, _MOST_CELLS), MOVE),
        order=np.zeros(_MOST_CELLS, np.uint64),
        layers=np.zeros((4, LAYERS), np.uint64),
        scores=np.zeros(_MOST_CELLS, np.int64),
        nodes=np.zeros(2, np.int64),
    )


@inline
def _judge(own: np.uint64, opp: np.uint64, ply: int, w: Work) -> Knowledge:
    """The winner of a position by virtual connections, or the moves that the mover must choose from.

    The mover's own connections are built at the root only. Deeper, the move before has met all of them, and the few
    that are found cost more than they save.
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
        result, carrier, common, union = connect(own, empty, sides.top, sides.bottom, w.use.or_rule, w.connections)
        if result != NOTHING:
            return solved(WON, carrier)
    return Knowledge(UNSOLVED, 1, 1, must, proof)


@inline
def _fill_in(own: np.uint64, opp: np.uint64, w: Work) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    if w.use.fill_in:
        return fill_in(own, opp, w.edges)
    return own, opp, ZERO, ZERO


@inline
def _width(moves: int, w: Work) -> int:
    """Number of moves that are searched at once."""
    return _FIRST_MOVES + int(np.ceil(_SHARE_OF_MOVES * moves)) if w.use.widening else moves


@inline
def _begin(own: np.uint64, opp: np.uint64, ply: int, most_phi: int, most_delta: int, w: Work) -> Knowledge:
    """Begin the search of a filled position in frame `ply`; its state is _READY unless it is known already."""
    start = w.nodes[0]
    seen, known = find(w.table, own, opp, w.spare)
    if not seen:
        known = _judge(own, opp, ply, w)
    if known.state != UNSOLVED:
        if not seen:
            store(w.table, own, opp, w.spare, known, 1)
        return known
    must, proof = known.cells, known.proof
    needless, replies = ZERO, ZERO
    if w.use.inferior:
        needless, replies = inferior_moves(own, opp, must, w.edges)
    if not seen:
        known = Knowledge(UNSOLVED, 1, _width(count(must & ~needless), w), must, proof)
        store(w.table, own, opp, w.spare, known, 1)
    if known.phi >= most_phi or known.delta >= most_delta:
        return known
    frame = w.frame[ply]
    frame.own, frame.opp, frame.must, frame.proof = own, opp, must, proof | replies
    frame.most_phi, frame.most_delta, frame.start = most_phi, most_delta, start
    empty = w.edges.board & ~(own | opp)
    frame.moves = order(own, opp, empty, must & ~needless, w.size, w.order, w.layers, w.scores)
    other = transpose(opp)
    for i in range(frame.moves):
        move = w.move[ply, i]
        move.cell = w.order[i]
        move.own, move.opp, move.own_captured, move.opp_captured = _fill_in(other, transpose(own | move.cell), w)
        move.refuted = False
        _, reply = find(w.table, move.own, move.opp, w.spare)
        known = _learn(ply, i, reply, w)
        if known.state != _READY:
            return known
    return Knowledge(_READY, 1, 1, ZERO, ZERO)


@inline
def _learn(ply: int, i: int, reply: Knowledge, w: Work) -> Knowledge:
    """Take in the knowledge of the position after move `i` of frame `ply`; the move may win."""
    frame, move = w.frame[ply], w.move[ply, i]
    if reply.state == LOST:
        return _end(ply, solved(WON, transpose(reply.cells | move.opp_captured) | move.cell), w)
    if reply.state == WON:
        carrier = transpose(reply.cells | move.own_captured)
        move.refuted = True
        frame.proof |= carrier
        frame.must &= carrier if w.use.carriers else ~move.cell
    move.phi, move.delta = reply.phi, reply.delta
    return Knowledge(_READY, 1, 1, ZERO, ZERO)


@inline
def _end(ply: int, known: Knowledge, w: Work) -> Knowledge:
    """Store the knowledge of the position of a frame, and return it."""
    frame = w.frame[ply]
    store(w.table, frame.own, frame.opp, w.spare, known, w.nodes[0] - frame.start)
    return known


@inline
def _select(ply: int, w: Work) -> tuple[Knowledge, int, int]:
    """Choose the move of a frame that is to be searched next, and the bounds of its search.

    Its state is _READY, unless the position is lost or one of its numbers has reached the bound.
    """
    frame = w.frame[ply]
    open_moves = 0
    for i in range(frame.moves):
        open_moves += not w.move[ply, i].refuted and w.move[ply, i].cell & frame.must != ZERO
    width = _width(open_moves, w)
    best, looked_at = -1, 0
    least, second, total = INFINITE, INFINITE, 0
    for i in range(frame.moves):
        move = w.move[ply, i]
        if looked_at == width:
            break
        if move.refuted or move.cell & frame.must == ZERO:
            continue
        looked_at += 1
        total += move.phi
        if move.delta < least:
            best, least, second = i, move.delta, least
        elif move.delta < second:
            second = move.delta
    if best < 0:
        # The rest of the must-play region are moves that need no search.
        return _end(ply, solved(LOST, frame.proof), w), 0, 0
    total = min(total, INFINITE - 1)
    if least >= frame.most_phi or total >= frame.most_delta or w.nodes[0] >= w.nodes[1]:
        return _end(ply, Knowledge(UNSOLVED, least, total, frame.must, frame.proof), w), 0, 0
    frame.chosen = best
    most_phi = min(frame.most_delta - total + w.move[ply, best].phi, INFINITE)
    most_delta = min(frame.most_phi, second + 1 + int(_SLACK * second))
    return Knowledge(_READY, 1, 1, ZERO, ZERO), most_phi, most_delta


@uncounted_kernel
def prove(own: np.uint64, opp: np.uint64, w: Work) -> tuple[int, np.uint64]:
    """The state of an unfinished position and its winner's carrier; UNSOLVED when the nodes are used up.

    It is a loop over the frames, because Numba cannot reload a recursive kernel from its cache.
    """
    own, opp, own_captured, opp_captured = _fill_in(own, opp, w)
    ply, most_phi, most_delta = 0, INFINITE, INFINITE
    known = Knowledge(_READY, 1, 1, ZERO, ZERO)
    entering = True
    while True:
        if entering:
            known = _begin(own, opp, ply, most_phi, most_delta, w)
            entering = False
        elif known.state == _READY:
            known, most_phi, most_delta = _select(ply, w)
            if known.state == _READY:
                move = w.move[ply, w.frame[ply].chosen]
                own, opp = move.own, move.opp
                ply += 1
                entering = True
        elif ply > 0:
            ply -= 1
            known = _learn(ply, w.frame[ply].chosen, known, w)
        elif known.state == UNSOLVED:
            return UNSOLVED, ZERO
        else:
            return known.state, known.cells | (own_captured if known.state == WON else opp_captured)
