"""The display of a run: live on a terminal, plain lines elsewhere."""

import io
import time
from contextlib import AbstractContextManager, nullcontext

import pytest
from rich.console import Console

from hexlit.reporting.progress import TrainingProgress
from hexlit.training.phases import Phase, PhaseClock, PhaseListener


def plain() -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, width=100), file


def screen() -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, width=100, height=40, force_terminal=True), file


def run_epochs(progress: TrainingProgress, epochs: int) -> None:
    clock = PhaseClock(None, units=("games", "positions", "evaluations"))
    listener: PhaseListener = progress
    clock.listeners.append(listener)
    for epoch in range(epochs):
        with clock.phase("selfplay", epoch, goal=8) as phase:
            for done in range(1, 9):
                phase.add(games=1, positions=30, evaluations=900)
                phase.advance(done)
        with clock.phase("optimise", epoch, goal=2) as phase:
            phase.advance(1, policy_loss=2.5)
            phase.advance(2, policy_loss=2.25)
        progress.update(
            epoch=epoch, losses={"train/policy_loss": 2.25}, figures={"search_optimality": 0.995}
        )


def test_without_a_terminal_there_is_one_plain_line_a_phase_and_no_escape_code() -> None:
    console, file = plain()
    with TrainingProgress(3, console=console) as progress:
        assert not progress.live
        run_epochs(progress, 3)
    text = file.getvalue()
    assert "\x1b" not in text
    assert "\r" not in text
    lines = text.splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("epoch 0 of 3  selfplay: ")
    assert "games/s" in lines[0]
    assert "evaluations/s" in lines[0]
    assert lines[1].endswith("policy 2.2500")
    assert lines[2] == "epoch 0 of 3  policy 2.2500, search optimal 99.5%"
    assert lines[6].startswith("epoch 1 of 3  took 0.0 s; the run ends by ")


def test_a_long_phase_gets_at_most_one_line_in_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    console, file = plain()
    clock = PhaseClock(None, units=("games", "positions", "evaluations"))
    with TrainingProgress(1, console=console) as progress:
        clock.listeners.append(progress)
        with clock.phase("selfplay", 0, goal=350) as phase:
            for tenth in range(1, 351):
                now[0] = tenth / 10
                phase.advance(tenth)
    lines = file.getvalue().splitlines()
    assert [line.split(",")[0] for line in lines[:-1]] == [
        "epoch 0 of 1  selfplay: 100/350",
        "epoch 0 of 1  selfplay: 200/350",
        "epoch 0 of 1  selfplay: 300/350",
    ]
    assert len(lines) == 4


@pytest.mark.parametrize("error", [None, ValueError("broken"), KeyboardInterrupt()])
def test_the_terminal_is_given_back_whatever_happens(error: BaseException | None) -> None:
    console, file = screen()
    expected: AbstractContextManager[object] = (
        nullcontext() if error is None else pytest.raises(type(error))
    )
    with expected, TrainingProgress(1, console=console, live=True) as progress:
        run_epochs(progress, 1)
        if error is not None:
            raise error
    text = file.getvalue()
    assert text.count("\x1b[?25l") == 1  # the cursor hidden once
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")  # and shown again


def test_time_left_comes_from_the_last_epochs_and_never_exceeds_max_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    console, _ = screen()
    free = TrainingProgress(10, console=console, live=True)
    limited = TrainingProgress(10, max_time=50.0, console=console, live=True)
    assert free.seconds_left() is None
    assert limited.seconds_left() == 50.0
    for epoch in range(3):
        for progress in (free, limited):
            progress.phase_started(Phase(PhaseClock(None), "selfplay", epoch, None))
        now[0] += 10.0
    for progress in (free, limited):
        progress.phase_started(Phase(PhaseClock(None), "selfplay", 3, None))
    now[0] += 4.0
    assert free.seconds_left() == pytest.approx(7 * 10 - 4)
    assert limited.seconds_left() == pytest.approx(50 - 34)
