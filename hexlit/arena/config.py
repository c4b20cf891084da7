"""The `evaluation` section of the configuration."""

from dataclasses import dataclass

from hexlit.errors import UsageError


@dataclass
class EvaluationConfig:
    """How strength is measured."""

    simulations: int = 64
    """Simulations of the search that is judged."""
    positions: int = 1000
    """Random won positions for the final figures."""
    quick_positions: int = 200
    """How many of them are judged after an epoch."""
    game_positions: int = 300
    """Positions out of games, won and lost, for the value's calibration and a second optimality."""
    every_epochs: int = 1
    """Epochs between two measurements."""
    match_pairs: int = 16
    """Openings of the match against rollouts on boards without solved positions, each played twice."""
    rollouts: int = 32
    """Random playouts a leaf of that opponent."""
    seed: int = 2026
    """Seed of the positions and openings, apart from that of training."""

    def __post_init__(self) -> None:
        for name in ("simulations", "positions", "quick_positions", "every_epochs", "match_pairs", "rollouts"):
            if getattr(self, name) < 1:
                raise UsageError(f"evaluation.{name}={getattr(self, name)}: must be 1 or more")
        if self.game_positions < 12:
            raise UsageError(f"evaluation.game_positions={self.game_positions}: must be 12 or more, one of each kind")
        if self.seed < 0:
            raise UsageError(f"evaluation.seed={self.seed}: must be 0 or more")
