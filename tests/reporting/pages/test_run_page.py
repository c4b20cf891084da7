"""The report of a run: what it shows of the files, and that a run without an end has one, too."""

from pathlib import Path

import pytest

from hexlit.reporting.pages.costs import lengths_of, rates_of
from hexlit.reporting.pages.page import Notes, Section, render
from hexlit.reporting.pages.run_files import read_columns, read_run
from hexlit.reporting.pages.run_page import ending_line, run_page
from hexlit.reporting.pages.timeline import spans_of
from tests.reporting.pages.documents import NASTY, checked, make_run


@pytest.mark.row("F13")
def test_the_report_of_a_run_shows_all_of_it(tmp_path: Path) -> None:
    files = read_run(make_run(tmp_path / "run"))
    page = checked(render(run_page(files, [Section("Own", [Notes(["of the task"])])])))
    for expected in (
        "tiny: hex",
        "best val.score",
        "did all its epochs",
        "of the task",
        "trainer.max_epochs",
        "command line",
    ):
        assert expected in page.text
    figures = page.values("alt")
    assert {"Total loss", "Policy loss", "Learning rate", "On validation data", "Throughput of training"} <= set(
        figures
    )
    assert "Phases, processors and memory over time" in figures


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


@pytest.mark.parametrize(
    ("why", "said"), [("proved", "proved its aim"), ("trainer.max_time", "ended by trainer.max_time")]
)
def test_the_end_of_a_run_is_told_in_words(why: str, said: str, tmp_path: Path) -> None:
    ending = {"why": why, "epochs": 2, "asked": 9, "proof": None}
    line = ending_line(read_run(make_run(tmp_path / "run", ending=ending)))
    assert said in line
    assert "after 2 of at most 9 epochs" in line


@pytest.mark.row("E15")
def test_costs_are_those_of_the_measured_rates(tmp_path: Path) -> None:
    files = read_run(make_run(tmp_path / "run"))
    rates = rates_of(files)
    assert (rates.once_seconds, rates.epoch_seconds, rates.epochs) == (5.0, 10.0, 2)  # the first epoch took longer
    assert rates.seconds(360) == 3605.0
    assert rates.flops(360) == 360e12
    page = checked(render(run_page(files, epochs=[360, 7200], price=2.5))).text
    assert "At 2.5 an hour." in page
    for expected in ("7,200", "20.00", "50.00", "7.20 PFLOP"):
        assert expected in page


def test_lengths_without_a_wish_are_the_runs_own_and_round_ones(tmp_path: Path) -> None:
    files = read_run(make_run(tmp_path / "run"))
    assert lengths_of(files, []) == [3, 10, 100, 1000, 10000]
    assert lengths_of(files, [50, 5, 50]) == [5, 50]


@pytest.mark.row("E16")
def test_the_timeline_lays_phases_end_to_end_and_samples_beside_them(tmp_path: Path) -> None:
    spans = spans_of(read_run(make_run(tmp_path / "run")))
    assert spans.phases["starting"] == [(0.0, 5.0)]
    assert spans.phases["training"] == [(5.0, 11.0), (18.0, 8.0), (28.0, 8.0)]
    (_, cpu), (_, memory) = spans.meters
    assert cpu.points[0] == (6.0, 51.0)
    assert {value for _, value in memory.points} == {1.0}


def test_samples_of_a_resumed_run_begin_after_its_second_start(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    with (folder / "phases.csv").open("a") as file:
        file.write("3,starting,4,0.5,\n")
    with (folder / "resources.csv").open("a") as file:
        file.write("0.5,3,70,1073741824,,,\n")
    (_, cpu), _ = spans_of(read_run(folder)).meters
    assert cpu.points[-1] == (42.5, 70.0)


def test_a_table_that_is_torn_or_missing_loses_its_last_line_alone(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"x,y\n1,2\n3,")
    assert read_columns(tmp_path / "a.csv") == {"x": ["1"], "y": ["2"]}
    assert read_columns(tmp_path / "b.csv") == {}
