"""One table maps the dotted names of `metrics.csv` to the groups of W&B and TensorBoard."""

import pytest

from hexlit.tasks.hex.task import HexTask
from hexlit.tracking.metric_names import Metric, MetricTable


@pytest.mark.row("F12")
@pytest.mark.parametrize(
    ("name", "grouped", "best"),
    [
        ("train.loss", "train/loss", "min"),
        ("train.lr", "train/lr", None),
        ("val.top1_accuracy", "val/top1_accuracy", "max"),
        ("val.value_log_loss", "val/value_log_loss", "min"),
        ("selfplay.games_per_second", "selfplay/games_per_second", None),
        ("strength.openings_right", "strength/openings_right", "max"),
        ("strength.openings", "strength/openings", None),
        ("strength.value_brier", "strength/value_brier", "min"),
        ("strength.value_log_loss", "strength/value_log_loss", "min"),
        ("cost.flops", "cost/flops", None),
        ("cost.seconds", "time/wall_seconds", None),
        ("memory.host_mb", "device/memory_host_mb", None),
        ("steps.skipped", "train/skipped_steps", None),
        ("time.training_seconds", "time/training_seconds", None),
        ("games.games", "data/games", None),
        ("a.b.c", "a/b.c", None),
        ("epoch", "epoch", None),
    ],
)
def test_a_name_has_its_group_and_its_better_end(name: str, grouped: str, best: str | None) -> None:
    table = MetricTable(HexTask.metrics)
    assert table.grouped(name) == grouped
    assert table.best(name) == best


def test_axes_are_those_of_all_tasks_and_of_this_one() -> None:
    shared = ["epoch", "train/step", "cost/flops", "time/wall_seconds"]
    assert MetricTable().axes == shared
    assert MetricTable(HexTask.metrics).axes == [*shared, "selfplay/games", "selfplay/positions"]


def test_a_line_of_the_task_wins() -> None:
    table = MetricTable([Metric("train.loss", "other/name", best="max")])
    assert table.grouped("train.loss") == "other/name"
    assert table.best("train.loss") == "max"
