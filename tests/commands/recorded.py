"""A store of recorded games of the tests' own making."""

from pathlib import Path

import numpy as np

from hexlit.hex.board import GameBoard
from hexlit.hex.record import Ending, GameRecord
from hexlit.selfplay.store import GameStore


def save_games(folder: Path, *, size: int = 3, games: int = 60, seed: int = 0) -> Path:
    """Random games to the end, each with its own id; no player chose the first move."""
    random = np.random.default_rng(seed)
    records = []
    for number in range(games):
        board = GameBoard(size)
        while not board.winner:
            board.play(int(random.choice(board.legal_moves())))
        moves = np.array(board.moves, np.int16)
        records.append(
            GameRecord(1000 + number, size, False, moves, board.winner, Ending.CONNECTED, opening=1)
        )
    store = GameStore(folder)
    store.append(records)
    store.close()
    return folder
