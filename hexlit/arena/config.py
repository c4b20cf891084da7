"""The `evaluation` section of the configuration, those of a match, and the settings of play over HTP."""

from dataclasses import dataclass, field

from hexlit.errors import UsageError

MODES = ("round_robin", "gauntlet")
"""Pairings of a match: all players meet all others, or only the first player does."""

MOST_ELO = 2000
"""Largest difference that a sequential test asks about: one game in 100,000 is lost."""


def check_least(least: int, section: str = "", **settings: int) -> None:
    """Refuse settings below `least`; raises `UsageError` with the key, which begins with `section`."""
    for name, value in settings.items():
        if value < least:
            raise UsageError(f"{section}{name}={value}: must be {least} or more")


@dataclass
class PoolConfig:
    """The rating pool of a run: matches of the network against earlier ones and fixed players."""

    every_epochs: int = 0
    """Epochs between two ratings; 0 rates nothing."""
    pairs: int = 16
    """Openings against each opponent, each played twice."""
    opponents: int = 3
    """Most earlier networks that a new one meets: the one before it, and others two, four, ... ratings ago."""

    def __post_init__(self) -> None:
        check_least(0, "evaluation.pool.", every_epochs=self.every_epochs)
        check_least(1, "evaluation.pool.", pairs=self.pairs, opponents=self.opponents)


@dataclass
class ProofConfig:
    """The end of a run by proven strength, measured on other positions than its final figures.

    The openings are the same in both, because a board has no others. Nothing is trained on either.
    """

    enabled: bool = False
    """Whether a run ends once its strength is proven; only on boards with solved openings, 3 to 7."""
    evaluations: int = 2
    """Evaluations in a row that have to reach all limits below; the search has to judge every opening right, too."""
    search_optimality: float = 0.99
    """Least share of won positions that the searched move keeps won."""
    policy_optimality: float = 0.95
    """Least share of them that the likeliest move of the policy keeps won."""

    def __post_init__(self) -> None:
        check_least(1, "evaluation.proof.", evaluations=self.evaluations)
        for name in ("search_optimality", "policy_optimality"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"evaluation.proof.{name}={getattr(self, name)}: a share, from 0 to 1, such as 0.95")


@dataclass
class EvaluationConfig:
    """Measurement of strength."""

    simulations: int = 64
    """Simulations of the search that is judged."""
    positions: int = 1000
    """Random won positions for the final figures."""
    quick_positions: int = 200
    """Other ones, drawn with `seed` + 1, that are judged during the run."""
    game_positions: int = 300
    """Positions from games, won and lost, for the value's calibration and a second optimality."""
    every_epochs: int = 1
    """Epochs between two measurements; 0 measures no strength."""
    match_pairs: int = 16
    """Openings of the match against rollouts on boards without solved positions, each played twice."""
    rollouts: int = 32
    """Random playouts per leaf of that opponent."""
    seed: int = 2026
    """Seed of the positions and openings, independent of that of training."""
    pool: PoolConfig = field(default_factory=PoolConfig)
    proof: ProofConfig = field(default_factory=ProofConfig)

    def __post_init__(self) -> None:
        counts = ("simulations", "positions", "quick_positions", "match_pairs", "rollouts")
        check_least(1, "evaluation.", **{name: getattr(self, name) for name in counts})
        check_least(0, "evaluation.", every_epochs=self.every_epochs, seed=self.seed)
        check_least(12, "evaluation.", game_positions=self.game_positions)


@dataclass
class OpeningsConfig:
    """The openings of a match."""

    plies: int | None = None
    """Moves of an opening, below the size of the board; null: 2, or 1 with the swap rule."""
    balanced: bool = True
    """Take the fairest of four times as many, judged by random playouts."""

    def __post_init__(self) -> None:
        if self.plies is not None and self.plies < 1:
            raise UsageError(f"openings.plies={self.plies}: must be 1 or more, or two games would be the same")

    def length(self, *, swap: bool) -> int:
        """Moves of an opening, with or without the swap rule; raises `UsageError` if the rule forbids `plies`."""
        if swap and self.plies not in (None, 1):
            raise UsageError(f"openings.plies={self.plies}: with swap=true an opening is one move; leave it out")
        return self.plies or (1 if swap else 2)


@dataclass
class SprtConfig:
    """Wald's sequential test between two players, which ends the match when it is decided."""

    elo0: float = 0.0
    """Elo advantage of the first player under the null hypothesis."""
    elo1: float | None = None
    """Elo advantage of the first player under the alternative; null: no test."""
    alpha: float = 0.05
    """Chance to accept `elo1` if `elo0` holds."""
    beta: float = 0.05
    """Chance to accept `elo0` if `elo1` holds."""
    every: int = 16
    """Pairs between two looks at the results; at most this many are played in parallel."""

    def __post_init__(self) -> None:
        if self.elo1 is not None and not -MOST_ELO <= self.elo0 < self.elo1 <= MOST_ELO:
            between = f"elo0 must be below elo1, both from {-MOST_ELO} to {MOST_ELO}"
            raise UsageError(f"sprt.elo0={self.elo0:g}, sprt.elo1={self.elo1:g}: {between}")
        if not (0 < self.alpha < 0.5 and 0 < self.beta < 0.5):
            raise UsageError(f"sprt.alpha={self.alpha:g}, sprt.beta={self.beta:g}: both lie between 0 and 0.5")
        check_least(1, "sprt.", every=self.every)


@dataclass
class PlaySettings:
    """Of a program that plays by HTP: thinking time, resignation, and limits of analyses."""

    seconds: float | None = None
    """Longest thinking time of a move, in seconds; null lets all simulations run."""
    resign: float = 0.0
    """Winning chance below which genmove resigns, 0 (never) to 0.5."""
    interval: float = 0.5
    """Seconds between two reports of a live analysis."""
    live_simulations: int = 1_000_000
    """Number of simulations that ends a live analysis."""
    solver: bool = False
    """Whether the exact solver chooses moves if it can prove a win, on boards of up to 8 rows."""
    proof_seconds: float = 2.0
    """Longest time of the solver for a move of `solver`, in seconds."""
    solver_nodes: int | None = None
    """Most positions that the exact solver may judge for one answer; null is no limit."""
    solver_seconds: float = 30.0
    """Longest time of the exact solver for one answer, in seconds."""

    def __post_init__(self) -> None:
        for name, most in (("seconds", 1e6), ("interval", 3600), ("proof_seconds", 1e6), ("solver_seconds", 1e9)):
            value = getattr(self, name)
            if value is not None and not 0 < value <= most:
                raise UsageError(f"{name}={value}: a time above 0 seconds is needed, up to {most:g}")
        if not 0 <= self.resign <= 0.5:
            raise UsageError(f"resign={self.resign}: a winning chance from 0 to 0.5 is needed")
        check_least(1, live_simulations=self.live_simulations)
        if self.solver_nodes is not None:
            check_least(1, solver_nodes=self.solver_nodes)
