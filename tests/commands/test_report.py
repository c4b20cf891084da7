"""`hexlit report`: the results of a sweep, from any terminal."""

import json
import re
from pathlib import Path

import pytest

from hexlit.cli import main
from tests.tuning.sweeps import complete, failed, make_sweep, mark_alive, running, write_metrics

SWEEP = Path("runs/hex5/s")


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")


@pytest.fixture
def sweep() -> Path:
    return make_sweep(
        SWEEP, [complete(0.4), failed(attrs={"failure": "killed by SIGKILL"}), complete(0.9)]
    )


@pytest.mark.parametrize("words", [["runs/hex5/s"], ["folder=runs/hex5/s"], ["runs/hex5/s/"], []])
def test_a_sweep_is_reported_by_its_path_or_as_the_newest(
    words: list[str], sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *words, "figures=false"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert re.search(r"trials done  complete  failed .*\n *3 of 3 +2 +1 ", out)
    assert "best: trial 2 · strength.score 0.9000" in out
    assert re.search(r"1  failed +killed by SIGKILL +trial-001", out)
    assert out.rstrip().endswith("Everything of this sweep: runs/hex5/s")
    assert json.loads((sweep / "overall_results.json").read_text())["best"] == 2


def test_a_path_with_odd_characters_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    odd = make_sweep(Path("runs/it's, lr=3 [x]"), [complete(0.4)])
    assert main(["report", str(odd), "figures=false"]) == 0
    assert (odd / "overall_results.json").is_file()
    assert "best: trial 0" in capsys.readouterr().out


def test_figures_and_the_page_are_drawn(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(sweep)]) == 0
    assert capsys.readouterr().out.rstrip().endswith(f"Everything of this sweep: {sweep}")
    assert (sweep / "report.html").is_file()
    assert (sweep / "figures" / "history.svg").is_file()
    assert (sweep / "figures" / "history.json").is_file()


def test_as_json_it_prints_the_results_and_writes_nothing(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(sweep.rglob("*"))
    assert main(["report", str(sweep), "json=true"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ranking"]["order"] == [2, 0]
    assert sorted(sweep.rglob("*")) == before


def test_the_runs_of_a_plain_multirun_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(2):
        run = SWEEP / str(number)
        (run / ".hydra").mkdir(parents=True)
        write_metrics(run, {"strength.score": [0.2 + number]})
    (SWEEP / "multirun.yaml").touch()
    assert main(["report", str(SWEEP)]) == 0
    assert capsys.readouterr().out == f"{SWEEP}/comparison.html\n"
    assert (SWEEP / "comparison.html").is_file()


def test_a_sweep_is_watched_until_it_ends(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_sweep(SWEEP, [complete(0.4), running()], n_trials=4, finished=None)
    mark_alive(folder)
    journal = (folder / "study.journal").read_bytes()
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            (folder / "process.json").unlink()

    monkeypatch.setattr("hexlit.commands.report_run.time.sleep", wait)
    assert main(["report", str(folder), "watch=true", "figures=false"]) == 0
    assert waits == [2.0] * 3
    lines = capsys.readouterr().out.splitlines()
    # Three trials of a minute are left, for two slots.
    assert lines[0].endswith(
        "1 of 4 done (1 complete), 1 running, 1:30 left, best 0.4000 (trial 0)"
    )
    assert lines[1].endswith("1 of 4 done (1 complete), 1 interrupted, best 0.4000 (trial 0)")
    assert any(" · interrupted · " in line for line in lines)
    assert (folder / "study.journal").read_bytes() == journal
