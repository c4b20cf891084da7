"""Whether two records are one game, in every field."""

from dataclasses import fields

import numpy as np

from hexlit.hex.record import GameRecord


def same(one: GameRecord, other: GameRecord) -> bool:
    pairs = [(getattr(one, field.name), getattr(other, field.name)) for field in fields(GameRecord)]
    return all(
        np.array_equal(mine, yours) if isinstance(mine, np.ndarray) else mine == yours
        for mine, yours in pairs
    )
