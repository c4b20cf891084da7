"""The transposition table of the exact solver: results and carriers of positions already proved.

A table is uint64 `[slots, 4]`. Boards are words in the mover's frame (`hexlit.hex.bitboard`); a position and the same
turned by 180° share an entry, and through the mover's frame so do both with the colours exchanged and transposed.
"""

import numpy as np
import numpy.typing as npt

from hexlit.hex.bitboard import ONE, ZERO, rotate
from hexlit.hex.jit import kernel

Words = npt.NDArray[np.uint64]

LOST, WON, UNSOLVED = 0, 1, 2  # for the player to move; UNSOLVED also means: not known without search

# The value column holds, above its two low bits, the nodes that the entry cost, and in them 1 + LOST or 1 + WON; 0 is
# an empty row.
_OWN, _OPP, _CARRIER, _VALUE, COLUMNS = 0, 1, 2, 3, 4
_PROBES = 4  # neighbouring rows that a position may stand in
_EXACT, _TWO = np.uint64(3), np.uint64(2)

_HASH_A = np.uint64(0x9E3779B97F4A7C15)
_HASH_B = np.uint64(0xC2B2AE3D27D4EB4F)
_S29, _S32 = np.uint64(29), np.uint64(32)
_BUCKET = np.uint64(_PROBES)


@kernel
def _slot(table: Words, own: np.uint64, opp: np.uint64) -> np.uint64:
    key = own * _HASH_A ^ (opp + _HASH_A) * _HASH_B
    key ^= key >> _S29
    key *= _HASH_B
    key ^= key >> _S32
    return key % (np.uint64(table.shape[0]) // _BUCKET) * _BUCKET


@kernel
def find(table: Words, own: np.uint64, opp: np.uint64, spare: np.uint64) -> tuple[int, np.uint64]:
    """The stored result and carrier of a position, or UNSOLVED."""
    turned_own, turned_opp = rotate(own, spare), rotate(opp, spare)
    turned = turned_own < own or (turned_own == own and turned_opp < opp)
    if turned:
        own, opp = turned_own, turned_opp
    slot = _slot(table, own, opp)
    for i in range(_PROBES):
        row = table[slot + np.uint64(i)]
        if row[_VALUE] == ZERO:
            break
        if row[_OWN] == own and row[_OPP] == opp:
            carrier = rotate(row[_CARRIER], spare) if turned else row[_CARRIER]
            return np.int64((row[_VALUE] & _EXACT) - ONE), carrier  # type: ignore[return-value]
    return UNSOLVED, ZERO


@kernel
def store(
    table: Words, own: np.uint64, opp: np.uint64, spare: np.uint64, result: int, carrier: np.uint64, cost: int
) -> None:
    """Keep a result; when its rows are taken, the one that cost least gives way."""
    turned_own, turned_opp = rotate(own, spare), rotate(opp, spare)
    if turned_own < own or (turned_own == own and turned_opp < opp):
        own, opp, carrier = turned_own, turned_opp, rotate(carrier, spare)
    slot = _slot(table, own, opp)
    victim = slot
    for i in range(_PROBES):
        row = table[slot + np.uint64(i)]
        if row[_VALUE] == ZERO or (row[_OWN] == own and row[_OPP] == opp):
            victim = slot + np.uint64(i)
            break
        if row[_VALUE] >> _TWO < table[victim, _VALUE] >> _TWO:
            victim = slot + np.uint64(i)
    table[victim, _OWN] = own
    table[victim, _OPP] = opp
    table[victim, _CARRIER] = carrier
    table[victim, _VALUE] = np.uint64(cost) << _TWO | np.uint64(result + 1)
