"""The display of a run: live on a terminal, plain lines elsewhere."""

import io
import time
from contextlib import AbstractContextManager, nullcontext

import pytest
from rich.console import Console

from hexlit.reporting.progress import TrainingProgress
from hexlit.training.phases import PhaseClock, PhaseListener


def plain() -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, width=100), file


def screen() -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, width=100, height=40, force_terminal=True), file


def picture(progress: TrainingProgress) -> str:
    console = Console(file=io.StringIO(), width=100, record=True)
    console.print(progress.render())
    return console.export_text()


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
        progress.update(epoch=epoch, losses={"train/policy_loss": 2.25}, figures={"search_optimality": 0.995})


def test_a_phase_that_waited_for_work_tells_the_time_of_both_and_the_rate_of_the_work() -> None:
    console, file = plain()
    with TrainingProgress(1, console=console) as progress:
        clock = PhaseClock(None, units=("games", "positions", "evaluations"))
        clock.listeners.append(progress)
        with clock.phase("selfplay", 0, goal=100) as phase:
            phase.add(games=100)
            phase.work_seconds = 50.0
            phase.advance(100)
    assert file.getvalue() == "epoch 0 of 1  selfplay: 0.0 s of 50.0 s, 2.00 games/s\n"


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


def test_forced_colours_do_not_draw_into_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    console, file = plain()
    with TrainingProgress(1, console=console) as progress:
        run_epochs(progress, 1)
    assert "\x1b" not in file.getvalue()


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


def test_live_picture_shows_epochs_phase_rates_losses_and_strength() -> None:
    console, _ = screen()
    progress = TrainingProgress(4, console=console, live=True)
    run_epochs(progress, 2)
    text = picture(progress)
    for part in ("1/4", "optimise", "2/2", "policy 2.2500", "search optimal", "99.5%"):
        assert part in text
    clock = PhaseClock(None, units=("games", "positions", "evaluations"))
    clock.listeners.append(progress)
    with clock.phase("selfplay", 2, goal=8) as phase:
        phase.add(games=4, positions=100, evaluations=100)
        phase.advance(4)
        text = picture(progress)
    for part in ("2/4", "selfplay", "4/8", "games/s", "positions/s", "evaluations/s", "ends by "):
        assert part in text


@pytest.mark.parametrize("error", [None, ValueError("broken"), KeyboardInterrupt()])
def test_the_terminal_is_given_back_whatever_happens(error: BaseException | None) -> None:
    console, file = screen()
    expected: AbstractContextManager[object] = nullcontext() if error is None else pytest.raises(type(error))
    with expected, TrainingProgress(1, console=console, live=True) as progress:
        run_epochs(progress, 1)
        if error is not None:
            raise error
    text = file.getvalue()
    assert text.count("\x1b[?25l") == 1  # the cursor hidden once
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")  # and shown again


def test_time_left_comes_from_the_last_epochs_and_never_exceeds_max_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    console, _ = screen()
    free = TrainingProgress(10, console=console, live=True)
    limited = TrainingProgress(10, max_time=50.0, console=console, live=True)
    assert free.seconds_left() is None
    assert limited.seconds_left() == 50.0
    for epoch in range(3):
        for progress in (free, limited):
            progress.phase_started("selfplay", epoch, None)
        now[0] += 10.0
    for progress in (free, limited):
        progress.phase_started("selfplay", 3, None)
    now[0] += 4.0
    assert free.seconds_left() == pytest.approx(7 * 10 - 4)
    assert limited.seconds_left() == pytest.approx(50 - 34)


