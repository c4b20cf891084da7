"""A target for `hexlit train +targets.reply=0.15`: the opponent's reply."""

import numpy as np

from hexlit.hex.record import GameRecord

KIND = "policy"


def of_game(record: GameRecord) -> np.ndarray:
    """The move after the next one, unknown at the end of a game."""
    plies, cells = len(record.moves), record.size**2
    target = np.full((plies, cells), np.nan)
    for ply, reply in enumerate(record.moves[1:].tolist()):
        target[ply] = np.arange(cells) == reply
    return target
