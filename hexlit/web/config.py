"""Settings of `hexlit play`: of its server, and of what it offers first."""

import re
from dataclasses import dataclass, field
from typing import Any

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.arena.player_spec import LEVELS
from hexlit.errors import UsageError
from hexlit.search.config import BOARDS, SearchConfig
from hexlit.settings import Settings, number, one_of

WITHOUT_NETWORK = 11
"""Rows of the first board."""
MY_LEVEL = "my level"
"""On the page: the level that moves with the results of the person."""
NETWORK = "network"
"""Name of the player of `checkpoint`."""

_NAME = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")


@dataclass
class WebSettings(Settings):
    """Access to the server, and the resources of one browser."""

    host: str = "127.0.0.1"
    """Address to listen on; any address but this computer's own is open to others."""
    port: int = number(8260, "[0, 65535]")
    """TCP port; 0: any free one."""
    open: bool = True
    """Whether to open the page in the browser."""
    names: list[str] = field(default_factory=list)
    """Further names of the server, such as that of this computer in its network; browsers may use
    them.
    """
    browsers: int = number(16, "[1, 1000000]")
    """Most pages at a time."""
    tree_megabytes: int = number(64, "[1, 1000000]")
    """Memory of the search tree of one player in one browser, in MB."""
    seconds: float = number(60.0, "[0.01, 3600]", unit="seconds")
    """Longest thinking time of a move, in seconds."""
    resign: float = number(0.0, "[0, 0.5]")
    """A searching player whose winning chance is below this number resigns; 0: never."""
    live_simulations: int = number(100_000, "[1, 1000000]")
    """Most simulations of a study."""
    interval: float = number(0.25, "[0.01, 3600]", unit="seconds")
    """Time between two reports of a study, in seconds."""
    solver: bool = False
    """Whether the exact solver chooses the moves that it can prove to win, on boards of up to 8
    rows. On larger ones it plays the wins that virtual connections alone prove.
    """
    proof_seconds: float = number(2.0, "[0.01, 3600]", unit="seconds")
    """Longest time of the solver for a move with `solver`, in seconds."""
    solver_seconds: float = number(30.0, "[0.01, 3600]", unit="seconds")
    """Longest time of the exact solver for one answer, in seconds."""
    search: SearchConfig = field(default_factory=lambda: SearchConfig(simulations=64))
    """Search of the players; its `simulations` are those of a move, unless the page asks for
    others.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        for known in self.names:
            if not _NAME.fullmatch(known):
                raise UsageError(
                    f"names: {known!a}: a name without port is needed, such as desk.local"
                )


@dataclass
class PlayConfig(WebSettings):
    """Settings of `hexlit play`."""

    checkpoint: str | None = None
    """First player on offer: a checkpoint, the folder of its run, or a packaged network such as
    `hexlit:small`. Null: the packaged network that fits the board.
    """
    level: int | None = number(None, f"[1, {len(LEVELS)}]")
    """Level of the first player on offer, from 1, for beginners, on. Null: the network as strong as
    it is.
    """
    players: list[Any] = field(default_factory=list)
    """Further players, in the notation of `hexlit match`."""
    board: int | None = number(None, BOARDS)
    """Rows of the first board. Null: the board of `checkpoint`, or 11."""
    terminal: bool = False
    """Whether to play on the terminal instead of the page; swap, you and against belong to it."""
    swap: bool = False
    """Whether White may swap."""
    you: str = one_of(("black", "white", "both", "none"), "black")
    """Your colour."""
    against: str | None = None
    """Name of the other player. Null: the first on offer."""
    rollouts: int = number(32, "[1, inf)")
    """Random playouts per leaf of the player `rollouts`."""
    seed: int | None = number(None, "[0, inf)")
    """Seed of the players with random draws. Null: another one for each of their moves."""
    accelerator: AcceleratorConfig = field(default_factory=AcceleratorConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, default in (("swap", False), ("you", "black"), ("against", None)):
            if not self.terminal and getattr(self, name) != default:
                raise UsageError(
                    f"{name}={getattr(self, name)}: belongs to terminal=true; the page asks for it"
                )
