"""Games in progress as compiled self-play sees them: its settings, and the state and moves of every game."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.search.config import SearchConfig
from hexlit.selfplay.config import SelfPlayConfig

PLAYING, CONNECTED, RESIGNED = 0, 1, 2
"""State of a game."""


class Rules(NamedTuple):
    """Settings of self-play for compiled code; see `SelfPlayConfig`."""

    seed: int
    full_simulations: int
    fast_simulations: int
    full_share: float
    temperature: float
    temperature_final: float
    temperature_halflife: float
    opening_share: float
    opening_plies: int
    opening_skew: float
    resign_threshold: float
    resign_plies: int
    resign_off_share: float
    gamble_share: float
    gamble_value: float


SLOT = np.dtype(
    [
        # Number of the game that is played here: the key of its random draws.
        ("game_id", np.int64),
        # Epochs the network had been trained when the game started.
        ("network_version", np.int32),
        # Moves played.
        ("ply", np.int16),
        # Random moves at the start.
        ("opening", np.int16),
        # PLAYING, CONNECTED or RESIGNED.
        ("state", np.int8),
        # +1 or -1 once the game is over.
        ("winner", np.int8),
        # Whether a player may resign in this game.
        ("may_resign", np.bool_),
        # Player who would have resigned first, if that was not allowed.
        ("would_resign", np.int8),
        # Moves in a row at which Black, White saw itself lost.
        ("black_lost", np.int16),
        ("white_lost", np.int16),
        # Whether Black, White has gambled in this game.
        ("black_gambled", np.bool_),
        ("white_gambled", np.bool_),
    ],
    align=True,
)
"""State of one of the parallel games."""


class Games(NamedTuple):
    """G games in progress, with room for T moves each; policies are over the board's actions."""

    slot: NDArray[np.void]
    """SLOT `[G]`."""
    moves: NDArray[np.int16]
    """Moves so far, `[G, T]`."""
    values: NDArray[np.float32]
    """Searched value before each move, for the player who made it, `[G, T]`."""
    simulations: NDArray[np.int16]
    """Simulations spent on each move; 0 for the random opening, `[G, T]`."""
    policies: NDArray[np.float32]
    """Searched policy before each move, `[G, T, A]`."""
    surprises: NDArray[np.float32]
    """Divergence of that policy from the prior, `[G, T]`."""
    row: NDArray[np.float32]
    """Room for the policy of one search in the mover's frame, `[G, A]`."""


def compiled_rules(config: SelfPlayConfig, search: SearchConfig, seed: int) -> Rules:
    """The settings of `config` for games searched as `search` says."""
    return Rules(
        seed=seed,
        full_simulations=search.simulations,
        fast_simulations=min(config.fast_simulations, search.simulations),
        full_share=float(config.full_share),
        temperature=float(config.temperature),
        temperature_final=float(config.temperature_final),
        temperature_halflife=float(config.temperature_halflife),
        opening_share=float(config.opening_share),
        opening_plies=config.opening_plies,
        opening_skew=float(config.opening_skew),
        resign_threshold=float(config.resign_threshold),
        resign_plies=config.resign_plies,
        resign_off_share=float(config.resign_off_share),
        gamble_share=float(config.gamble_share),
        gamble_value=float(config.gamble_value),
    )


def empty_games(games: int, plies: int, actions: int) -> Games:
    """Room for `games` games of up to `plies` moves."""
    return Games(
        slot=np.zeros(games, SLOT),
        moves=np.zeros((games, plies), np.int16),
        values=np.zeros((games, plies), np.float32),
        simulations=np.zeros((games, plies), np.int16),
        policies=np.zeros((games, plies, actions), np.float32),
        surprises=np.zeros((games, plies), np.float32),
        row=np.zeros((games, actions), np.float32),
    )
