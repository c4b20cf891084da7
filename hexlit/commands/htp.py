"""`hexlit htp`: a network at the table with other programs, by the Hex Text Protocol over standard input and output."""

import contextlib
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.arena.htp.config import PlaySettings
from hexlit.commands.application import register_schema, run, typed
from hexlit.errors import UsageError
from hexlit.search.config import SearchConfig

if TYPE_CHECKING:  # torch and the kernels are imported only when the program plays
    from hexlit.arena.thinker import MakeEvaluator

PLAYERS = ("network", "rollouts", "uniform")

BOARD_WITHOUT_NETWORK = 11


@dataclass
class HtpConfig(PlaySettings):
    """What `hexlit htp` takes."""

    player: str = "network"
    """Who judges positions: network (of `checkpoint`), rollouts (random playouts) or uniform (nobody)."""
    checkpoint: str | None = None
    """Checkpoint of the network, or the folder of its run."""
    board: int | None = None
    """Rows of the board until `boardsize` says otherwise, 2 to 19; null is what the network was trained for, or 11."""
    swap: bool | None = None
    """Whether White may swap; null is as the network was trained, else no."""
    reuse: bool = True
    """Whether a search goes on with what the one of the move before has found."""
    rollouts: int = 32
    """Random playouts a leaf of `player=rollouts`."""
    seed: int = 0
    """Seed of those playouts."""
    search: SearchConfig = field(default_factory=SearchConfig)
    accelerator: AcceleratorConfig = field(default_factory=AcceleratorConfig)

    def __post_init__(self) -> None:
        """Refuse what no part can check alone."""
        super().__post_init__()
        if self.player not in PLAYERS:
            raise UsageError(f"player={self.player}: choose one of {', '.join(PLAYERS)}")
        if (self.player == "network") != (self.checkpoint is not None):
            raise UsageError(
                f"player={self.player} checkpoint={self.checkpoint}: a network is played from a checkpoint, "
                "checkpoint=FILE; player=rollouts and player=uniform need none"
            )
        if self.board is not None and not 2 <= self.board <= 19:
            raise UsageError(f"board={self.board}: networks and search take boards of 2 to 19 rows")
        if self.rollouts < 1 or self.seed < 0:
            raise UsageError(f"rollouts={self.rollouts}, seed={self.seed}: 1 playout or more, a seed of 0 or more")


register_schema("htp", HtpConfig)


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides; returns the exit code."""
    return run(htp, "htp", argv)


def htp(config: DictConfig) -> None:
    """Answer commands until `quit` or the end of the input."""
    started = time.monotonic()
    settings = typed(config, HtpConfig)
    import numba

    from hexlit.arena.htp.channel import Incoming, private_output, write
    from hexlit.arena.htp.server import serve
    from hexlit.arena.htp.session import new_session
    from hexlit.arena.thinker import Thinker

    # The kernels work on one game: further threads would only be waited for.
    numba.set_num_threads(1)
    # From here on nothing but the protocol reaches standard output, whatever a library prints.
    with private_output() as out:
        make_evaluator, board, knows_swap = judge(settings)
        print("hexlit htp: getting ready; the first time, kernels are compiled", file=sys.stderr, flush=True)
        size = settings.board or board
        thinker = Thinker(settings.search, make_evaluator, knows_swap=knows_swap, reuse=settings.reuse)
        session = new_session(thinker, settings, size, swap=knows_swap if settings.swap is None else settings.swap)
        name = settings.checkpoint if settings.player == "network" else f"player={settings.player}"
        seconds = time.monotonic() - started
        print(f"hexlit htp: {name} is ready on {size}x{size} after {seconds:.1f} s", file=sys.stderr, flush=True)
        with contextlib.suppress(BrokenPipeError):  # the other side has left without a word
            serve(Incoming(0), lambda text: write(out, text), session)


def judge(settings: HtpConfig) -> tuple["MakeEvaluator", int, bool]:
    """Makes evaluators; the size of the board they suit best, and whether they know the swap."""
    from hexlit.search.evaluator import Evaluator, RolloutEvaluator, UniformEvaluator

    if settings.checkpoint is not None:
        return judge_by_network(settings.checkpoint, settings.accelerator)

    def make(size: int, swap: bool, batch: int) -> Evaluator:
        del size, swap, batch
        if settings.player == "uniform":
            return UniformEvaluator()
        return RolloutEvaluator(settings.rollouts, settings.seed)

    return make, BOARD_WITHOUT_NETWORK, False


def judge_by_network(checkpoint: str, accelerator: AcceleratorConfig) -> tuple["MakeEvaluator", int, bool]:
    """As `judge`, by the network of a checkpoint."""
    from hexlit.accelerate.profile import build_profile
    from hexlit.nets.evaluator import NetworkEvaluator
    from hexlit.tasks.hex.checkpoint import load_network

    profile = build_profile(accelerator)
    profile.apply()
    loaded = load_network(Path(checkpoint))

    def make(size: int, swap: bool, batch: int) -> NetworkEvaluator:
        return NetworkEvaluator(loaded.net, size=size, swap=swap, batch=batch, profile=profile)

    return make, loaded.size, loaded.swap
