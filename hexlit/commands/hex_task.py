"""Makes the task `hex`. It gets its measure by the exact truth here, which its room must not reach."""

from functools import partial

from rich.console import Console

from hexlit.accelerate.profile import DeviceProfile
from hexlit.accelerate.ranks import ranks
from hexlit.arena.strength import Strength, evaluation_batch, target_of
from hexlit.files import cache_folder
from hexlit.hex.openings import SOLVED
from hexlit.tasks.hex.config import HexTrainConfig
from hexlit.tasks.hex.task import HexTask
from hexlit.tasks.hex.warmup import HexWarmup


def make(config: HexTrainConfig, console: Console, warmup: HexWarmup) -> HexTask:
    """The task; its first kernels compile in `warmup`, which has started its players.

    The kernels of evaluation compile from now on, on the rank that evaluates.
    """
    if config.evaluation.every_epochs and ranks().writes:
        warmup.compile_later(evaluation_kernels(config))
    least = target_of(config.evaluation, config.board)
    return HexTask(config, console, warmup, partial(_make_strength, config), least)


def evaluation_kernels(config: HexTrainConfig) -> list[str]:
    """The sets of kernels that evaluation calls, and the positions that it solves."""
    if config.board not in SOLVED:
        return [f"search {config.search.algorithm}"]
    evaluation = config.evaluation
    numbers = (
        evaluation.positions,
        evaluation.quick_positions,
        evaluation.game_positions,
        evaluation.seed,
    )
    counts = " ".join(map(str, numbers))
    return ["search", "solver", f"positions {config.board} {counts}"]


def _make_strength(config: HexTrainConfig, profile: DeviceProfile) -> Strength:
    batch = evaluation_batch(config.evaluation, config.board, profile.evaluation_batch)
    return Strength(
        config.evaluation,
        config.search,
        size=config.board,
        swap=config.swap,
        batch=batch,
        cache=cache_folder() / "truth",
    )
