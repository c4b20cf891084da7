"""`hexlit bench`: the speed of this machine in play, search, evaluation and training. Medians, with their spread."""

from omegaconf import DictConfig

from hexlit.commands import bench_recipe, bench_task
from hexlit.commands.application import run, typed
from hexlit.commands.bench_hex import measured
from hexlit.commands.bench_output import give_out, make_folders
from hexlit.commands.bench_settings import BenchConfig


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides; returns the exit code."""
    named = [argument for argument in argv if argument.startswith("task=")]
    if named and named[-1] != "task=hex":
        return bench_task.main(argv)
    others = [argument for argument in argv if argument not in named]
    if any(argument.startswith("experiment=") for argument in others):
        return bench_recipe.main(others)
    return run(bench, "bench", others)


def bench(config: DictConfig) -> None:
    """Measure the kinds in the configuration, and print the figures."""
    settings = typed(config, BenchConfig)
    from rich.console import Console

    make_folders(settings)
    with Console(stderr=True).status("measuring") as status:
        report = measured(settings, status.update)
    give_out(report, settings)
