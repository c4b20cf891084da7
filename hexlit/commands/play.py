"""`hexlit play`: a board to play and study on, in the browser; or a game on the terminal."""

from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.arena.player_spec import LEVELS
from hexlit.commands.application import command
from hexlit.search.config import BOARDS
from hexlit.settings import number, one_of, require
from hexlit.tasks.hex.packaged import fitting_network, packaged_by_board
from hexlit.web.config import NETWORK, WITHOUT_NETWORK, WebSettings

NEEDED = ("fastapi", "pydantic", "uvicorn", "websockets")
"""Packages of the extra `web`."""


@dataclass
class PlayConfig(WebSettings):
    """Settings of `hexlit play`."""

    checkpoint: str | None = None
    """First player on offer: a checkpoint, the folder of its run, or a packaged network such as
    `hexlit:small`. Null: the packaged network that fits the board.
    """
    level: int | None = number(None, f"[1, {len(LEVELS)}]")
    """Level of the first player on offer, from 1,
    for beginners, on. Null: the network as strong as it is.
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
    seed: int = number(0, "[0, inf)")
    """Seed of the players with random draws."""
    accelerator: AcceleratorConfig = field(default_factory=AcceleratorConfig)


def play(settings: PlayConfig) -> None:
    """Serve the page until Ctrl-C, or play on the terminal."""
    if settings.terminal:
        greet(settings)
        from hexlit.commands.play_players import play_on_terminal

        play_on_terminal(settings)
        return
    require("play", {name: name for name in NEEDED}, "web")
    from hexlit.web.server import address, listen, serve

    listening = listen(settings)
    from hexlit.commands.play_players import get_ready, shared_by_all
    from hexlit.hex.jit import is_compiled
    from hexlit.tasks.hex.warmup import Compiling

    shared = shared_by_all(settings)
    with closing(Compiling(["search"])) as kernels:

        def begun() -> None:
            print(f"hexlit play: {address(listening)}  (Ctrl-C ends it)", flush=True)
            kernels.wait()
            if is_compiled("search"):  # not after Ctrl-C
                get_ready(shared)

        serve(shared, listening, begun, ended=kernels.close)


def greet(settings: PlayConfig) -> None:
    """Print who plays and how to read the board,
    before the players are loaded, which takes seconds.
    """
    from hexlit.reporting.board import LAST, SIDES

    first = NETWORK if settings.checkpoint is not None or packaged_by_board() else "rollouts"
    other = settings.against or (f"level-{settings.level}" if settings.level else first)
    if other == NETWORK:
        other += f" ({settings.checkpoint or fitting_network(settings.board or WITHOUT_NETWORK)})"
    sides = "both sides" if settings.you == "both" else f"{settings.you} (Black: X, White: O)"
    print(
        f"You play {sides}; {other} plays the rest.\n{SIDES}; {LAST}.\nLoading {other} ...",
        flush=True,
    )


main = command("play", PlayConfig, play)
