"""The report of a run: what it shows of the files, and that a run without an end has one, too."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hexlit.reporting.html import render
from hexlit.reporting.page import Notes, Section
from hexlit.reporting.run import ending_lines, headline, how_it_ended, run_page, spans_of
from hexlit.reporting.run_files import rates_of, read_run
from hexlit.reporting.strength import hex_sections
from tests.reporting.documents import NASTY, checked, make_run, shown_end
from tests.reporting.test_strength import STRENGTH


def test_the_report_of_a_run_shows_all_of_it(tmp_path: Path) -> None:
    files = read_run(make_run(tmp_path / "run"))
    page = checked(render(run_page(files, [Section("Own", [Notes(["of the task"])])])))
    for expected in (
        "hex · run · finished",
        "best val.score",
        "of the task",
        "trainer.max_epochs",
        "net.blocks=[1]",
    ):
        assert expected in page.text
    figures = {
        "Total loss",
        "Policy loss",
        "Learning rate",
        "On validation data: score",
        "Throughput of training",
    }
    assert figures | {"Phases, processors and memory over time"} <= set(page.values("alt"))


def test_metrics_of_callbacks_have_curves(tmp_path: Path) -> None:
    files = read_run(make_run(tmp_path / "run"))
    assert "Further metrics" not in checked(render(run_page(files))).text
    columns = {"mine.norm": ["1", "", "3"], "train.entropy": ["1", "2", "3"], "mine.no": [""] * 3}
    more = replace(files, metrics={**files.metrics, **columns})
    page = checked(render(run_page(more)))
    assert "Further metrics" in page.text
    assert {"mine.norm", "train.entropy"} <= set(page.values("alt"))
    assert "mine.no" not in page.values("alt")
    assert more.further_metrics == ["mine.norm", "train.entropy"]


def test_a_run_that_was_killed_has_a_report(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    (folder / "summary.json").unlink()
    (folder / "steps.csv").unlink()
    with (folder / "metrics.csv").open("a") as file:
        file.write("3,3,0.1")  # a kill in the middle of a line
    files = read_run(folder)
    assert files.epochs == 3
    page = checked(render(run_page(files)))
    assert "has not ended: 3 epochs are done" in page.text


def test_a_run_that_has_just_begun_has_a_report(tmp_path: Path) -> None:
    (tmp_path / "phases.csv").write_text("epoch,phase\n")
    page = checked(render(run_page(read_run(tmp_path))))
    assert "No epoch has ended." in page.text


def test_whatever_a_run_is_called_its_page_stays_whole(tmp_path: Path) -> None:
    files = read_run(make_run(tmp_path / "run", name=NASTY, device=NASTY, versions={NASTY: NASTY}))
    assert checked(render(run_page(files))).text.count(NASTY) >= 4


def test_the_page_says_why_a_run_ended_and_its_best_epoch(tmp_path: Path) -> None:
    ending = {"why": "trainer.max_time", "epochs": 2, "asked": 9, "target": None}
    first, best = how_it_ended(
        read_run(make_run(tmp_path / "run", ending=ending, val={"loss": 0.5}))
    )
    assert first == "trainer.max_time ended the run after 2 of 9 epochs: loss 0.5000."
    assert (
        best
        == "best.ckpt is of epoch 2, the best by val.score (0.6000); other figures are of the last one."
    )


def test_the_headline_of_a_run_with_a_measured_strength_is_of_its_last_network_alone(
    tmp_path: Path,
) -> None:
    best = {"epoch": 1, "monitor": "strength.score", "value": 0.9}
    names = {}
    for restored in (False, True):
        folder = make_run(
            tmp_path / str(restored), best=best | {"restored": restored}, strength={"score": 0.8}
        )
        names[restored] = [name for name, _ in headline(read_run(folder))]
    assert "best strength.score" not in names[False]
    assert "best strength.score" in names[True]


def test_costs_are_those_of_the_measured_rates(tmp_path: Path) -> None:
    files = read_run(make_run(tmp_path / "run"))
    rates = rates_of(files)
    assert (rates.once_seconds, rates.epoch_seconds, rates.epochs) == (
        5.0,
        10.0,
        2,
    )  # the first epoch took longer
    assert rates.seconds(360) == 3605.0
    assert rates.epoch_flops == 1e12
    page = checked(render(run_page(files, epochs=[360, 7200], price=2.5))).text
    assert "At 2.5 an hour." in page
    for expected in ("7,200", "20.00", "50.00", "7.20 PFLOP"):
        assert expected in page


def test_the_timeline_lays_phases_end_to_end_and_samples_beside_them(tmp_path: Path) -> None:
    spans = spans_of(read_run(make_run(tmp_path / "run")))
    assert spans.phases["starting"] == [(0.0, 5.0)]
    assert spans.phases["training"] == [(5.0, 11.0), (18.0, 8.0), (28.0, 8.0)]
    cpu, memory = spans.meters
    assert cpu.points[0] == (6.0, 51.0)
    assert {value for _, value in memory.points} == {1.0}


def test_samples_of_a_resumed_run_begin_after_its_second_start(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    with (folder / "phases.csv").open("a") as file:
        file.write("3,starting,4,0.5,\n")
    with (folder / "resources.csv").open("a") as file:
        file.write("0.5,3,70,1073741824,,,\n")
    cpu, _ = spans_of(read_run(folder)).meters
    assert cpu.points[-1] == (42.5, 70.0)


RATES = {"games_per_second": 20.0, "positions_per_second": None, "evaluations_per_second": 14700.0}
TIMES = {
    "wall_seconds": 60.0,
    "work_seconds": 85.0,
    "device_utilisation": 0.93,
    "outside_network_share": 0.25,
}
PHASES: dict[str, Any] = {
    "selfplay": TIMES | RATES,
    "optimise": {
        "wall_seconds": 30.0,
        "outside_network_share": None,
        "positions_per_second": 1480.0,
    },
}
DONE = {"wall_seconds": 100.0, "epochs": 80, "games": 1200, "positions": 55123, "device": "cpu"}
SUMMARY: dict[str, Any] = DONE | {
    "phases": PHASES,
    "memory": {"host_peak_bytes": 3 * 2**29, "device_peak_bytes": 2**29},
    "strength": STRENGTH | {"policy_optimality": 0.96, "positions": 1000},
    "val": {"top1_accuracy": 0.512, "top5_accuracy": 0.83, "loss": 1.2, "value_brier": 0.2},
}


def printed(summary: dict[str, Any], width: int = 80) -> str:
    return shown_end(summary, hex_sections, width)


def test_the_end_shows_each_phase_and_the_time_that_no_phase_explains() -> None:
    text = printed(SUMMARY, 100)
    lines = {line.split()[0]: line.split() for line in text.splitlines()[::-1] if line.strip()}
    assert lines["selfplay"][1:] == ["1:00", "60.0%", "93.0%", "25.0%", "20.0", "–", "14.7k"]
    assert lines["optimise"][1:] == ["30.0", "s", "30.0%", "–", "–", "–", "1.48k", "–"]
    assert lines["other"][1:4] == ["10.0", "s", "10.0%"]
    assert lines["all"][1:3] == ["1:40", "100.0%"]
    assert "selfplay ran for 25.0 s more, next to the other phases" in text
    assert "outside" not in printed(
        {"wall_seconds": 100.0, "phases": {"training": {"wall_seconds": 90.0}}}
    )


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_end_of_a_run_is_short_and_whole_on_any_terminal(width: int) -> None:
    lines = printed(SUMMARY, width).splitlines()
    assert max(map(len, lines)) <= width
    assert len(lines) <= (25 if width >= 80 else 32)
    text = "\n".join(lines)
    for part in (
        "1,200",
        "55,123",
        "1.50 GiB",
        "512 MiB",
        "on cpu",
        "8/9",
        "90.0%",
        "96.0%",
        "51.2%",
        "0.2000",
    ):
        assert part in text
    assert "…" not in text
    assert "runs/one" in lines[-1]


TARGET: dict[str, Any] = {
    "least": {"openings_right": 25.0, "search_optimality": 0.99, "policy_optimality": 0.95},
    "figures": {"openings_right": 25.0, "search_optimality": 0.995, "policy_optimality": 0.97},
    "evaluations": 2,
    "running": 0,
    "reached_after": None,
}
LATEST = {
    "openings": 25,
    "openings_right": 17,
    "search_optimality": 0.985,
    "policy_optimality": 0.953,
    "score": 0.985,
}
COMMAND = "hexlit train resume=runs/hex5/a trainer.max_time=null"
REACHED = "openings 17/25, search optimal 98.5%, policy optimal 95.3%"
WANTED = "(target: openings 25/25, search optimal 99.0%, policy optimal 95.0%, in 2 evaluations in a row)"


def lines_of(
    why: str, epochs: int = 15, target: dict[str, Any] | None = None, **strength: object
) -> list[str]:
    ending = {"why": why, "epochs": epochs, "asked": 56, "target": target}
    return ending_lines(ending, LATEST | strength, COMMAND)


def test_a_run_that_ended_early_reports_figures_target_and_command() -> None:
    ended, command = lines_of("interrupted", target=TARGET, measured_after=14)
    assert ended == (
        f"The run was interrupted after 15 of 56 epochs, before its target: {REACHED}, "
        f"measured after 14 epochs {WANTED}."
    )
    assert command == f"To continue to its end: {COMMAND}"
    assert lines_of("trainer.max_time")[1] == command
    ending = {"why": "interrupted", "epochs": 0, "asked": 56, "target": None}
    assert "nothing measured yet" in ending_lines(ending, {}, COMMAND)[0]


def test_a_run_that_ended_for_good_names_no_command() -> None:
    of_15 = f"after 15 of 56 epochs: {REACHED}."
    assert lines_of("epochs", 56, TARGET) == [
        f"Target not reached in 56 epochs: {REACHED} {WANTED}."
    ]
    assert lines_of("epochs", 56) == []
    assert lines_of("trainer.patience") == [f"trainer.patience ended the run {of_15}"]
    assert lines_of("stopped") == [f"The run was stopped {of_15}"]
