"""Runs that differ by their seeds, as one: which count as one, their means and their intervals."""

import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection

from hexlit.errors import UsageError
from hexlit.reporting.comparison import comparison_page
from hexlit.reporting.figures import STYLE, draw_chart
from hexlit.reporting.html import render
from hexlit.reporting.page import Chart, ChartLine
from hexlit.reporting.run_files import RunFiles
from hexlit.reporting.run_groups import (
    ComparedRun,
    bootstrap,
    grouped,
    interval_cell,
    line_of,
    notes_of,
)
from tests.reporting.documents import checked


def run(
    seed: int, losses: Sequence[object] = (3, 2, 1), *, pace: float = 10.0, **config: Any
) -> ComparedRun:
    """A run with a loss an epoch, each of `pace` seconds; None has no value."""
    count = len(losses)
    metrics = {
        "epoch": [str(epoch) for epoch in range(count)],
        "train.loss": ["" if loss is None else str(loss) for loss in losses],
        "cost.seconds": [str(pace * (epoch + 1)) for epoch in range(count)],
    }
    settings = {"seed": seed, "trainer": {"max_epochs": 3, "monitor": "train.loss"}} | config
    files = RunFiles(Path(f"r{seed}"), {"epochs": count}, metrics=metrics, config=settings)
    return ComparedRun(f"run {seed}", files, None)


def names(runs: Sequence[ComparedRun], *by: str) -> list[tuple[str, list[str]]]:
    return [(group.name, [one.name for one in group.runs]) for group in grouped(runs, by)]


def test_runs_that_differ_by_the_seed_alone_are_a_group() -> None:
    logger = [{"wandb": {"group": None}}, {"wandb": {"group": "s"}}]
    runs = [
        run(1, value_weight=0.5, net={"blocks": [2]}, logger=logger[0]),
        run(2, value_weight=2.0, net={"blocks": [2]}),
        run(3, value_weight=0.5, net={"blocks": [2]}, logger=logger[1], resume="r3"),
    ]
    expected = [("value_weight=0.5", ["run 1", "run 3"]), ("value_weight=2.0", ["run 2"])]
    assert names(runs) == expected
    assert names(runs, "value_weight") == expected
    assert names(runs, "blocks") == [("blocks=[2]", ["run 1", "run 2", "run 3"])]
    assert [group.label for group in grouped(runs)] == [
        "value_weight=0.5, 2 seeds",
        "value_weight=2.0",
    ]


def test_without_a_second_seed_every_run_is_by_itself() -> None:
    different = [run(1, value_weight=0.5), run(2, value_weight=2.0)]
    alike = [run(1), run(2)]
    each = [("run 1", ["run 1"]), ("run 2", ["run 2"])]
    assert names(different) == each
    assert names(alike, "seed") == each
    assert len(names(alike)) == 1


def test_repeated_seeds_are_grouped_only_on_request() -> None:
    twice = [run(1), run(2), run(1), run(2)]
    found = [name for name, _ in names(twice)]
    assert found == ["run 1", "run 2", "run 1", "run 2"]
    (group,) = grouped(twice, ["monitor"])
    assert group.name == "monitor=train.loss"
    assert notes_of(group, []) == [f"{group.name}: several runs have the same seed."]


def test_a_group_of_many_settings_has_the_name_of_its_recipe() -> None:
    many: dict[str, Any] = {"a": 1, "b": 1, "c": 1, "d": 1, "name": "deep"}
    other = many | {"a": 2}
    runs = [run(1)]
    for seed in (1, 2):
        runs.append(run(seed, **many))
        runs.append(run(seed, **other))
    assert [group.name for group in grouped(runs)] == ["r1", "deep", "deep 3"]


def test_names_with_the_same_last_part_stay_whole() -> None:
    rates: dict[str, Any] = {"net": {"lr": 1}, "optimizer": {"lr": 2}}
    runs = [run(1, **rates), run(2, **rates)]
    (group,) = grouped(runs, ["net.lr", "optimizer.lr"])
    assert group.name == "net.lr=1 · optimizer.lr=2"
    with pytest.raises(UsageError, match=r"by=lr: stands for net\.lr, optimizer\.lr; name one"):
        grouped(runs, ["lr"])


