"""One table maps the dotted names of `metrics.csv` to the groups of W&B and TensorBoard."""

import pytest

from hexlit.tasks.hex.task import HexTask
from hexlit.tracking.metric_names import Metric, MetricTable

REGROUPED = {
    "cost.seconds": "time/wall_seconds",
    "steps.skipped": "train/skipped_steps",
    "games.games": "data/games",
}
REGROUPED |= {"memory.host_mb": "device/memory_host_mb", "a.b.c": "a/b.c", "epoch": "epoch"}
BEST = {
    "max": ["val.top1_accuracy", "strength.openings_right"],
    "min": ["train.loss", "val.value_log_loss", "strength.value_brier", "strength.value_log_loss"],
    None: [
        "train.lr",
        "selfplay.games_per_second",
        "strength.openings",
        "cost.flops",
        "time.training_seconds",
        "epoch",
    ],
}


@pytest.mark.parametrize(("name", "best"), [(name, best) for best in BEST for name in BEST[best]])
def test_a_name_has_its_group_and_its_better_end(name: str, best: str | None) -> None:
    table = MetricTable(HexTask.metrics)
    assert table.grouped(name) == name.replace(".", "/")
    assert table.best(name) == best


@pytest.mark.parametrize("name", REGROUPED)
def test_some_names_have_another_group(name: str) -> None:
    table = MetricTable(HexTask.metrics)
    assert (table.grouped(name), table.best(name)) == (REGROUPED[name], None)


def test_axes_are_those_of_all_tasks_and_of_this_one() -> None:
    shared = ["epoch", "train/step", "cost/flops", "cost/actor_macs", "time/wall_seconds"]
    assert MetricTable().axes == shared
    assert MetricTable(HexTask.metrics).axes == [*shared, "selfplay/games", "selfplay/positions"]


def test_a_line_of_the_task_wins() -> None:
    table = MetricTable([Metric("train.loss", "other/name", best="max")])
    assert table.grouped("train.loss") == "other/name"
    assert table.best("train.loss") == "max"
