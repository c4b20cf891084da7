"""The state of a game as the page draws it."""

from typing import Any

import numpy as np

from hexlit.errors import UsageError
from hexlit.hex.board import Board
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_cell, parse_moves
from hexlit.web.requests import PositionText

COLOURS = {BLACK: "black", WHITE: "white", 0: ""}
_AROUND = ((-1, 0), (1, 0), (0, -1), (0, 1), (-1, 1), (1, -1))


def board_of(position: PositionText) -> Board:
    """The game after its moves; raises `UsageError` if one is illegal."""
    return Board(position.size, swap=position.swap, moves=parse_moves(position.moves, position.size))


def check_undecided(board: Board) -> None:
    """Raise `UsageError` if the game is over."""
    if board.winner:
        raise UsageError("the game is over")


def state_of(board: Board) -> dict[str, Any]:
    """See `position` in `hexlit.web.requests`."""
    return {
        "cells": "".join(".XO"[int(stone)] for stone in board.cells),
        "to_move": "" if board.winner else COLOURS[board.to_move],
        "winner": COLOURS[board.winner],
        "chain": [format_cell(cell, board.size) for cell in winning_chain(board)],
        "may_swap": board.may_swap,
    }


def winning_chain(board: Board) -> list[int]:
    """A shortest chain of the winner's stones from edge to edge, in its order; none before the end of the game."""
    if not board.winner:
        return []
    size, grid = board.size, board.cells.reshape(board.size, board.size)
    goal = 0 if board.winner == BLACK else 1
    start = [(0, other) if goal == 0 else (other, 0) for other in range(size)]
    before: dict[tuple[int, int], tuple[int, int] | None] = {
        place: None for place in start if grid[place] == board.winner
    }
    line = list(before)
    for place in line:  # which grows
        if place[goal] == size - 1:
            chain = [place]
            while (earlier := before[chain[-1]]) is not None:
                chain.append(earlier)
            return [row * size + column for row, column in reversed(chain)]
        for down, right in _AROUND:
            beside = place[0] + down, place[1] + right
            inside = 0 <= beside[0] < size and 0 <= beside[1] < size
            if inside and beside not in before and grid[beside] == board.winner:
                before[beside] = place
                line.append(beside)
    raise AssertionError(f"no chain of {COLOURS[board.winner]} on\n{np.array2string(grid)}")
