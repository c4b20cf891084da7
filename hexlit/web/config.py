"""Settings of the server."""

import re
from dataclasses import dataclass, field

from hexlit.errors import UsageError

_NAME = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")


@dataclass
class WebSettings:
    """Access to the server, and the resources of one browser."""

    host: str = "127.0.0.1"
    """Address to listen on; any address but this computer's own is open to others."""
    port: int = 8260
    """TCP port; 0: any free one."""
    open: bool = True
    """Whether to open the page in the browser."""
    names: list[str] = field(default_factory=list)
    """Further names of the server, such as that of this computer in its network; browsers may use them."""
    browsers: int = 16
    """Most pages at a time."""
    tree_megabytes: int = 64
    """Memory of the search tree of one player in one browser, in MB."""
    simulations: int = 64
    """Simulations per move, unless the page asks for others."""
    seconds: float = 60.0
    """Longest thinking time of a move, in seconds."""
    live_simulations: int = 100_000
    """Most simulations of a study."""
    interval: float = 0.25
    """Time between two reports of a study, in seconds."""
    solver: bool = False
    """Whether the exact solver chooses the moves that it can prove to win, on boards of up to 8 rows."""
    proof_seconds: float = 2.0
    """Longest time of the solver for a move with `solver`, in seconds."""
    solver_seconds: float = 30.0
    """Longest time of the exact solver for one answer, in seconds."""

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise UsageError(f"port={self.port}: a TCP port from 1 to 65535 is needed, or 0 for any that is free")
        for known in self.names:
            if not _NAME.fullmatch(known):
                raise UsageError(f"names: {known!a}: a name without port is needed, such as desk.local")
        for name in ("browsers", "tree_megabytes", "simulations", "live_simulations"):
            if not 1 <= getattr(self, name) <= 1_000_000:
                raise UsageError(f"{name}={getattr(self, name)}: a whole number from 1 to 1000000 is needed")
        for name in ("seconds", "interval", "proof_seconds", "solver_seconds"):
            if not 0.01 <= getattr(self, name) <= 3600:
                raise UsageError(f"{name}={getattr(self, name)}: a time from 0.01 to 3600 seconds is needed")
