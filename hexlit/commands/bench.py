"""`hexlit bench`: the speed of this machine in play, search, evaluation and training. Medians, with
their spread.

With `experiment=NAME` it measures a recipe of `hexlit train`, with `task=NAME` training steps of
another task. Their settings are those of `hexlit train`; the settings of the bench itself are taken
out of the arguments first.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from hexlit.bench.config import MEASUREMENTS, QUICK, BenchConfig
from hexlit.commands import tasks
from hexlit.commands.application import register_schema, run, run_beside, typed
from hexlit.commands.command_line import as_json, print_results
from hexlit.commands.composing import is_for_train
from hexlit.commands.early_checks import refuse_missing
from hexlit.errors import UsageError
from hexlit.tasks.hex.config import HexTrainConfig
from hexlit.tasks.run_config import RunConfig

if TYPE_CHECKING:  # torch is imported only for a measurement
    from hexlit.accelerate.profile import DeviceProfile
    from hexlit.bench.measure import Report
    from hexlit.training.task import Task

register_schema("bench", BenchConfig)

OWN_KEYS = (
    "what",
    "repeats",
    "seconds",
    "compiled",
    "checkpoint",
    "json",
    "markdown",
    "output",
)
"""Settings that belong to `hexlit bench`, not to a recipe or a task."""


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides; returns the exit code."""
    if is_for_train(argv):
        tasks.register(argv)
        return run_beside(bench, RunConfig, "bench_task", argv, ("bench", BenchConfig, OWN_KEYS))
    own = [argument for argument in argv if argument != "task=hex"]
    return run(lambda composed: bench(typed(composed.config, BenchConfig)), "bench", own)


def bench(asked: BenchConfig, recipe: RunConfig | None = None) -> None:
    """Measure the kinds in `asked`, print the figures, and write them if requested."""
    refuse_missing(asked)
    from rich.console import Console

    from hexlit.files import write_text_atomic
    from hexlit.reporting.bench import bench_page
    from hexlit.reporting.text import markdown, terminal

    if asked.output is not None:  # before minutes are spent on the results
        Path(asked.output).mkdir(parents=True, exist_ok=True)
    with Console(stderr=True).status("measuring") as status:
        report = measured(asked, recipe, status.update)
    page = bench_page(report)
    document = report.document()
    print_results(asked, document, page, terminal(wide=200))
    if asked.output is not None:
        write_text_atomic(Path(asked.output) / "bench.json", as_json(document) + "\n")
        write_text_atomic(Path(asked.output) / "bench.md", markdown(page))


def measured(
    asked: BenchConfig,
    recipe: RunConfig | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> "Report":
    """The measurements that are `asked` for, of the `recipe` or task if there is one; `say` gets
    the name of each.

    Raises:
        UsageError: the recipe continues a run, or a task other than Hex is to be measured in
            anything but training.
    """
    from hexlit.training.run import quiet_lightning

    quiet_lightning()
    if recipe is None:
        return _bench_hex(asked, say)
    if isinstance(recipe, HexTrainConfig):
        own = {
            name: getattr(recipe, name)
            for name in ("board", "net", "search", "selfplay", "optimizer", "trainer")
        }
        return _bench_hex(replace(asked, accelerator=recipe.hardware, **own), say)
    return _bench_task(recipe, asked)


def _bench_hex(settings: BenchConfig, say: Callable[[str], None]) -> "Report":
    import torch

    from hexlit.bench.measure import Report, Subject
    from hexlit.commands.player_factory import applied_profile
    from hexlit.nets.tower import build_net
    from hexlit.tasks.hex.checkpoint import load_network

    profile = applied_profile(settings.accelerator)
    torch.manual_seed(0)
    if settings.checkpoint is None:
        net = build_net(settings.net)
        size = settings.board
    else:
        loaded = load_network(settings.checkpoint)
        net = loaded.net
        size = loaded.size
    subject = Subject(net, replace(settings, board=size), profile)
    report = Report(f"{size}x{size} board", {"board": size}, _machine(profile), [])
    kinds = QUICK if settings.what == "all" else (settings.what,)
    for number, kind in enumerate(kinds, start=1):
        say(f"measuring {kind} ({number} of {len(kinds)})")
        outcome = resolve_name(f"hexlit.bench.{MEASUREMENTS[kind]}")(subject)
        report.lines.extend(outcome.lines)
        report.findings.extend(outcome.findings)
        report.pace.update(outcome.pace)
    return report


def _bench_task(settings: RunConfig, asked: BenchConfig) -> "Report":
    """Training steps of another task."""
    if asked.what != "train":
        raise UsageError(
            f"what={asked.what}: other tasks than hex are measured in training only: what=train"
        )
    for name in ("resume", "best"):
        if getattr(settings, name) is not None:
            raise UsageError(
                f"{name}={getattr(settings, name)}: a bench trains fresh weights; leave it out"
            )
    from rich.console import Console

    from hexlit.accelerate.profile import build_profile
    from hexlit.bench.measure import Report
    from hexlit.bench.training import measure_training, task_trainee
    from hexlit.reporting.progress import TrainingProgress

    profile = build_profile(settings.hardware, settings.device_defaults)
    profile.apply()
    name = settings.task
    silent = Console(quiet=True)
    entry = tasks.known_tasks()[name]
    display = TrainingProgress(1, title="", console=silent)

    def make() -> "Task":
        task: Task = entry.make_task(settings, silent, entry.make_warmup(settings))
        return task

    with task_trainee(name, make, display) as trainee:
        outcome = measure_training(trainee, asked, profile)
    return Report(
        f"task {name}",
        {"task": name},
        _machine(profile),
        list(outcome.lines),
        list(outcome.findings),
    )


def _machine(profile: "DeviceProfile") -> dict[str, str | int]:
    """The machine behind the figures."""
    import platform
    from importlib.metadata import version

    from hexlit.accelerate.host import processor_identity

    processor = f"{platform.machine()} {processor_identity()}"
    machine: dict[str, str | int] = {
        "device": str(profile.device),
        "threads": profile.threads,
        "processor": processor,
    }
    return machine | {name: version(name) for name in ("torch", "numba", "hexlit")}
