"""The memory of the solver: knowledge of positions, and carriers that win with given stones.

A table may be shared by threads without locks. Words of a row are written one by one; each key is
stored combined with the words that it belongs to, so that a row torn by two writers matches no
position (Hyatt and Mann, "A lock-free transposition table implementation", 2002).
"""

from typing import NamedTuple

import numpy as np

from hexlit.hex.jit import inline, uncounted_kernel
from hexlit.hex.solver.bitboard import ONE, ZERO, Words, rotate, transpose

LOST, WON, UNSOLVED = 0, 1, 2  # for the player to move

INFINITE = (1 << 22) - 1
"""Proof and disproof numbers are below this."""

# The value column holds 1 + state in two bits, and both numbers in 22 bits each; 0 is an empty row.
_OWN, _OPP, _VALUE, _CELLS, _PROOF, _COST, COLUMNS = 0, 1, 2, 3, 4, 5, 6
_PROBES = 4  # neighbouring rows that a position may stand in
_STATE, _NUMBER = np.uint64(3), np.uint64(INFINITE)
_PHI_AT, _DELTA_AT = np.uint64(2), np.uint64(24)

_WAYS = 8  # carriers in a row of theirs
_ROWS_A_ROW = 8  # rows of positions for one of carriers
ROW_BYTES = 8 * (COLUMNS + 2 * _WAYS // _ROWS_A_ROW)
"""Memory of a position with its share of the carriers."""

_HASH_A = np.uint64(0x9E3779B97F4A7C15)
_HASH_B = np.uint64(0xC2B2AE3D27D4EB4F)
_S29, _S32 = np.uint64(29), np.uint64(32)
_BUCKET = np.uint64(_PROBES)


class Knowledge(NamedTuple):
    """Knowledge of a position."""

    state: int
    """LOST, WON or UNSOLVED."""
    phi: int
    """The proof number (UNSOLVED): least number of positions still to be proved for the mover to
    win.
    """
    delta: int
    """The disproof number: the same for the mover to lose."""
    cells: np.uint64
    """If solved, the carrier of the winner's strategy; else the moves that are not refuted."""
    proof: np.uint64
    """If UNSOLVED, the union of the carriers that refute the other moves; if WON, the move, empty
    if not known.
    """


class ProofTable(NamedTuple):
    """Rows of knowledge."""

    positions: Words  # [rows, 6]
    carriers: Words  # [rows / 8, 8, 2]


def new_table(rows: int) -> ProofTable:
    """An empty table; `rows` is a multiple of 4."""
    carriers = np.zeros((max(1, rows // _ROWS_A_ROW), _WAYS, 2), np.uint64)
    return ProofTable(np.zeros((rows, COLUMNS), np.uint64), carriers)


@uncounted_kernel
def solved(state: int, carrier: np.uint64) -> Knowledge:
    """Knowledge of a won or lost position, with the winner's `carrier`."""
    return Knowledge(state, 0, 0, carrier, ZERO)


@uncounted_kernel
def _hash(one: np.uint64, other: np.uint64) -> np.uint64:
    key = one * _HASH_A ^ (other + _HASH_A) * _HASH_B
    key ^= key >> _S29
    key *= _HASH_B
    return key ^ key >> _S32


@inline
def _first_row(rows: int, own: np.uint64, opp: np.uint64) -> int:
    return np.int64(_hash(own, opp) % (np.uint64(rows) // _BUCKET) * _BUCKET)  # type: ignore[return-value]


@inline
def seal(row: Words) -> np.uint64:
    """What the keys of a row are combined with."""
    return row[_VALUE] * _HASH_A ^ row[_CELLS] * _HASH_B ^ row[_PROOF]  # type: ignore[no-any-return]


@uncounted_kernel
def find(
    positions: Words, own: np.uint64, opp: np.uint64, spare: np.uint64
) -> tuple[bool, Knowledge]:
    """Whether the position is in the table, and the knowledge of it."""
    turned_own, turned_opp = rotate(own, spare), rotate(opp, spare)
    turned = turned_own < own or (turned_own == own and turned_opp < opp)
    if turned:
        own, opp = turned_own, turned_opp
    first = _first_row(positions.shape[0], own, opp)
    for i in range(first, first + _PROBES):
        row = positions[i]
        value, cells, proof = row[_VALUE], row[_CELLS], row[_PROOF]
        if value == ZERO:
            break
        sealed = value * _HASH_A ^ cells * _HASH_B ^ proof
        if row[_OWN] ^ sealed == own and row[_OPP] ^ sealed == opp:
            if turned:
                cells, proof = rotate(cells, spare), rotate(proof, spare)
            phi, delta = (value >> _PHI_AT) & _NUMBER, (value >> _DELTA_AT) & _NUMBER
            state = np.int64((value & _STATE) - ONE)
            return True, Knowledge(state, np.int64(phi), np.int64(delta), cells, proof)  # type: ignore[arg-type]
    return False, Knowledge(UNSOLVED, 1, 1, ZERO, ZERO)


@uncounted_kernel
def cost_of(positions: Words, own: np.uint64, opp: np.uint64, spare: np.uint64) -> int:
    """Nodes that the knowledge of a position has cost; 0 if it is not in the table."""
    turned_own, turned_opp = rotate(own, spare), rotate(opp, spare)
    if turned_own < own or (turned_own == own and turned_opp < opp):
        own, opp = turned_own, turned_opp
    first = _first_row(positions.shape[0], own, opp)
    for i in range(first, first + _PROBES):
        sealed = seal(positions[i])
        if positions[i, _OWN] ^ sealed == own and positions[i, _OPP] ^ sealed == opp:
            return np.int64(positions[i, _COST])  # type: ignore[return-value]
    return 0


@uncounted_kernel
def store(
    positions: Words, own: np.uint64, opp: np.uint64, spare: np.uint64, known: Knowledge, cost: int
) -> None:
    """Store the knowledge gained by `cost` more nodes; if its rows are taken, the one that cost
    least gives way.
    """
    turned_own, turned_opp = rotate(own, spare), rotate(opp, spare)
    cells, proof = known.cells, known.proof
    if turned_own < own or (turned_own == own and turned_opp < opp):
        own, opp, cells, proof = turned_own, turned_opp, rotate(cells, spare), rotate(proof, spare)
    first = _first_row(positions.shape[0], own, opp)
    victim = first
    before = ZERO
    for i in range(first, first + _PROBES):
        row = positions[i]
        sealed = seal(row)
        if row[_VALUE] == ZERO or (row[_OWN] ^ sealed == own and row[_OPP] ^ sealed == opp):
            victim = i
            before = row[_COST]
            break
        if row[_COST] < positions[victim, _COST]:
            victim = i
    row = positions[victim]
    row[_VALUE] = (
        np.uint64(known.state + 1)
        | np.uint64(known.phi) << _PHI_AT
        | np.uint64(known.delta) << _DELTA_AT
    )
    row[_CELLS], row[_PROOF] = cells, proof
    sealed = seal(row)
    row[_OWN], row[_OPP] = own ^ sealed, opp ^ sealed
    row[_COST] = before + np.uint64(cost)


@uncounted_kernel
def add_carrier(carriers: Words, stones: np.uint64, moving: bool, carrier: np.uint64) -> None:
    """Remember that `stones`, connecting top to bottom, win wherever all cells of `carrier` are
    free of the other side.

    With `moving` they win by moving next, else although the other side does. The latest come first.
    """
    key = _hash(stones, _HASH_A if moving else ZERO)
    row = carriers[np.int64(key % np.uint64(carriers.shape[0]))]
    last = 0
    while last < _WAYS - 1 and not (
        row[last, 1] ^ row[last, 0] * _HASH_B == key and carrier & ~row[last, 0] == ZERO
    ):
        last += 1  # one that holds the new one is overwritten
    for i in range(last, 0, -1):
        row[i, 0], row[i, 1] = row[i - 1, 0], row[i - 1, 1]
    row[0, 0], row[0, 1] = carrier, key ^ carrier * _HASH_B


@uncounted_kernel
def find_carrier(carriers: Words, stones: np.uint64, moving: bool, other: np.uint64) -> np.uint64:
    """A carrier that wins with `stones` against the stones `other`; empty if none is known."""
    key = _hash(stones, _HASH_A if moving else ZERO)
    row = carriers[np.int64(key % np.uint64(carriers.shape[0]))]
    for i in range(_WAYS):
        carrier, sealed = row[i, 0], row[i, 1]
        if sealed ^ carrier * _HASH_B == key and carrier & other == ZERO:
            return carrier  # type: ignore[no-any-return]
    return ZERO


@uncounted_kernel
def look_up(
    table: ProofTable, own: np.uint64, opp: np.uint64, spare: np.uint64, stones: bool
) -> tuple[bool, Knowledge]:
    """Whether there is knowledge of a position, by itself or (`stones`) by the stones of a side;
    and the knowledge.
    """
    seen, known = find(table.positions, own, opp, spare)
    if known.state == UNSOLVED and stones:
        other = transpose(opp)
        carrier = find_carrier(table.carriers, other, False, transpose(own))
        if carrier != ZERO:
            return True, solved(LOST, transpose(carrier))
        carrier = find_carrier(table.carriers, own, True, opp)
        if carrier == ZERO:
            carrier = find_carrier(table.carriers, own, False, opp)
        if carrier != ZERO:
            return True, solved(WON, carrier)
    return seen, known


@uncounted_kernel
def keep(
    table: ProofTable,
    own: np.uint64,
    opp: np.uint64,
    spare: np.uint64,
    known: Knowledge,
    cost: int,
    stones: bool,
) -> None:
    """Store the knowledge of a position, and its carrier for the winner's `stones`."""
    store(table.positions, own, opp, spare, known, cost)
    if stones and known.state == WON and known.cells != ZERO:
        add_carrier(table.carriers, own, True, known.cells)
    if stones and known.state == LOST and known.cells != ZERO:
        add_carrier(table.carriers, transpose(opp), False, transpose(known.cells))


@uncounted_kernel
def copy(table: ProofTable, larger: ProofTable) -> None:
    """Keep a table's rows in an empty `larger` one; if there is no place, the one that cost least
    gives way.
    """
    rows, places = table.positions, larger.positions
    for i in range(rows.shape[0]):
        row = rows[i]
        if row[_VALUE] == ZERO:
            continue
        sealed = seal(row)
        first = _first_row(places.shape[0], row[_OWN] ^ sealed, row[_OPP] ^ sealed)
        place = first
        for j in range(first, first + _PROBES):
            if places[j, _VALUE] == ZERO:
                place = j
                break
            if places[j, _COST] < places[place, _COST]:
                place = j
        for column in range(COLUMNS):
            places[place, column] = row[column]
    for i in range(table.carriers.shape[0]):
        for j in range(table.carriers.shape[1] - 1, -1, -1):
            carrier, sealed = table.carriers[i, j, 0], table.carriers[i, j, 1]
            if carrier != ZERO:
                to = larger.carriers[
                    np.int64((sealed ^ carrier * _HASH_B) % np.uint64(larger.carriers.shape[0]))
                ]
                for k in range(_WAYS - 1, 0, -1):
                    to[k, 0], to[k, 1] = to[k - 1, 0], to[k - 1, 1]
                to[0, 0], to[0, 1] = carrier, sealed


def positions_in(rows: Words) -> tuple[Words, Words]:
    """Stones of the mover and of the other side in rows of a table that are in use, `[n]` each."""
    used = rows[rows[:, _VALUE] != ZERO]
    seals = used[:, _VALUE] * _HASH_A ^ used[:, _CELLS] * _HASH_B ^ used[:, _PROOF]
    return used[:, _OWN] ^ seals, used[:, _OPP] ^ seals


def dearest(table: ProofTable, least: int) -> Words:
    """The rows of the positions that cost at least `least` nodes, uint64 `[n, 6]`."""
    return table.positions[table.positions[:, _COST] >= least]
