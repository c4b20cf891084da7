"""Live displays on terminals of every width: columns and bars go before a number is cut."""

import io
import re

import pytest
from rich.console import Console, RenderableType

from hexlit.reporting.monitor import ResourceDisplay
from hexlit.reporting.page import Column, Table
from hexlit.reporting.progress import TrainingProgress
from hexlit.reporting.screen import Counting, Waiting
from hexlit.reporting.sweep import SweepDisplay
from hexlit.reporting.text import table_for
from hexlit.training.phases import PhaseClock, PhaseListener
from tests.reporting.test_monitor import Sample
from tests.reporting.test_sweep import USUAL, document

WIDTHS = (60, 80, 120, 200)


def shown(picture: RenderableType, width: int) -> str:
    """The picture on a terminal of this width: no line is longer, and no number is cut."""
    console = Console(file=io.StringIO(), width=width, record=True)
    console.print(picture)
    text = console.export_text()
    assert all(len(line) <= width for line in text.splitlines())
    assert not re.search(r"\d…", text)
    return text


def training(width: int) -> str:
    """A run of 16 epochs in its seventh."""
    progress = TrainingProgress(
        16, console=Console(file=io.StringIO(), width=width), live=True, title="hexlit train"
    )
    progress._durations = dict.fromkeys(range(6), 31.2)
    progress._epoch = 6
    for epoch in range(6):
        losses = {"train/policy_loss": 3.3666, "train/value_loss": 0.65, "train/loss": 4.0168}
        figures = {
            "openings": 49,
            "openings_right": 28,
            "search_optimality": 0.924,
            "policy_optimality": 0.841,
        }
        progress.update(
            epoch=epoch, losses=losses, figures={**figures, "positions": 1000, "score": 0.924}
        )
    clock = PhaseClock(None, units=("games", "positions", "evaluations"))
    listener: PhaseListener = progress
    clock.listeners.append(listener)
    with clock.phase("selfplay", 6, goal=2048) as phase:
        phase.add(games=40, positions=1100, evaluations=90000)
        phase.advance(1100)
        return shown(progress.render(), width)


@pytest.mark.parametrize(
    ("width", "there", "gone"),
    [
        (60, ["epoch", "time", "loss", "openings"], ["value", "positions ", "score"]),
        (80, ["epoch", "time", "policy", "value", "loss", "openings"], ["score"]),
        (120, ["policy", "value", "search optimal", "policy optimal", "positions", "score"], []),
        (200, ["policy", "value", "policy optimal", "positions", "score"], []),
    ],
)
def test_the_training_table_keeps_what_tells_most(
    width: int, there: list[str], gone: list[str]
) -> None:
    text = training(width)
    heading = next(line for line in text.splitlines() if "epoch " in line and "loss" in line)
    assert [name for name in there if name not in heading] == []
    assert [name for name in gone if name in heading] == []
    assert text.count("28/49") == text.count("92.4%") == text.count("84.1%") == 6
    assert re.search(r"ends by \d\d:\d\d, in \d:\d\d", text)
    assert "1,100/2,048" in text


@pytest.mark.parametrize("width", WIDTHS)
def test_the_monitor_fits(width: int) -> None:
    display = ResourceDisplay(
        "process 12", duration=60, interval=1, console=Console(width=width), live=True
    )
    for _ in range(40):
        display.update(Sample(seconds=1.0, cpu_percent=180.0, host_bytes=2 * 2**30))
    text = shown(display.render(), width)
    assert "peak" in text
    assert "180%" in text


@pytest.mark.parametrize("width", WIDTHS)
def test_the_bars_of_a_match_fit(width: int) -> None:
    console = Console(file=io.StringIO(), width=width)
    games = Counting("hexlit match · 3 players on 11x11", 1200, console=console)
    games.advance(2)
    assert games._first is not None
    games._first = (games._first[0] - 10, 2, 2)
    games.advance(20)
    text = shown(games.render(), width)
    assert "22/1,200" in text
    assert re.search(r"9:[45]\d", text)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_picture_of_a_sweep_fits(width: int) -> None:
    display = SweepDisplay("runs/s", console=Console(file=io.StringIO(), width=width), live=True)
    display.update(document(*USUAL, state="running"))
    text = shown(display.render(), width)
    assert "best: trial 3" in text
    assert "0.7500" in text


def test_the_display_of_a_run_takes_the_terminal_over() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    console = Console(file=Terminal(), width=80, force_terminal=True, _environ={})
    with Waiting("hexlit train", "loading", console=console) as waiting:
        assert waiting.live
        with TrainingProgress(1, console=console, after=waiting):
            assert not waiting.live


def test_columns_of_the_highest_rank_go_first_and_the_last_of_them() -> None:
    ranks = (("aaaa", 0), ("bbbb", 1), ("cccc", 2), ("dddd", 1))
    table = Table("", [Column(name, number=True, rank=rank) for name, rank in ranks], [["1"] * 4])
    headings = {
        width: [str(one.header) for one in table_for(table, width).columns]
        for width in (24, 23, 12, 1)
    }
    assert headings == {24: ["aaaa", "bbbb", "cccc", "dddd"], 23: ["aaaa", "bbbb", "dddd"], 12: ["aaaa", "bbbb"],
                        1: ["aaaa"]}  # fmt: skip
