"""Hex boards of up to 8×8 cells as single 64-bit words.

Bit `row * 8 + column` stands for a cell on a board of any size, so all sizes share the same shifts.
The transpose (row and column exchanged) is three swaps of blocks, and a turn by 180° is a reversal
of the bits. All functions are Numba kernels over `uint64`; they never see an `int64`, because Numba
mixes the two into a float.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic

from hexlit.hex.arrays import BoolArray
from hexlit.hex.jit import inline, uncounted_kernel

Words = npt.NDArray[np.uint64]

STRIDE = 8  # bits per row
RING = ((0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1), (1, 0))
"""Steps (rows, columns) to the neighbours of a cell, in order around it."""
MAX_SIZE = 8  # rows and columns that fit into 64 bits

ZERO = np.uint64(0)
ONE = np.uint64(1)
_SEVEN = np.uint64(7)
_EIGHT = np.uint64(8)
NOT_FIRST_COLUMN = np.uint64(0xFEFEFEFEFEFEFEFE)
NOT_LAST_COLUMN = np.uint64(0x7F7F7F7F7F7F7F7F)
_M1 = np.uint64(0x5555555555555555)
_M2 = np.uint64(0x3333333333333333)
_M4 = np.uint64(0x0F0F0F0F0F0F0F0F)
_S1, _S2, _S4, _S16, _S32 = (np.uint64(shift) for shift in (1, 2, 4, 16, 32))
_R8 = np.uint64(0x00FF00FF00FF00FF)
_R16 = np.uint64(0x0000FFFF0000FFFF)
_T1 = np.uint64(0x00AA00AA00AA00AA)
_T2 = np.uint64(0x0000CCCC0000CCCC)
_T4 = np.uint64(0x00000000F0F0F0F0)
_T_SHIFT1, _T_SHIFT2, _T_SHIFT4 = np.uint64(7), np.uint64(14), np.uint64(28)


def full_board(size: int) -> np.uint64:
    """The word with one bit for every cell of a `size`×`size` board."""
    return np.uint64(sum(((1 << size) - 1) << (STRIDE * row) for row in range(size)))


def pack(stones: BoolArray, size: int) -> np.uint64:
    """The word of a flat bool array `[size*size]`."""
    board = np.zeros((STRIDE, STRIDE), np.bool_)
    board[:size, :size] = stones.reshape(size, size)
    return np.uint64(int.from_bytes(np.packbits(board, bitorder="little"), "little"))


def unpack(board: int, size: int) -> BoolArray:
    """The flat bool array `[size*size]` of a word; the inverse of `pack`."""
    bits = np.unpackbits(
        np.frombuffer(board.to_bytes(STRIDE, "little"), np.uint8), bitorder="little"
    )
    return bits.reshape(STRIDE, STRIDE)[:size, :size].ravel().view(np.bool_)


@intrinsic  # type: ignore[untyped-decorator]
def count(typing_context: Any, board: Any) -> tuple[Any, Callable[..., Any]]:
    """The number of cells in a word, int64: one instruction of the processor, which Numba has no
    name for.
    """
    return types.int64(types.uint64), lambda context, builder, signature, words: builder.ctpop(
        words[0]
    )


@intrinsic  # type: ignore[untyped-decorator]
def index(typing_context: Any, board: Any) -> tuple[Any, Callable[..., Any]]:
    """The number of the first cell's bit, int64; 64 for the empty word."""

    def generate(context: Any, builder: Any, signature: Any, words: Any) -> Any:
        return builder.cttz(
            words[0], context.get_constant(types.boolean, False)
        )  # defined at zero, too

    return types.int64(types.uint64), generate


@inline
def lowest(x: np.uint64) -> np.uint64:
    """The word with only the first cell of `x`; 0 when `x` is empty."""
    return x & (~x + ONE)


@inline
def neighbours(x: np.uint64) -> np.uint64:
    """Every cell next to a cell of `x`; may reach outside a board smaller than 8×8, so mask the
    result.
    """
    east = x & NOT_LAST_COLUMN
    west = x & NOT_FIRST_COLUMN
    return (
        (x << _EIGHT)
        | (x >> _EIGHT)
        | (east << ONE)
        | (east >> _SEVEN)
        | (west >> ONE)
        | (west << _SEVEN)
    )


@uncounted_kernel
def flood(seed: np.uint64, stones: np.uint64) -> np.uint64:
    """The cells of `stones` connected to those of `seed` that lie in `stones`."""
    reached = seed & stones
    while True:
        grown = reached | (neighbours(reached) & stones)
        if grown == reached:
            return reached
        reached = grown


@uncounted_kernel
def transpose(x: np.uint64) -> np.uint64:
    """Row and column exchanged."""
    t = (x ^ (x >> _T_SHIFT1)) & _T1
    x = x ^ t ^ (t << _T_SHIFT1)
    t = (x ^ (x >> _T_SHIFT2)) & _T2
    x = x ^ t ^ (t << _T_SHIFT2)
    t = (x ^ (x >> _T_SHIFT4)) & _T4
    return x ^ t ^ (t << _T_SHIFT4)


@uncounted_kernel
def rotate(x: np.uint64, spare: np.uint64) -> np.uint64:
    """The board turned by 180°; `spare` is 9 * (8 - size), the distance of the last cell from bit
    63.
    """
    x = ((x >> _S1) & _M1) | ((x & _M1) << _S1)
    x = ((x >> _S2) & _M2) | ((x & _M2) << _S2)
    x = ((x >> _S4) & _M4) | ((x & _M4) << _S4)
    x = ((x >> _EIGHT) & _R8) | ((x & _R8) << _EIGHT)
    x = ((x >> _S16) & _R16) | ((x & _R16) << _S16)
    x = (x >> _S32) | (x << _S32)
    return x >> spare
