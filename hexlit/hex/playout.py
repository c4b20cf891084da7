"""Uniformly random games at full speed, and the value they give a position.

One kernel plays move by move and stops at the winning move. The other finds only the winner, which
does not depend on the order of moves. It fills the board with a random half of each colour and
walks along the border between the colours (Gale 1979, "The game of Hex and the Brouwer fixed-point
theorem").
"""

import numpy as np

from hexlit.hex.arrays import Int8Array, Int16Array
from hexlit.hex.engine import Stones, clear, place
from hexlit.hex.geometry import Geometry
from hexlit.hex.jit import inline, uncounted_device_function, uncounted_kernel
from hexlit.hex.rng import PLAYOUT, draw, key

_S32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@uncounted_device_function
def shuffle(cells: Int16Array, count: int, k: np.uint64) -> None:
    """Fisher-Yates over the first `count` entries; one 64-bit draw serves two exchanges."""
    bits = np.uint64(0)
    for left in range(count, 1, -1):
        if left % 2 == count % 2:
            bits = draw(k, left)
            half = bits & _LOW
        else:
            half = bits >> _S32
        other = (half * np.uint64(left)) >> _S32
        cells[left - 1], cells[other] = cells[other], cells[left - 1]


@uncounted_kernel
def random_games(
    count: int,
    seed: int,
    table: Geometry,
    moves: Int16Array,
    stones: Stones,
    lengths: Int16Array,
) -> int:
    """Play `count` complete random games, each to its last move; returns how many Black won.

    The moves of game `g` are written to row `g` modulo R of `moves` (int16 `[R, size*size]`), its
    number of plies to the same row of `lengths` (int16 `[R]`). `stones` is room for one board.
    A game shuffles the order that the game before it left in its row, so the games depend on R as
    well as on `seed`.
    """
    cells = table.size * table.size
    wins = 0
    for row in range(moves.shape[0]):
        for cell in range(cells):
            moves[row, cell] = cell
    for g in range(count):
        row = g % moves.shape[0]
        order = moves[row]
        shuffle(order, cells, key(seed, g, 0, PLAYOUT))
        clear(stones, 0)
        colour = 1
        for ply in range(cells):
            if place(stones, 0, order[ply], colour, table):
                wins += colour > 0
                lengths[row] = ply + 1
                break
            colour = -colour
    return wins


@inline
def winner_of_full_board(colours: Int8Array, size: int) -> int:
    """Colour that connects on a board without empty cells, `[size*size]`.

    The border between the colours is followed from the corner where Black's top edge meets White's
    left edge. All black cells next to it are connected to the top, all white ones to the left. The
    side that it reaches is the winner's.
    """
    # The walk stands between two touching cells, a black and a white one. The cell ahead touches
    # both and replaces the one of its own colour. Rows and columns -1 and size are the edges.
    black_row, black_column, white_row, white_column = -1, 0, 0, -1
    while True:
        # The step from the black to the white cell, turned by 60 degrees, leads from the black cell
        # to the one ahead.
        down, right = white_row - black_row, white_column - black_column
        row, column = black_row - right, black_column + down + right
        if row == size:
            return 1
        if column == size:
            return -1
        if row < 0 or (column >= 0 and colours[row * size + column] > 0):
            black_row, black_column = row, column
        else:
            white_row, white_column = row, column


@uncounted_kernel
def playouts(
    colours: Int8Array,
    to_move: int,
    count: int,
    k: np.uint64,
    size: int,
    room: Int16Array,
) -> int:
    """Number of Black's wins in `count` random continuations of a position.

    `colours` int8 `[size*size]` holds +1 black, -1 white, 0 empty and is not changed; `room` int16
    `[size*size]` is scratch space; `k` is the key of the random draws.
    """
    empty = 0
    for cell in range(size * size):
        if colours[cell] == 0:
            room[empty] = cell
            empty += 1
    # The player to move fills the larger half of the empty cells. Only one half has to be drawn.
    half = empty // 2
    wins = 0
    for playout in range(count):
        stream = draw(k, playout)
        for i in range(empty):
            colours[room[i]] = to_move
        for i in range(half):
            other = i + (((draw(stream, i) >> _S32) * np.uint64(empty - i)) >> _S32)
            room[i], room[other] = room[other], room[i]
            colours[room[i]] = -to_move
        wins += winner_of_full_board(colours, size) > 0
    for i in range(empty):
        colours[room[i]] = 0
    return wins
