"""A layer on a map: what is not a number.
Its products are those of the network in test_forward.py.
"""

import numpy as np
import torch
from numpy.typing import NDArray

from hexlit.nets.winograd.forward import Map, Part
from hexlit.nets.winograd.kernels import packed

Floats = NDArray[np.float32]


def filled(made: Map, values: Floats) -> Map:
    """The map with values `[P, C, n, n]`."""
    positions, channels = values.shape[:2]
    cells = made.values.reshape(positions, -1, made.row)
    cells[:, : made.side**2, :channels] = values.reshape(positions, channels, -1).transpose(0, 2, 1)
    return made


def board(made: Map, positions: int, channels: int) -> Floats:
    """`[P, C, n, n]` of a map."""
    cells = made.values.reshape(positions, -1, made.row)[:, : made.side**2, :channels]
    return cells.transpose(0, 2, 1).reshape(positions, channels, made.side, made.side)


def random(*shape: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def test_what_is_not_a_number_stays_so() -> None:
    """A network whose weights have diverged must not
    look like one that judges every position as even.
    """
    part, layer = Part(4, 1), packed(torch.full((2, 2, 3, 3), torch.nan), torch.zeros(2), 4, 1)
    out = part.board("out", layer.channels)
    part.step(layer, filled(part.board("in", 2), random(1, 2, 4, 4)), out, relu=True)()
    assert np.isnan(board(out, 1, 2)).all()
