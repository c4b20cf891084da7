"""The transposition table of the exact solver: knowledge of positions seen before.

A table is uint64 `[rows, 6]`. Boards are words in the mover's frame (`hexlit.hex.solver.bitboard`). A position and the
same turned by 180° share an entry. By the mover's frame, both with colours exchanged and transposed share it, too.
"""

from typing import NamedTuple

import numpy as np

from hexlit.hex.jit import borrowing_kernel
from hexlit.hex.solver.bitboard import ONE, ZERO, Words, rotate

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


@borrowing_kernel
def solved(state: int, carrier: np.uint64) -> Knowledge:
    """Knowledge of a won or lost position, with the winner's `carrier`."""
    return Knowledge(state, 0, 0, carrier, ZERO)


@borrowing_kernel
def _first_row(table: Words, own: np.uint64, opp: np.uint64) -> int:
    key = own * _HASH_A ^ (opp + _HASH_A) * _HASH_B
    key ^= key >> _S29
    key *= _HASH_B
    key ^= key >> _S32
    return np.int64(key % (np.uint64(table.shape[0]) // _BUCKET) * _BUCKET)  # type: ignore[return-value]


@borrowing_kernel
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


@borrowing_kernel
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


@borrowing_kernel
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
