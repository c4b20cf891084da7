"""The measurements of `hexlit bench` for Hex: one kind after the other, and the report of all of them."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.commands.bench_output import machine
from hexlit.commands.bench_settings import QUICK, BenchConfig

if TYPE_CHECKING:  # torch is imported only for a measurement
    from hexlit.accelerate.profile import DeviceProfile
    from hexlit.bench.grid import Grid
    from hexlit.bench.measure import Effort, Measurement
    from hexlit.bench.positions import Recipe
    from hexlit.bench.report import Report
    from hexlit.nets.tower import HexNet


def measured(settings: BenchConfig, say: Callable[[str], None]) -> "Report":
    """The measurements of `settings`, on their device; `say` gets the name of each one."""
    import numba

    from hexlit.accelerate.profile import build_profile

    profile = build_profile(settings.accelerator)
    numba.set_num_threads(min(profile.threads, numba.config.NUMBA_NUM_THREADS))
    profile.apply()
    return measure(settings, profile, say)


def measure(config: BenchConfig, profile: "DeviceProfile", say: Callable[[str], None]) -> "Report":
    """All requested kinds of measurements; `say` gets the name of each one."""
    from hexlit.bench.actors import measure_actors
    from hexlit.bench.engine import measure_games, measure_search
    from hexlit.bench.evaluation import measure_table
    from hexlit.bench.leaves import measure_leaves
    from hexlit.bench.loader import measure_games_loader, measure_loader
    from hexlit.bench.measure import Effort
    from hexlit.bench.optimisation import advice, measure_training
    from hexlit.bench.pace import measure_pace
    from hexlit.bench.play import Game, measure_selfplay, measure_workers
    from hexlit.bench.positions import Recipe, positions_trainee
    from hexlit.bench.report import Report
    from hexlit.bench.solver_speed import measure_solver
    from hexlit.bench.trials import measure_trials
    from hexlit.training.run import quiet_lightning

    quiet_lightning()
    effort = Effort(config.repeats, config.seconds)
    net, size = network(config)
    game = Game(size, config.search, config.selfplay)
    recipe = Recipe(size, config.optimizer, config.trainer)
    lines: list[Measurement] = []
    message: list[str] = []
    grids: list[Grid] = []
    pace: dict[str, Any] = {}
    kinds = QUICK if config.what == "all" else (config.what,)
    for number, kind in enumerate(kinds, start=1):
        say(f"measuring {kind} ({number} of {len(kinds)})")
        if kind == "games":
            lines += measure_games(size, effort, profile)
        elif kind == "search":
            lines += measure_search(size, effort, profile)
        elif kind == "forward":
            more, sentences, grid = measure_table(net, size, effort, profile, config.compiled)
            lines += more
            message += sentences
            grids.append(grid)
        elif kind == "train":
            result = measure_training(positions_trainee(net, recipe), effort, profile)
            lines += result
            message += advice(result)
        elif kind == "selfplay":
            lines += measure_selfplay(net, game, effort, profile)
        elif kind == "loader":
            result = measure_loader(net, game, recipe, effort, profile)
            lines += [*result, measure_games_loader(size, result[-1], effort, profile)]
        elif kind == "workers":
            lines += measure_workers(net, game, effort, profile)
        elif kind == "actors":
            lines += measure_actors(net, game, effort, profile, config.ray, config.accelerator)
        elif kind == "solver":
            more, sentences = measure_solver(size, effort, profile)
            lines += more
            message += sentences
        elif kind == "pace":
            more, pace = measure_pace(net, game, recipe, effort, profile)
            lines += more
        elif kind == "leaves":
            lines += measure_leaves(net, size, config.search, effort, profile)
        elif kind == "trials":
            more, sentences = measure_trials(profile)
            lines += more
            message += sentences
        else:
            more, sentences = (find_batch if kind == "batch" else compare_devices)(config, net, recipe, effort, profile)
            lines += more
            message += sentences
    return Report(f"{size}x{size} board", {"board": size}, machine(profile), lines, message, grids, pace)


def network(config: BenchConfig) -> tuple["HexNet", int]:
    """The network to measure, and the size of its board."""
    import torch

    from hexlit.nets.tower import build_net
    from hexlit.tasks.hex.checkpoint import load_network

    if config.checkpoint is not None:
        loaded = load_network(config.checkpoint)
        return loaded.net, loaded.size
    torch.manual_seed(0)
    return build_net(config.net), config.board


def find_batch(
    config: BenchConfig, net: "HexNet", recipe: "Recipe", effort: "Effort", profile: "DeviceProfile"
) -> tuple[list["Measurement"], list[str]]:
    """Row A7: the batch size of this machine; written to a config if requested."""
    from hexlit.bench.batches import SIZES, best_batch, measure_batches, write_accelerator

    result = dict(zip(SIZES, measure_batches(net, recipe, effort, profile), strict=False))
    batch = best_batch(result, config.accelerator.memory_cap)
    message = [f"batch {batch} is the smallest within 5% of the best rate: accelerator.train_batch={batch}"]
    if config.write is not None:
        command = write_accelerator(Path(config.write), profile, batch)
        message.append(f"written to {config.write}; use it by `{command}`")
    return list(result.values()), message


def compare_devices(
    config: BenchConfig, net: "HexNet", recipe: "Recipe", effort: "Effort", profile: "DeviceProfile"
) -> tuple[list["Measurement"], list[str]]:
    """Row A8: the CPU beside the accelerator."""
    from hexlit.accelerate.profile import build_profile
    from hexlit.bench.comparison import compare
    from hexlit.bench.optimisation import BATCHES

    cpu = build_profile(
        AcceleratorConfig(
            device="cpu",
            threads=config.accelerator.threads,
            train_batch=profile.train_batch,
            evaluation_batch=profile.evaluation_batch,
        )
    )
    result = compare(net, recipe, effort, cpu, None if profile.device.type == "cpu" else profile)
    message = [
        f"{kind}: {profile.device} at {ratio:.2f} times the rate of the cpu" for kind, ratio in result.speed_ups.items()
    ]
    message += [
        f"loss in float32 after the same {BATCHES} steps on {device}: {loss:.6f}"
        for device, loss in result.losses.items()
    ]
    if not result.speed_ups:
        message.append("there is no accelerator to compare the cpu with; `hexlit doctor` says why")
    return result.lines, message
