"""The conversation of `hexlit htp`: its player, and the program's start and end."""

import contextlib
import os
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.arena.config import PlaySettings
from hexlit.commands.application import register_schema, run, typed
from hexlit.commands.composing import Composed
from hexlit.commands.early_checks import refuse_missing
from hexlit.errors import UsageError
from hexlit.search.config import BOARDS, SearchConfig
from hexlit.settings import number, one_of
from hexlit.tasks.hex.packaged import fitting_network, packaged_by_board
from hexlit.web.config import WITHOUT_NETWORK

if TYPE_CHECKING:  # torch and the kernels are imported only when the program plays
    from hexlit.arena.htp.protocol import Incoming
    from hexlit.commands.player_factory import NetworksByBoard


@dataclass
class HtpConfig(PlaySettings):
    """Settings of `hexlit htp`."""

    player: str = one_of(("network", "rollouts", "uniform"), "network")
    """Judge of positions: network (of `checkpoint`), rollouts (random playouts) or uniform (no
    judgement).
    """
    checkpoint: str | None = None
    """Checkpoint of the network, the folder of its run, or a packaged network such as
    `hexlit:small`. Null is the packaged network that fits the board.
    """
    board: int | None = number(None, BOARDS)
    """Rows of the board until `boardsize` sets others, 2 to 19. Null: the network's own board, or
    11.
    """
    swap: bool | None = None
    """Whether White may swap. Null: as the network was trained, else no."""
    reuse: bool = True
    """Whether a search continues with the results of the previous move's search."""
    rollouts: int = number(32, "[1, inf)")
    """Random playouts per leaf of `player=rollouts`."""
    seed: int = number(0, "[0, inf)")
    """Seed of the random playouts, and of the moves that levels draw."""
    search: SearchConfig = field(default_factory=SearchConfig)
    accelerator: AcceleratorConfig = field(default_factory=AcceleratorConfig)

    def __post_init__(self) -> None:
        """Refuse impossible combinations."""
        super().__post_init__()
        if self.player != "network" and self.checkpoint is not None:
            raise UsageError(
                f"player={self.player} checkpoint={self.checkpoint}: no network plays; leave one out"
            )
        if self.player == "network" and self.checkpoint is None and not packaged_by_board():
            raise UsageError(
                "checkpoint=null: no network comes along with this hexlit; name one, or player=rollouts"
            )


register_schema("htp", HtpConfig)


def converse(argv: list[str], incoming: "Incoming", write: Callable[[str], None]) -> int:
    """Run the command on a conversation that has begun; returns the exit code."""
    return run(
        lambda composed: htp(typed(composed.config, HtpConfig), incoming, write), "htp", argv
    )


def explain(argv: list[str]) -> int:
    """Answer `--help`, `--cfg job` and the other flags; returns the exit code."""

    def refuse(composed: Composed) -> None:
        raise UsageError(f"{' '.join(argv)}: a conversation takes settings only, no flags")

    return run(refuse, "htp", argv)


def htp(settings: HtpConfig, incoming: "Incoming", write: Callable[[str], None]) -> None:
    """Answer commands until `quit` or the end of the input.

    Args:
        settings: those of the command.
        incoming: commands; those about the program itself are answered already.
        write: writes an answer.
    """
    started = time.monotonic()
    refuse_missing(settings)
    from hexlit.arena.htp.session import HtpSession, Loaded, serve
    from hexlit.arena.thinker import Thinker
    from hexlit.hex.jit import use_threads
    from hexlit.tasks.hex.warmup import Compiling

    def load() -> Loaded:
        with closing(Compiling(["search"])) as kernels:  # during the import of torch
            networks = judge(settings)
            # The kernels work on one game, so more threads would only wait. The setting applies to
            # this thread alone.
            use_threads(1)
            print(
                "hexlit htp: getting ready; the first time, kernels are compiled",
                file=sys.stderr,
                flush=True,
            )
            kernels.wait()
        thinker = Thinker(
            settings.search,
            networks.make_evaluator,
            knows_swap=networks.knows_swap,
            shared_stones=networks.first_stones,
            reuse=settings.reuse,
        )
        return Loaded(thinker, networks.board, networks.knows_swap(networks.board))

    def say_ready() -> None:
        size = session.thinker.size
        network = settings.checkpoint or fitting_network(size)
        name = network if settings.player == "network" else f"player={settings.player}"
        seconds = time.monotonic() - started
        print(
            f"hexlit htp: {name} is ready on {size}x{size} after {seconds:.1f} s",
            file=sys.stderr,
            flush=True,
        )

    session = HtpSession(load, settings, settings.search.simulations, settings.board, settings.swap)
    session.seed = settings.seed
    session.loading.add_done_callback(
        lambda loading: incoming.end() if loading.exception() else None
    )
    session.get_ready()
    session.submit(say_ready)
    code = 0
    try:
        with contextlib.suppress(BrokenPipeError):  # the other side has left
            if not serve(incoming, write, session):
                # the input has ended, perhaps because loading failed: raises that error
                session.loading.result()
    except KeyboardInterrupt:
        code = 130
        if not session.busy:
            raise
    # the other thread compiles, and cannot be stopped; nothing is lost, the cache has whole files
    if session.busy:
        sys.stderr.flush()
        os._exit(code)


def judge(settings: HtpConfig) -> "NetworksByBoard":
    """The judge of positions."""
    from hexlit.arena.first_stones import FirstStones
    from hexlit.commands.player_factory import NetworksByBoard, networks_by_board
    from hexlit.search.evaluator import Evaluator, RolloutEvaluator, UniformEvaluator

    if settings.player == "network":
        board = settings.board or WITHOUT_NETWORK
        return networks_by_board(settings.checkpoint, board, settings.accelerator)

    def make(size: int, swap: bool, batch: int) -> Evaluator:
        uniform = settings.player == "uniform"
        return UniformEvaluator() if uniform else RolloutEvaluator(settings.rollouts, settings.seed)

    return NetworksByBoard(make, WITHOUT_NETWORK, lambda size: False, FirstStones(make))
