"""Hex in plain Python, written from the rules and slow on purpose: what compiled code has to agree
with.

Cells are indices row * size + column; Black (+1) connects the first and the last row, White (-1)
the first and the last column.
"""

from collections.abc import Iterable, Sequence
from functools import cache

BLACK, WHITE = 1, -1


@cache
def neighbours(size: int) -> tuple[tuple[int, ...], ...]:
    """The cells that touch each cell."""
    steps = ((0, -1), (0, 1), (-1, 0), (1, 0), (-1, 1), (1, -1))
    return tuple(
        tuple(
            (r + down) * size + c + right
            for down, right in steps
            if 0 <= r + down < size and 0 <= c + right < size
        )
        for r in range(size)
        for c in range(size)
    )


def connects(cells: Sequence[int], size: int, colour: int) -> bool:
    """Whether stones of `colour` join its two edges: flood fill from the first."""
    last = size - 1
    start = range(size) if colour == BLACK else range(0, size * size, size)
    stack = [cell for cell in start if cells[cell] == colour]
    seen = set(stack)
    touching = neighbours(size)
    while stack:
        cell = stack.pop()
        if (cell // size if colour == BLACK else cell % size) == last:
            return True
        for other in touching[cell]:
            if cells[other] == colour and other not in seen:
                seen.add(other)
                stack.append(other)
    return False


def winner(cells: Sequence[int], size: int) -> int:
    """Colour that connects its edges, 0 when none does."""
    return next((colour for colour in (BLACK, WHITE) if connects(cells, size, colour)), 0)


def wins_at_once(cells: Sequence[int], size: int, colour: int) -> list[int]:
    """The empty cells where one stone of `colour` joins its two edges."""
    stones = list(cells)
    empty = [cell for cell, stone in enumerate(stones) if stone == 0]
    return [c for c in empty if connects([*stones[:c], colour, *stones[c + 1 :]], size, colour)]


def transposed(cell: int, size: int) -> int:
    """The cell with row and column exchanged; the swap, `size * size`, stays itself."""
    return cell if cell == size * size else cell % size * size + cell // size


class Game:
    """One game, with or without the swap rule."""

    def __init__(self, size: int, *, swap: bool = False, moves: Iterable[int] = ()) -> None:
        self.size, self.swap = size, swap
        self.cells = [0] * (size * size)
        self.moves: list[int] = []
        for move in moves:
            self.play(move)

    @property
    def to_move(self) -> int:
        return BLACK if len(self.moves) % 2 == 0 else WHITE

    @property
    def winner(self) -> int:
        return winner(self.cells, self.size)

    def legal_moves(self) -> list[int]:
        if self.winner:
            return []
        moves = [cell for cell, stone in enumerate(self.cells) if stone == 0]
        return [*moves, self.size**2] if self.swap and len(self.moves) == 1 else moves

    def play(self, move: int) -> None:
        assert move in self.legal_moves()
        if move == self.size**2:
            self.cells[self.moves[0]] = 0
            self.cells[transposed(self.moves[0], self.size)] = WHITE
        else:
            self.cells[move] = self.to_move
        self.moves.append(move)
