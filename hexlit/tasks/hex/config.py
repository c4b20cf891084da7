"""The `data` section of the configuration."""

from dataclasses import dataclass

from hexlit.errors import UsageError


@dataclass
class ReplayConfig:
    """What an epoch trains on."""

    window: int = 60_000
    """Positions in the replay window: those of the latest games."""
    reuse: float = 4.0
    """How often a new position is drawn, on average, in the epoch after it: positions trained on / positions played."""
    search_value_share: float = 0.0
    """Share of the searched value in the value target; the rest is the result of the game."""

    def __post_init__(self) -> None:
        if self.window < 1:
            raise UsageError(f"data.window={self.window}: a window holds at least 1 position")
        if self.reuse <= 0:
            raise UsageError(f"data.reuse={self.reuse}: must be above 0")
        if not 0 <= self.search_value_share <= 1:
            raise UsageError(f"data.search_value_share={self.search_value_share}: a share lies between 0 and 1")
