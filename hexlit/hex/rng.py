"""Counter-based random numbers: a draw is a function of its key, so no order of work can change it.

A key is made once from (seed, game, ply, purpose); draw number `i` of that key scrambles `key + i *
GOLDEN` as SplitMix64 does (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number
generators").
"""

import math

import numpy as np

from hexlit.hex.arrays import Int8Array
from hexlit.hex.jit import inline, uncounted_kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1, _M2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
_UNIT = 1.0 / (1 << 53)

MOVE, OPENING, BUDGET, NOISE, RESIGN, PLAYOUT, SYMMETRY = range(7)
"""Purposes: what a draw decides. Different purposes of one (seed, game, ply) are independent."""


@inline
def mix(x: np.uint64) -> np.uint64:
    """Scramble the 64 bits of `x`."""
    x = (x ^ (x >> _S30)) * _M1
    x = (x ^ (x >> _S27)) * _M2
    return x ^ (x >> _S31)


@inline
def key(seed: int, game: int, ply: int, purpose: int) -> np.uint64:
    """The key of one decision in one game."""
    k = mix(np.uint64(seed) + GOLDEN)
    k = mix(k ^ (np.uint64(game) * _M1 + GOLDEN))
    return mix(k ^ (np.uint64(ply * 16 + purpose) * _M2 + GOLDEN))


@inline
def draw(k: np.uint64, i: int) -> np.uint64:
    """64 random bits, number `i` of key `k`."""
    return mix(k + np.uint64(i) * GOLDEN)


@inline
def uniform(k: np.uint64, i: int) -> float:
    """A number in [0, 1) with 53 random bits, number `i` of key `k`."""
    return float(draw(k, i) >> _S11) * _UNIT


@inline
def gumbel(k: np.uint64, i: int) -> float:
    """A standard Gumbel variate, number `i` of key `k`."""
    return -math.log(-math.log(uniform(k, i) + 0.5 * _UNIT))


@uncounted_kernel
def gamma(k: np.uint64, alpha: float) -> float:
    """A Gamma(alpha, 1) variate (Marsaglia and Tsang 2000; for alpha < 1 with their boost)."""
    boost = 1.0
    if alpha < 1.0:
        boost = (uniform(k, 0) + 0.5 * _UNIT) ** (1.0 / alpha)
        alpha += 1.0
    d = alpha - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    i = 1
    while True:
        # Box-Muller gives the normal variate.
        radius = math.sqrt(-2.0 * math.log(uniform(k, i) + 0.5 * _UNIT))
        x = radius * math.cos(2.0 * math.pi * uniform(k, i + 1))
        u = uniform(k, i + 2) + 0.5 * _UNIT
        i += 3
        v = (1.0 + c * x) ** 3
        if v > 0.0 and math.log(u) < 0.5 * x * x + d - d * v + d * math.log(v):
            return boost * d * v


@uncounted_kernel
def stones_key(own: Int8Array, seed: int, purpose: int) -> np.uint64:
    """Key of the random draws for one position; they depend only on it and the seed."""
    digest = np.uint64(0)
    for cell in range(own.size):
        digest = digest * np.uint64(3) + np.uint64(own[cell] + 1)
    return key(seed, int(digest), 0, purpose)