def test_the_interval_is_that_of_all_samples_of_the_seeds() -> None:
    values = np.array([[0.1, 5.0], [0.4, 5.0], [0.5, 5.0], [0.9, 9.0]])
    means = [values[list(drawn)].mean(0) for drawn in product(range(4), repeat=4)]
    exact = np.percentile(means, (2.5, 97.5), axis=0)
    ends = bootstrap(values)
    assert ends == pytest.approx(exact, abs=0.1 * np.ptp(exact, axis=0).min())
    assert (bootstrap(values) == ends).all()
    assert (bootstrap(np.ones((3, 2))) == 1).all()


def test_a_mean_has_the_points_of_all_runs_where_all_have_values() -> None:
    (group,) = grouped([run(1, [4, 2, 0], pace=10), run(2, [10, 30, 30], pace=15)])
    by_epoch = line_of(group, "train.loss", "epoch")
    assert by_epoch is not None
    assert by_epoch.points == [(0, 7), (1, 16), (2, 15)]
    # From the first point of the slower run to the last one of the faster run.
    over_time = line_of(group, "train.loss", "cost.seconds", 5.0)
    assert over_time is not None
    between = pytest.approx((2 + 50 / 3) / 2)
    expected = [(3, 6.5), (4, between), (6, 15)]
    assert over_time.points == expected
    assert tuple(over_time.reach[0]) == (3, 10)


def test_a_long_curve_is_thinned_to_its_end() -> None:
    (group,) = grouped([run(seed, range(2000)) for seed in (1, 2)])
    line = line_of(group, "train.loss", "epoch")
    assert line is not None
    assert len(line.xs) == len(line.reach) <= 300
    ends = [line.points[0], line.points[-1]]
    assert ends == [(0, 0), (1999, 1999)]


def test_a_mean_ends_with_the_shortest_run_which_is_named() -> None:
    (group,) = grouped([run(1), run(2), run(3, [9, 8])])
    line = line_of(group, "train.loss", "epoch")
    assert line is not None
    assert line.points == [(0, 5), (1, 4)]
    (note,) = notes_of(group, ["train.loss"])
    assert note.startswith("r1: seed 3 ended after 2 of 3 epochs; curves end with the shortest run")


def test_no_seed_drops_out_of_a_mean() -> None:
    (group,) = grouped([run(1), run(2, [None] * 3), run(3, [2, math.nan, 1])])
    assert line_of(group, "train.loss", "epoch") is None
    assert line_of(group, "mine.norm", "epoch") is None
    absent, broken = notes_of(group, ["train.loss", "mine.norm"])
    assert absent == "r1: train.loss of seed 2 was not measured; there is no mean."
    assert broken == "r1: train.loss of seed 3 is not finite in some epochs, which are left out."
    (pair,) = grouped([run(1), run(3, [2, math.nan, math.nan])])
    line = line_of(pair, "train.loss", "epoch")
    assert line is not None
    assert line.points == [(0, 2.5)]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([1, 2, 3], "2.0000 ± 2.4841"),  # 4.3027 standard errors with two degrees of freedom
        ([2, 2], "2.0000"),
        ([2], "2.0000"),
        ([1, None, 3], "–"),
        ([1, math.inf], "–"),
    ],
)
def test_a_final_figure_has_the_interval_of_its_mean(values: list[float | None], text: str) -> None:
    assert interval_cell(values).text == text


def test_intervals_are_bands_over_numbers_and_bars_over_names() -> None:
    line = ChartLine("a", [0, 1], [1, 2], reach=[(0, 2), (1, 3)])
    with matplotlib.rc_context(STYLE):
        (band,) = draw_chart(Chart([line])).axes[0].collections
        (bars,) = draw_chart(Chart([line], ticks=["x", "y"])).axes[0].collections
    assert isinstance(band, PolyCollection)
    assert isinstance(bars, LineCollection)
    assert band.get_paths()[0].get_extents().extents == pytest.approx([0, 0, 1, 3])


def test_the_page_has_means_notes_and_own_metrics() -> None:
    runs = [
        run(1, value_weight=1),
        run(2, value_weight=1),
        run(1, [5, 4], value_weight=2),
    ]
    for one in runs:
        one.files.metrics["mine.norm"] = one.files.metrics["train.loss"]  # type: ignore[index]
    page = checked(render(comparison_page(grouped(runs))))
    assert "value_weight=1: the intervals are of 2 seeds." in page.text
    assert "Further metrics" in page.text
    assert "mine.norm" in page.values("alt")
    alone = checked(render(comparison_page(grouped(runs[1:]))))
    assert "intervals" not in alone.text
