"""The `evaluation` section of the configuration, those of a match, and the settings of play over
HTP.
"""

from dataclasses import dataclass, field

from hexlit.errors import UsageError
from hexlit.settings import Settings, number

MODES = ("round_robin", "gauntlet")
"""Pairings of a match: all players meet all others, or only the first player does."""

ELO = "[-2000, 2000]"
"""Differences that a sequential test asks about: at the ends one game in 100,000 is lost or won."""


@dataclass
class PoolConfig(Settings, section="evaluation.pool"):
    """The rating pool of a run: matches of the network against earlier ones and fixed players."""

    every_epochs: int = number(0, "[0, inf)")
    """Epochs between two ratings; 0 rates nothing."""
    pairs: int = number(16, "[1, inf)")
    """Openings against each opponent, each played twice."""


@dataclass
class StrengthTargetConfig(Settings, section="evaluation.target"):
    """The strength that ends a run, measured on other positions than its final figures.

    The openings are the same in both, because a board has no others. Nothing is trained on either.
    """

    enabled: bool = False
    """Whether a run ends at the target; only on boards with solved openings, 3 to 8."""
    evaluations: int = number(2, "[1, inf)")
    """Evaluations in a row that have to reach both shares below and judge every opening right."""
    search_optimality: float = number(0.99, "[0, 1]")
    """Least share of won positions that the searched move keeps won."""
    policy_optimality: float = number(0.95, "[0, 1]")
    """Least share of them that the likeliest move of the policy keeps won."""


@dataclass
class EvaluationConfig(Settings, section="evaluation"):
    """Measurement of strength."""

    simulations: int = number(64, "[1, inf)")
    """Simulations of the search that is judged."""
    positions: int = number(1000, "[1, inf)")
    """Random won positions for the final figures."""
    quick_positions: int = number(200, "[1, inf)")
    """Other ones, drawn with `seed` + 1, that are judged during the run. With
    `evaluation.target.enabled` a fifth of them, until their figures come near it.
    """
    game_positions: int = number(300, "[12, inf)")
    """Positions from games, won and lost, for the value's calibration and a second optimality."""
    every_epochs: int = number(1, "[0, inf)")
    """Epochs between two measurements; 0 measures no strength."""
    begin_after: int = number(0, "[0, inf)")
    """Epochs without any at the beginning, at most a fifth of `trainer.max_epochs`. What measuring
    compiles is then ready before it is needed.
    """
    perfect_pairs: int = number(0, "[0, inf)")
    """Openings of games against perfect play, each played twice: those of one stone first, then of
    two. They give `strength.elo_to_perfect`, 0 for perfect play, and `strength.macs_to_perfect`. 0:
    none. On boards of 3 to 7 rows.
    """
    seed: int = number(2026, "[0, inf)")
    """Seed of the positions and openings, independent of that of training."""
    pool: PoolConfig = field(default_factory=PoolConfig)
    target: StrengthTargetConfig = field(default_factory=StrengthTargetConfig)


@dataclass
class OpeningsConfig(Settings, section="openings"):
    """The openings of a match."""

    plies: int | None = number(None, "[1, inf)")
    """Moves of an opening, below the size of the board; null: 2, or 1 with the swap rule."""
    balanced: bool = True
    """Whether to take fair ones: two moves on 8×8 to 13×13 from a list of `hexlit:large`, others by
    random playouts.
    """

    def length(self, *, swap: bool) -> int:
        """Moves of an opening, with or without the swap rule; raises `UsageError` if the rule
        forbids `plies`.
        """
        if swap and self.plies not in (None, 1):
            raise UsageError(
                f"openings.plies={self.plies}: with swap=true an opening is one move; leave it out"
            )
        return self.plies or (1 if swap else 2)


@dataclass
class SprtConfig(Settings, section="sprt"):
    """Wald's sequential test between two players, which ends the match when it is decided."""

    elo0: float = number(0.0, ELO)
    """Elo advantage of the first player under the null hypothesis."""
    elo1: float | None = number(None, ELO)
    """Elo advantage of the first player under the alternative; null: no test."""
    alpha: float = number(0.05, "(0, 0.5)")
    """Chance to accept `elo1` if `elo0` holds."""
    beta: float = number(0.05, "(0, 0.5)")
    """Chance to accept `elo0` if `elo1` holds."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.elo1 is not None and self.elo0 >= self.elo1:
            raise UsageError(
                f"sprt.elo0={self.elo0:g}, sprt.elo1={self.elo1:g}: elo0 must be below elo1"
            )


@dataclass
class PlaySettings(Settings):
    """Of a program that plays by HTP: thinking time, resignation, and limits of analyses."""

    seconds: float | None = number(None, "(0, 1e6]", unit="seconds")
    """Longest thinking time of a move, in seconds; null lets all simulations run."""
    resign: float = number(0.0, "[0, 0.5]")
    """Winning chance below which genmove resigns; 0: never."""
    interval: float = number(0.5, "(0, 3600]", unit="seconds")
    """Seconds between two reports of a live analysis."""
    live_simulations: int = number(1_000_000, "[1, inf)")
    """Number of simulations that ends a live analysis."""
    solver: bool = False
    """Whether the exact solver chooses moves if it can prove a win, on boards of up to 8 rows. On
    larger ones it plays the wins that virtual connections alone prove.
    """
    proof_seconds: float = number(2.0, "(0, 1e6]", unit="seconds")
    """Longest time of the solver for a move of `solver`, in seconds."""
    solver_seconds: float = number(30.0, "(0, 1e9]", unit="seconds")
    """Longest time of the exact solver for one answer, in seconds."""
