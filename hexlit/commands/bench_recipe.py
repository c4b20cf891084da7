"""`hexlit bench experiment=NAME`: a recipe of `hexlit train`, with its own board, network, search and batches."""

from dataclasses import replace

from omegaconf import DictConfig

from hexlit.commands import tasks
from hexlit.commands.application import run, typed
from hexlit.commands.bench_hex import measured
from hexlit.commands.bench_output import give_out, make_folders
from hexlit.commands.bench_settings import BenchConfig
from hexlit.commands.bench_task import split
from hexlit.tasks.hex.config import HexTrainConfig


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides, including those of `hexlit train`; returns the exit code."""
    recipe = ["task=hex", *argv]
    tasks.register(recipe)
    asked: list[BenchConfig] = []

    def taken_apart(argv: list[str]) -> list[str]:
        settings, rest = split(argv)
        asked.append(settings)
        return rest

    def bench(config: DictConfig) -> None:
        bench_recipe(asked[0], typed(config, HexTrainConfig))

    return run(bench, "bench_task", recipe, prepare=taken_apart, command="bench")


def bench_recipe(asked: BenchConfig, settings: HexTrainConfig) -> None:
    """Measure the kinds in `asked`, with the `settings` of the recipe."""
    from rich.console import Console

    asked = replace(
        asked,
        board=settings.board,
        net=settings.net,
        search=settings.search,
        selfplay=settings.selfplay,
        optimizer=settings.optimizer,
        trainer=settings.trainer,
        accelerator=settings.hardware,
    )
    make_folders(asked)
    with Console(stderr=True).status("measuring") as status:
        report = measured(asked, status.update)
    give_out(report, asked)
