"""Random positions for property tests."""

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.hex.reference import winner


@st.composite
def undecided(draw: st.DrawFn, sizes: tuple[int, int] = (2, 7)) -> NDArray[np.int8]:
    """Cells int8 `[size*size]` of an undecided position, its stones put down in turn."""
    size = draw(st.integers(*sizes))
    order = draw(st.permutations(range(size * size)))
    cells = np.zeros(size * size, np.int8)
    for ply, cell in enumerate(order[: draw(st.integers(0, size * size - 1))]):
        cells[cell] = 1 if ply % 2 == 0 else -1
        if winner(cells.tolist(), size):
            cells[cell] = 0
            break
    return cells
