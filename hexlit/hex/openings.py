"""The solved openings of small boards: ground truth for evaluation and tests.

These tables are facts about the game to measure a player against. Nothing is ever trained on them.
"""

import numpy as np

from hexlit.errors import UsageError
from hexlit.hex.arrays import BoolArray

# Rows from the top, columns from the left; W = Black, who moves first and connects top to bottom,
# wins with its first stone there, L = Black loses. Without the swap rule.
SOLVED = {
    3: "LLW/WWW/WLL",
    4: "LLLW/LLWL/LWLL/WLLL",
    5: "LLLLW/LWWWW/LWWWL/WWWWL/WLLLL",
    6: "LLLLLW/LWWWWW/WWWWWW/WWWWWW/WWWWWL/WLLLLL",
    7: "LLLLLLW/LLWLWWW/LWWWWWL/WWWWWWW/LWWWWWL/WWWLWLL/WLLLLLL",
    8: "LLLLLLLW/LLLLLLWW/LWWWWWWL/LWWWWWWW/WWWWWWWL/LWWWWWWL/WWLLLLLL/WLLLLLLL",
}


def solved_openings(size: int) -> BoolArray:
    """Whether Black wins with the first stone on each cell, both sides playing perfectly.

    Returns:
        bool `[size*size]`, a fresh array; index `row * size + column`.

    Raises:
        UsageError: no table for this size.
    """
    if size not in SOLVED:
        raise UsageError(f"no solved openings for size {size}: the sizes with a table are 3 to 8")
    return np.array([letter == "W" for letter in SOLVED[size].replace("/", "")], dtype=np.bool_)
