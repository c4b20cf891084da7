"""The project's page on Weights & Biases, written as code: sections and panels over the logged metrics."""

from collections.abc import Iterator, Sequence
from typing import Any

import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws

NAME = "hexlit"

AXES = (
    ("epochs", "epoch"),
    ("games", "selfplay/games"),
    ("operations", "cost/flops"),
    ("seconds", "time/wall_seconds"),
)
"""Axes of the charts of strength: name and metric."""

STRENGTH = ("strength/score", "strength/openings_right")

SEARCHED = ("optimizer.lr", "optimizer.weight_decay", "value_weight", "net.channels", "data.window", "seed")
"""First settings in a sweep's parallel coordinates; others can be added on the page."""

_LOGARITHMIC = ("optimizer.lr", "optimizer.weight_decay")
OBJECTIVE = "objective_value"
"""Name of a trial's value in its summary."""


def build_workspace(entity: str, project: str) -> ws.Workspace:
    """The workspace of `entity`/`project`; nothing is sent before `save`."""
    sections = {
        "Training": training(),
        "Self-play": self_play(),
        "Strength": strength(),
        "Time and device": time_and_device(),
        "Sweeps": sweeps(),
        "Accelerators": accelerators(),
        "Matches": matches(),
        "Strength runs": strength_runs(),
        "Other tasks": other_tasks(),
    }
    return ws.Workspace(
        entity=entity,
        project=project,
        name=NAME,
        sections=[
            ws.Section(name=name, panels=list(panels), is_open=name in ("Training", "Strength"))
            for name, panels in sections.items()
        ],
        settings=ws.WorkspaceSettings(x_axis="epoch", group_by_prefix="first", max_runs=20),
    )


def training() -> Iterator[Any]:
    """Losses, the learning rate, and steps that changed nothing."""
    yield line("Losses", ["train/loss", "train/policy_loss", "train/value_loss"])
    yield line("Comparable loss", ["train/comparable_loss", "val/comparable_loss"])
    yield line("Validation", ["val/loss", "val/policy_loss", "val/value_loss"])
    yield line("Learning rate", ["train/lr"])
    yield line("Examples a second", ["throughput/training_positions_per_second"])
    yield line("Steps without a finite gradient", ["train/skipped_steps"])


def self_play() -> Iterator[Any]:
    """The speed of making games, and properties of the games."""
    yield line("Games a second", ["selfplay/games_per_second"])
    yield line("Positions a second", ["throughput/selfplay_positions_per_second"])
    yield line("Evaluations a second", ["throughput/selfplay_evaluations_per_second"])
    yield line("Moves a game", ["selfplay/moves_a_game"])
    yield line("Window, positions", ["selfplay/window"])
    yield line("Shares", ["selfplay/recalled_share", "selfplay/false_resign_share"])
    yield wr.WeavePanelSummaryTable(table_name="games/samples")


def strength() -> Iterator[Any]:
    """Strength over everything that it may cost, and the map of openings."""
    for title, axis in AXES:
        for metric in STRENGTH:
            yield line(f"{metric.partition('/')[2]} over {title}", [metric], axis)
    yield line("Moves that keep the win", ["strength/search_optimality", "strength/policy_optimality"])
    yield line("Value without search", ["strength/value_brier", "strength/value_calibration_error"])
    yield wr.MediaBrowser(title="Openings", media_keys=["strength/opening_map", "strength/value_opening_map"])


def time_and_device() -> Iterator[Any]:
    """Seconds by phase, and how busy the device is."""
    phases = ("selfplay", "training", "evaluation")
    yield line("Seconds by phase", [f"time/{phase}_seconds" for phase in phases])
    yield line("Utilisation by phase", [f"device/{phase}_utilisation" for phase in phases])
    parts = ("load", "forward", "loss", "backward", "update")
    yield line("Seconds of the steps", [f"time/steps_{part}_seconds" for part in parts])
    yield line("Share of waiting for data", ["time/steps_load_share"])
    yield line("Memory, MB", ["device/memory_host_mb", "device/memory_device_mb"])
    yield line("Operations over seconds", ["cost/flops"], "time/wall_seconds")


def sweeps() -> Iterator[Any]:
    """Trials side by side, and the best value over time."""
    columns = [
        wr.ParallelCoordinatesPlotColumn(metric=wr.Config(name), log=True if name in _LOGARITHMIC else None)
        for name in SEARCHED
    ]
    columns.append(wr.ParallelCoordinatesPlotColumn(metric=wr.SummaryMetric(OBJECTIVE)))
    yield wr.ParallelCoordinatesPlot(title="Trials", columns=columns)
    yield wr.ParameterImportancePlot(with_respect_to=OBJECTIVE)
    yield wr.ScatterPlot(title="Learning rate", x=wr.Config("optimizer.lr"), y=wr.SummaryMetric(OBJECTIVE), log_x=True)
    yield line("Best value by trial", ["sweep/best", "sweep/value"], "sweep/trial")
    yield line("Best value by seconds", ["sweep/best"], "sweep/seconds")
    yield wr.WeavePanelSummaryTable(table_name="sweep/trials")


def accelerators() -> Iterator[Any]:
    """Rates by device."""
    rates = {
        "Training, positions a second": "throughput/training_positions_per_second",
        "Self-play, evaluations a second": "throughput/selfplay_evaluations_per_second",
        "Busy in training": "device/training_utilisation",
    }
    for title, metric in rates.items():
        yield wr.BarPlot(title=title, metrics=[metric], groupby=wr.Config("device"), groupby_aggfunc="median")


def matches() -> Iterator[Any]:
    """Ratings, the cross table, and games."""
    for table in ("match/players", "match/cross", "match/games"):
        yield wr.WeavePanelSummaryTable(table_name=table)


def strength_runs() -> Iterator[Any]:
    """A network's strength by simulations per move."""
    over = "strength/simulations"
    yield line("Moves that keep the win", ["strength/games_optimality", "strength/random_optimality"], over)
    yield line("Openings judged right", ["strength/openings_right"], over)


def other_tasks() -> Iterator[Any]:
    """Every validated figure; names differ from task to task."""
    yield wr.LinePlot(title="Validation", x="epoch", metric_regex="val/.*")
    yield wr.LinePlot(title="Validation over seconds", x="time/wall_seconds", metric_regex="val/.*")
    yield wr.LinePlot(title="Examples a second", x="epoch", metric_regex="throughput/training_.*")


def line(title: str, metrics: Sequence[str], over: str = "epoch") -> wr.LinePlot:
    """Curves of `metrics` over an axis."""
    return wr.LinePlot(title=title, x=over, y=list(metrics))
