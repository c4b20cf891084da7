"""A finished game: its moves, how it ended, and what the search thought at each move."""

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.arrays import FloatArray, Int16Array


class Ending(StrEnum):
    """How a game ended."""

    CONNECTED = "connected"
    RESIGNED = "resigned"
    FORFEITED = "forfeited"
    UNFINISHED = "unfinished"


def _no_values() -> FloatArray:
    return np.zeros(0, np.float32)


def _no_policy() -> NDArray[np.float16]:
    return np.zeros((0, 0), np.float16)


def _no_plies() -> Int16Array:
    return np.zeros(0, np.int16)


@dataclass(frozen=True)
class GameRecord:
    """One game of T moves. Self-play fills every field; an imported game has no searched policies
    or values.
    """

    game_id: int
    """Unique in its store; for self-play also the key of its random draws."""
    size: int
    """Rows of the board."""
    swap: bool
    """Whether the swap rule was on."""
    moves: Int16Array
    """Cells played (row * size + column), or size * size for swap-pieces, `[T]`."""
    winner: int
    """+1 Black, -1 White, 0 unknown. For an unfinished game it is only claimed."""
    ending: Ending
    """How it ended."""
    opening: int = 0
    """Moves at the start that were drawn at random: never targets of learning."""
    values: FloatArray = field(default_factory=_no_values)
    """Searched value of each position for the player to move, `[T]`; 0 without a search."""
    simulations: Int16Array = field(default_factory=_no_plies)
    """Simulations spent on each move, `[T]`."""
    policy_plies: Int16Array = field(default_factory=_no_plies)
    """Plies (0 = before the first move) whose searched policy is kept, `[K]`."""
    policies: NDArray[np.float16] = field(default_factory=_no_policy)
    """Those policies over the board's actions, `[K, A]`."""
    network_version: int = 0
    """Epochs the network had been trained when the game started."""
    seed: int = 0
    """Seed of the run."""
    search: str = ""
    """Settings of the search, as JSON."""
    would_resign: int = 0
    """Player who would have resigned first, in a game without resignations; else 0."""
    may_resign: bool = False
    """Whether the players were allowed to resign."""
    black: str = ""
    """Name of Black's player; after swap-sides that is the player who began as White."""
    white: str = ""
    """Name of White's player."""
    source: str = ""
    """Origin of an imported game: file:line."""
