"""A target for `hexlit train +targets.connection=0.15`: the cells of the winner's connection."""

import numpy as np

from hexlit.hex.record import GameRecord

KIND = "cells"


def of_game(record: GameRecord) -> np.ndarray:
    """1 for the stones of the winner's group that joins its edges, at the end of the game."""
    size = record.size
    if record.ending != "connected" or size**2 in record.moves:
        return np.full((len(record.moves), size**2), np.nan)
    black_won = record.winner > 0
    stones = set(record.moves[0 if black_won else 1 :: 2].tolist())
    group: set[int] = set()
    waiting = [int(record.moves[-1])]  # the last move joined the edges
    while waiting:
        cell = waiting.pop()
        if cell in group:
            continue
        group.add(cell)
        row, column = divmod(cell, size)
        for down, right in ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0)):
            near = (row + down) * size + column + right
            if 0 <= column + right < size and near in stones:
                waiting.append(near)
    connection = np.isin(np.arange(size**2), list(group))
    return np.tile(connection, (len(record.moves), 1))
