"""The project's page on Weights & Biases, written as code: sections and panels over the logged metrics."""

from collections.abc import Sequence
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


PHASES = ("selfplay", "training", "evaluation")
RATES = {
    "Training, positions a second": "throughput/training_positions_per_second",
    "Self-play, evaluations a second": "throughput/selfplay_evaluations_per_second",
    "Busy in training": "device/training_utilisation",
}
"""Title and metric of the charts by device."""


def build_workspace(entity: str, project: str) -> ws.Workspace:
    """The workspace of `entity`/`project`; nothing is sent before `save`."""
    sections = [
        ws.Section(name=name, panels=panels, is_open=name in ("Training", "Strength"))
        for name, panels in panels_by_section().items()
    ]
    settings = ws.WorkspaceSettings(x_axis="epoch", group_by_prefix="first", max_runs=20)
    return ws.Workspace(entity=entity, project=project, name=NAME, sections=sections, settings=settings)


def panels_by_section() -> dict[str, list[Any]]:
    """The panels of each section, in their order."""
    strength = [
        line(f"{metric.partition('/')[2]} over {title}", [metric], axis) for title, axis in AXES for metric in STRENGTH
    ]
    parts = ("load", "forward", "loss", "backward", "update")
    coordinates = [
        wr.ParallelCoordinatesPlotColumn(metric=wr.Config(name), log=True if name in _LOGARITHMIC else None)
        for name in SEARCHED
    ]
    coordinates.append(wr.ParallelCoordinatesPlotColumn(metric=wr.SummaryMetric(OBJECTIVE)))
    value, over = wr.SummaryMetric(OBJECTIVE), "strength/simulations"
    return {
        "Training": [
            line("Losses", ["train/loss", "train/policy_loss", "train/value_loss"]),
            line("Comparable loss", ["train/comparable_loss", "val/comparable_loss"]),
            line("Validation", ["val/loss", "val/policy_loss", "val/value_loss"]),
            line("Learning rate", ["train/lr"]),
            line("Examples a second", ["throughput/training_positions_per_second"]),
            line("Steps without a finite gradient", ["train/skipped_steps"]),
        ],
        "Self-play": [
            line("Games a second", ["selfplay/games_per_second"]),
            line("Positions a second", ["throughput/selfplay_positions_per_second"]),
            line("Evaluations a second", ["throughput/selfplay_evaluations_per_second"]),
            line("Moves a game", ["selfplay/moves_a_game"]),
            line("Window, positions", ["selfplay/window"]),
            line("Shares", ["selfplay/recalled_share", "selfplay/false_resign_share"]),
            wr.WeavePanelSummaryTable(table_name="games/samples"),
        ],
        "Strength": [
            *strength,
            line("Moves that keep the win", ["strength/search_optimality", "strength/policy_optimality"]),
            line("Value without search", ["strength/value_brier", "strength/value_calibration_error"]),
            wr.MediaBrowser(title="Openings", media_keys=["strength/opening_map", "strength/value_opening_map"]),
        ],
        "Time and device": [
            line("Seconds by phase", [f"time/{phase}_seconds" for phase in PHASES]),
            line("Utilisation by phase", [f"device/{phase}_utilisation" for phase in PHASES]),
            line("Seconds of the steps", [f"time/steps_{part}_seconds" for part in parts]),
            line("Share of waiting for data", ["time/steps_load_share"]),
            line("Memory, MB", ["device/memory_host_mb", "device/memory_device_mb"]),
            line("Operations over seconds", ["cost/flops"], "time/wall_seconds"),
        ],
        "Sweeps": [
            wr.ParallelCoordinatesPlot(title="Trials", columns=coordinates),
            wr.ParameterImportancePlot(with_respect_to=OBJECTIVE),
            wr.ScatterPlot(title="Learning rate", x=wr.Config("optimizer.lr"), y=value, log_x=True),
            line("Best value by trial", ["sweep/best", "sweep/value"], "sweep/trial"),
            line("Best value by seconds", ["sweep/best"], "sweep/seconds"),
            wr.WeavePanelSummaryTable(table_name="sweep/trials"),
        ],
        "Accelerators": [
            wr.BarPlot(title=title, metrics=[metric], groupby=wr.Config("device"), groupby_aggfunc="median")
            for title, metric in RATES.items()
        ],
        "Matches": [wr.WeavePanelSummaryTable(table_name=f"match/{name}") for name in ("players", "cross", "games")],
        "Strength runs": [
            line("Moves that keep the win", ["strength/games_optimality", "strength/random_optimality"], over),
            line("Openings judged right", ["strength/openings_right"], over),
        ],
        "Other tasks": [
            wr.LinePlot(title="Validation", x="epoch", metric_regex="val/.*"),
            wr.LinePlot(title="Validation over seconds", x="time/wall_seconds", metric_regex="val/.*"),
            wr.LinePlot(title="Examples a second", x="epoch", metric_regex="throughput/training_.*"),
        ],
    }


def line(title: str, metrics: Sequence[str], over: str = "epoch") -> wr.LinePlot:
    """Curves of `metrics` over an axis."""
    return wr.LinePlot(title=title, x=over, y=list(metrics))
