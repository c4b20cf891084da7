"""The settings of a search for its kernels."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Params(NamedTuple):
    """The settings in the form that compiled code takes; `hexlit.search.algorithm.compiled_params` makes them."""

    gumbel: bool
    considered: int
    value_scale: float
    visit_offset: float
    rescale: bool
    c_init: float
    c_base: float
    fpu_reduction: float
    noise_share: float
    noise_total: float
    swap: bool
    """Whether White may swap at ply 1."""
    schedule: NDArray[np.int32]
    """Table of sequential halving for each budget of the search, see `halving_table`: `[budgets, considered + 1, S]`
    for S simulations at most."""