def test_from_the_first_epoch_on_the_run_says_when_it_ends_and_compiling_is_in_no_pace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first epoch is in no pace either; live and as a line, at most every ten seconds."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    live = TrainingProgress(10, console=screen()[0], live=True)
    console, file = plain()
    lines = TrainingProgress(10, console=console)
    clock = PhaseClock(None, units=("games", "positions", "evaluations"))
    clock.listeners += [live, lines]
    with clock.phase("compiling", 0):
        now[0] += 100.0
    assert live.end_text() == ""
    ends = []
    for epoch, seconds in enumerate([20.0, 5.0, 5.0, 5.0]):
        with clock.phase("training", epoch):
            now[0] += seconds
        with clock.phase("training", epoch + 1):
            ends.append(live.end_text())
    assert [text.rpartition(", in ")[2] for text in ends] == ["", "40.0 s", "35.0 s", "30.0 s"]
    assert ends[1].startswith("ends by ")
    assert f"{ends[3]} · 2:15 gone" in picture(live)
    told = [line for line in file.getvalue().splitlines() if "the run ends by" in line]
    assert [line.split(" of ")[0] for line in told] == ["epoch 1", "epoch 3"]
    assert told[0].startswith("epoch 1 of 10  took 5.0 s; the run ends by ")


def test_an_end_on_another_day_has_a_date(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    progress = TrainingProgress(10, console=screen()[0], live=True)
    progress.phase_started("selfplay", 0, None)
    now[0] += 86400.0
    progress.phase_started("selfplay", 1, None)
    assert progress.end_text() == ""
    now[0] += 86400.0
    progress.phase_started("selfplay", 2, None)
    assert (
        progress.end_text()
        == f"ends by {time.strftime('%d %b %H:%M', time.localtime(time.time() + 8 * 86400))}, in 8 d 00:00"
    )


def test_compiling_is_announced_and_a_phase_with_a_goal_says_how_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The goal may become known within the phase."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    console, file = plain()
    live, lines = TrainingProgress(10, console=screen()[0], live=True), TrainingProgress(10, console=console)
    clock = PhaseClock(None, units=("games", "positions", "evaluations"))
    clock.listeners += [live, lines]
    with clock.phase("compiling", 0) as phase:
        assert file.getvalue().startswith("epoch 0 of 10  compiling: takes longer the first time")
        now[0] += 6.0
        phase.goal = 8.0
        phase.advance(1.0)
        assert "left" not in picture(live)
        now[0] += 6.0
        phase.advance(2.0)
        text = picture(live)
        assert "2/8" in text
        assert "36.0 s left" in text
    assert "epoch 0 of 10  compiling: 2/8, 36.0 s left" in file.getvalue()


def test_the_first_games_of_many_that_begin_together_say_nothing_about_the_pace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    live = TrainingProgress(10, console=screen()[0], live=True)
    clock = PhaseClock(None)
    clock.listeners.append(live)
    shown = []
    with clock.phase("selfplay", 0, goal=100) as phase:
        for seconds, done in ((30.0, 1), (40.0, 3), (60.0, 31), (75.0, 100)):
            now[0] = seconds
            phase.advance(done)
            shown.append(picture(live))
    assert ["left" in text for text in shown] == [False, False, True, False]
    assert "1:09 left" in shown[2]  # 30 in 30 s since the first; since the start of the phase it would be 2:14
    assert "nearly done" in shown[3]


def test_the_only_epoch_ends_any_moment_and_a_limit_of_time_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    only = TrainingProgress(1, console=screen()[0], live=True)
    limited = TrainingProgress(10, max_time=100.0, console=screen()[0], live=True)
    for progress in (only, limited):
        progress.phase_started("training", 0, None)
    now[0] += 20.0
    for progress in (only, limited):
        progress.phase_started("finishing", 1, None)
    assert only.end_text() == "ends any moment"
    assert limited.end_text().endswith(", in 1:20")


def test_a_resumed_run_goes_on_counting_at_its_epoch() -> None:
    console, _ = screen()
    progress = TrainingProgress(40, first_epoch=12, console=console, live=True)
    progress.phase_started("selfplay", 12, None)
    assert "12/40" in picture(progress)


def test_an_update_costs_less_than_twenty_microseconds() -> None:
    console, _ = screen()
    clock = PhaseClock(None, units=("games", "positions", "evaluations"))
    with TrainingProgress(1, console=console, live=True) as progress:
        clock.listeners.append(progress)
        with clock.phase("optimise", 0, goal=2000) as phase:
            best = float("inf")
            for _ in range(10):  # the best of ten, as other work may share the machine
                start = time.perf_counter()
                for step in range(200):
                    phase.advance(step, policy_loss=1.0)
                best = min(best, (time.perf_counter() - start) / 200)
    assert best < 20e-6
