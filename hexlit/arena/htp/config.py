"""Settings of a program that plays by HTP."""

from dataclasses import dataclass

from hexlit.errors import UsageError


@dataclass
class PlaySettings:
    """Thinking time, resignation, and limits of analyses."""

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
        if self.seconds is not None and not 0 < self.seconds <= 1e6:
            raise UsageError(f"seconds={self.seconds}: a time above 0 seconds is needed, or null")
        if not 0 <= self.resign <= 0.5:
            raise UsageError(f"resign={self.resign}: a winning chance from 0 to 0.5 is needed")
        if not 0 < self.interval <= 3600:
            raise UsageError(f"interval={self.interval}: a time above 0 seconds is needed")
        if self.live_simulations < 1:
            raise UsageError(f"live_simulations={self.live_simulations}: must be 1 or more")
        if self.solver_nodes is not None and self.solver_nodes < 1:
            raise UsageError(f"solver_nodes={self.solver_nodes}: must be 1 or more, or null for no limit")
        if not 0 < self.proof_seconds <= 1e6:
            raise UsageError(f"proof_seconds={self.proof_seconds}: a time above 0 seconds is needed")
        if not 0 < self.solver_seconds <= 1e9:
            raise UsageError(f"solver_seconds={self.solver_seconds}: a time above 0 seconds is needed")
