"""Reports beside what they are about:
which folder holds what, and that a report never fails a run.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import matplotlib
import pytest

from hexlit.cli import main
from hexlit.commands.report_files import write_report
from hexlit.errors import UsageError
from hexlit.reporting.comparison import curves
from hexlit.reporting.figures import STYLE, draw, draw_chart, draw_figure
from hexlit.reporting.page import Chart, ChartLine
from hexlit.reporting.run_files import RunFiles
from hexlit.reporting.run_groups import ComparedRun, alone
from tests.reporting.documents import checked, make_match, make_run


def test_a_run_and_a_match_are_reported_by_their_folder(capsys: pytest.CaptureFixture[str]) -> None:
    make_run(Path("runs/tiny/a"), task="none of ours")
    assert main(["report", "runs/tiny/a", "price=2", "epochs=[50]"]) == 0
    assert capsys.readouterr().out == "runs/tiny/a/report.html\n"
    assert "At 2 an hour." in checked(Path("runs/tiny/a/report.html").read_text()).text
    make_match(Path("m"))
    assert main(["report", "m"]) == 0
    assert "Cross table" in checked(Path("m/report.html").read_text()).text


def test_a_page_goes_to_the_file_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    make_run(Path("a"))
    assert main(["report", "a", "output=/dev/null/page.html"]) == 2
    assert "/dev/null: " in capsys.readouterr().err
    assert main(["report", "a", "output=page.html"]) == 0
    assert capsys.readouterr().out == "page.html\n"
    assert "trainer.max_epochs" in checked(Path("page.html").read_text()).text
    assert not Path("a/report.html").exists()


def test_files_that_cannot_be_read_are_named_and_give_exit_code_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = make_run(Path("a"))
    phases = (folder / "phases.csv").read_bytes() + b"garbage\nmore,of,it\n"
    for content in (
        (b"\x00\xffnothing\n",) * 3,
        (b"\xff\x00 nothing of ours\n", phases, b'{"name":'),
    ):
        for name, text in zip(("metrics.csv", "phases.csv", "summary.json"), content, strict=True):
            (folder / name).write_bytes(text)
        assert main(["report", "a"]) == 1
        path, *said = capsys.readouterr().out.splitlines()
        assert path == "a/report.html"
        page = checked(Path(path).read_text())
        for name, line in zip(("metrics.csv", "phases.csv", "summary.json"), said, strict=True):
            assert line.startswith(f"a: {name} cannot be read")
            assert line.removeprefix("a: ") in page.text
        assert "has not ended" not in page.text
        assert "Throughput of training" in page.values("alt")  # the rest is shown


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": "x"},
        {"strength": [0.5]},
        {"memory": 3},
        {"wall_seconds": "long"},
        {"phases": {"training": [1]}},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_values_of_another_type_are_refused_in_one_line(
    wrong: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    summary = make_run(Path("a")) / "summary.json"
    summary.write_text(json.dumps(json.loads(summary.read_text()) | wrong))
    assert main(["report", "a"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("hexlit report: a: summary.json ")


def test_results_nested_without_end_are_none(tmp_path: Path) -> None:
    folder = make_match(tmp_path / "folder")
    (folder / "match.json").write_text('{"board":' + "[" * 100_000)
    with pytest.raises(UsageError, match=r"has no whole match\.json"):
        write_report(folder)


@pytest.mark.parametrize("games", ["x\n", "\0\n", '"\n', "a" * 200_000 + "\n", "pair,black\n1,2\n"])
def test_a_table_of_games_that_is_none_is_one_line(games: str, tmp_path: Path) -> None:
    folder = make_match(tmp_path / "folder")
    (folder / "games.csv").write_text(games)
    with pytest.raises(UsageError, match=r"games\.csv: not the games of a match"):
        write_report(folder)


def test_elo_to_perfect_play_is_drawn_beside_published_runs_on_the_same_boards() -> None:
    metrics = {"cost.actor_macs": ["1e9", "2e11"], "strength.elo_to_perfect": ["", "-60"]}
    files = [RunFiles(Path(), metrics=metrics, config={"board": board}) for board in (5, 7)]
    (chart,) = (
        one.data
        for one in curves(alone([ComparedRun(str(one), one, None) for one in files]))
        if one.name == "frontier"
    )
    assert isinstance(chart, Chart)
    points = [line.points for line in chart.lines]
    assert points == [
        [(9.3e11, -500), (8.1e12, -50)],
        [(5e13, -500), (1.3e15, -50)],
        [(2e11, -60)],
        [(2e11, -60)],
    ]
    assert "7×7, Jones 2021" in draw(draw_figure, chart).decode()


def test_runs_on_other_boards_share_no_axis() -> None:
    metrics: dict[str, list[str]] = {"epoch": ["0", "1"], "train.loss": ["2", "1"]}
    files = [RunFiles(Path(), metrics=metrics, config={"board": board}) for board in (5, 7, 7)]
    runs = [ComparedRun(f"run {number}", one, None) for number, one in enumerate(files)]
    charts = curves(alone(runs))
    names = {
        one.title: [line.name for line in one.data.lines]
        for one in charts
        if isinstance(one.data, Chart)
    }
    assert names["Training: loss on 5×5"] == ["run 0"]
    assert names["Training: loss on 7×7"] == ["run 1", "run 2"]
    assert len({one.name for one in charts}) == len(charts)


def test_every_name_of_a_legend_lies_in_the_picture() -> None:
    for length in (3, 12, 20, 40, 80):
        lines = [
            ChartLine(f"{number} {'hex7_2026-11-28 ' * 9}"[:length], [0, 1], [0, number])
            for number in range(6)
        ]
        with matplotlib.rc_context(STYLE):
            figure = draw_chart(Chart(lines))
            figure.draw_without_rendering()
        (legend,) = figure.legends
        assert legend.get_window_extent().x1 <= figure.bbox.x1 + 1
        assert legend.get_window_extent().y0 >= figure.axes[0].get_window_extent().y1 - 1


def test_runs_are_compared_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    make_run(Path("runs/tiny/a"))
    make_run(Path("runs/tiny/b"), epochs=5)
    assert main(["report", "runs=[runs/tiny/a,runs/tiny/b]", "epochs=[360]"]) == 0
    assert capsys.readouterr().out == "comparison.html\n"
    page = checked(Path("comparison.html").read_text())
    assert "2 runs compared" in page.text
    assert "trainer.max_epochs" in page.text  # what differs
    assert "net.blocks" not in page.text  # what does not
    assert "Validation: score over time" in page.values("alt")
    assert "Student's t" not in page.text  # no setting has several seeds


def make_jobs(folder: Path, **settings: Sequence[object]) -> Path:
    """A plain `--multirun` with a job per value of the settings; each has three epochs."""
    count = len(next(iter(settings.values())))
    for job in range(count):
        run = make_run(folder / str(job))
        lines = "".join(f"{name}: {values[job]}\n" for name, values in settings.items())
        with (run / ".hydra" / "config.yaml").open("a") as file:
            file.write(lines)
    (folder / "multirun.yaml").touch()
    return folder


@pytest.mark.parametrize("by", ["by=value_weight", "by=[value_weight]", "by='value_weight'"])
def test_jobs_that_differ_by_their_seeds_are_one_setting(by: str) -> None:
    make_jobs(Path("s"), seed=[1, 2, 1, 2], value_weight=[0.5, 0.5, 2.0, 2.0])
    for words in ([], [by]):
        assert main(["report", "s", *words]) == 0
        page = checked(Path("s/comparison.html").read_text())
        assert "Means over seeds ± 95% interval by Student's t" in page.text
        assert "value_weight=0.5: the intervals are of 2 seeds." in page.text
        assert "bands are 95% intervals of the mean" in page.text
    assert main(["report", "s", "by=seed"]) == 0
    assert "Student's t" not in checked(Path("s/comparison.html").read_text()).text


def test_several_names_make_the_settings_and_others_are_named() -> None:
    same, boards, mixed = [1, 1, 1, 1], [5, 5, 7, 7], [True, False, True, False]
    make_jobs(Path("s"), seed=[1, 2, 1, 2], value_weight=same, board=boards, swap=mixed)
    assert main(["report", "s", "by=value_weight,max_epochs", "output=page.html"]) == 0
    page = checked(Path("page.html").read_text())
    assert "value_weight=1 · max_epochs=3 · board=5: swap differ within it." in page.text
    assert "value_weight=1 · max_epochs=3 · board=7" in page.text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["s", "by=blocs"], "by=blocs: no setting of these runs; those that differ are depth"),
        (["s", "by=kind"], "by=kind: stands for a.kind, b.kind; name one of them"),
        (["s/0", "by=depth"], "by=[depth]: s/0 holds a run; runs are grouped"),
    ],
)
def test_a_name_that_is_none_or_several_is_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make_jobs(Path("s"), seed=[1, 2], depth=[3, 4], a=["{kind: x}"] * 2, b=["{kind: y}"] * 2)
    assert main(["report", *words]) == 2
    assert capsys.readouterr().err == f"hexlit report: {message}\n"
