"""`hexlit bench what=train task=NAME`: training steps of a task, with the settings of `hexlit train task=NAME`."""

from typing import TYPE_CHECKING

from hydra import compose, initialize_config_module
from omegaconf import DictConfig

from hexlit.commands import tasks
from hexlit.commands.application import run, typed
from hexlit.commands.bench_output import give_out, machine, make_folders
from hexlit.commands.bench_settings import BenchConfig
from hexlit.commands.user_errors import CONFIG_PACKAGE, VERSION_BASE
from hexlit.errors import UsageError
from hexlit.tasks.run_config import RunConfig

if TYPE_CHECKING:  # torch is imported only for a measurement
    from hexlit.bench.report import Report

OF_THE_BENCH = ("what", "repeats", "seconds", "compiled", "checkpoint", "json", "markdown", "output", "write")
"""Settings that belong to `hexlit bench`, not to the task."""


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides; returns the exit code."""
    tasks.register(argv)
    asked: list[BenchConfig] = []

    def taken_apart(argv: list[str]) -> list[str]:
        settings, rest = of_training(argv)
        asked.append(settings)
        return rest

    def bench(config: DictConfig) -> None:
        bench_task(typed(config, RunConfig), asked[0])

    return run(bench, "bench_task", argv, prepare=taken_apart, command="bench")


def split(argv: list[str]) -> tuple[BenchConfig, list[str]]:
    """The settings of the bench, and the remaining arguments for the task.

    Raises:
        UsageError: a setting of the bench is out of range.
    """
    own = [argument for argument in argv if argument.partition("=")[0] in OF_THE_BENCH]
    rest = [argument for argument in argv if argument not in own]
    with initialize_config_module(CONFIG_PACKAGE, version_base=VERSION_BASE):
        settings = typed(compose("bench", own), BenchConfig)
    return settings, rest


def of_training(argv: list[str]) -> tuple[BenchConfig, list[str]]:
    """As `split`, for a task with only training to measure.

    Raises:
        UsageError: another measurement is requested, or a setting is out of range.
    """
    settings, rest = split(argv)
    if settings.what != "train":
        raise UsageError(f"what={settings.what}: other tasks than hex are measured in training only: what=train")
    return settings, rest


def bench_task(settings: RunConfig, asked: BenchConfig) -> None:
    """Measure training steps of the task, and print the figures."""
    from rich.console import Console

    make_folders(asked)
    with Console(stderr=True).status(f"measuring training of {settings.task}"):
        report = measured(settings, asked)
    give_out(report, asked)


def measured(settings: RunConfig, asked: BenchConfig) -> "Report":
    """Measurements of the task's training steps with its `settings`, as long as `asked`."""
    for name in ("resume", "best"):
        if getattr(settings, name) is not None:
            raise UsageError(f"{name}={getattr(settings, name)}: a bench trains fresh weights; leave it out")
    from rich.console import Console

    from hexlit.accelerate.profile import build_profile
    from hexlit.bench.measure import Effort
    from hexlit.bench.report import Report
    from hexlit.bench.training import measure_training, task_trainee
    from hexlit.reporting.progress import TrainingProgress
    from hexlit.training.run import quiet_lightning

    profile = build_profile(settings.hardware, settings.device_defaults)
    profile.apply()
    quiet_lightning()
    name, silent = settings.task, Console(quiet=True)
    entry = tasks.known_tasks()[name]
    display = TrainingProgress(1, title="", console=silent)
    with task_trainee(name, lambda: entry.begin(settings).make(silent), display) as trainee:
        outcome = measure_training(trainee, Effort(asked.repeats, asked.seconds), profile)
    return Report(f"task {name}", {"task": name}, machine(profile), list(outcome.lines), list(outcome.findings))
