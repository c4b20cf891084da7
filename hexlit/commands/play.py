"""`hexlit play`: a board to play and study on, in the browser; or a game on the terminal."""

from contextlib import closing

from hexlit.commands.application import command
from hexlit.settings import require
from hexlit.tasks.hex.packaged import fitting_network, packaged_by_board
from hexlit.web.config import NETWORK, WITHOUT_NETWORK, PlayConfig

NEEDED = ("fastapi", "pydantic", "uvicorn", "websockets")
"""Packages of the extra `web`."""


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
    """Print who plays and how to read the board, before the players are loaded, which takes
    seconds.
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
