"""The clock of the phases and its table."""

import time
from pathlib import Path

import pytest
import torch

from hexlit.accelerate.memory import DeviceGauge
from hexlit.errors import UsageError
from hexlit.training.phases import PhaseClock
from tests.tables import rows_of

UNITS = ("games", "positions", "evaluations")


def test_phases_add_up_to_the_wall_time_and_their_rows_to_the_totals(tmp_path: Path) -> None:
    """Within two percent, with the disk out of the measured time."""
    clock = PhaseClock(tmp_path / "phases.csv", units=UNITS)
    names, wall = ("selfplay", "optimise", "evaluate"), 0.0
    for epoch in range(2):
        for name, seconds in zip(names, (0.2, 0.15, 0.1), strict=True):
            with clock.phase(name, epoch):
                start = time.perf_counter()
                time.sleep(seconds)
                wall += time.perf_counter() - start
    assert sum(total.wall_seconds for total in clock.totals().values()) == pytest.approx(
        wall, rel=0.02
    )
    rows = rows_of(tmp_path / "phases.csv")
    assert [(row["epoch"], row["phase"]) for row in rows] == [
        (epoch, name) for epoch in "01" for name in names
    ]
    for name, total in clock.totals().items():
        measured = sum(float(row["wall_seconds"]) for row in rows if row["phase"] == name)
        assert measured == pytest.approx(total.wall_seconds)


def test_row_holds_counts_rates_and_the_share_outside_the_network(tmp_path: Path) -> None:
    clock = PhaseClock(tmp_path / "phases.csv", units=UNITS)
    with clock.phase("selfplay", epoch=3) as phase:
        phase.add(games=2, positions=100)
        phase.add(games=3, positions=50, evaluations=4000)
        phase.network_seconds = 0.02
        time.sleep(0.04)
    (row,) = rows_of(tmp_path / "phases.csv")
    assert tuple(row) == (
        *(
            "epoch",
            "phase",
            "wall_seconds",
            "cpu_seconds",
            "device_utilisation",
            "work_seconds",
            "network_seconds",
        ),
        *(
            "outside_network_share",
            *UNITS,
            *(f"{unit}_per_second" for unit in UNITS),
            "peak_device_bytes",
        ),
        "not_measured",
    )
    wall = float(row["wall_seconds"])
    assert (row["games"], row["positions"], row["evaluations"]) == ("5", "150", "4000")
    assert float(row["games_per_second"]) == pytest.approx(5 / wall)
    assert float(row["positions_per_second"]) == pytest.approx(150 / wall)
    assert float(row["evaluations_per_second"]) == pytest.approx(4000 / wall)
    assert float(row["outside_network_share"]) == pytest.approx((wall - 0.02) / wall)


def test_rates_of_work_beside_other_phases_refer_to_its_own_time(tmp_path: Path) -> None:
    clock = PhaseClock(tmp_path / "phases.csv", units=UNITS)
    clock.cpu_clock = iter([10.0, 17.5]).__next__  # of this process and of those that work for it
    with clock.phase("selfplay", epoch=0) as phase:
        phase.add(games=8)
        phase.work_seconds, phase.network_seconds = 4.0, 3.0
    for totals in (clock.totals(), PhaseClock(tmp_path / "phases.csv", units=UNITS).totals()):
        total = totals["selfplay"]
        assert total.wall_seconds < 4.0
        assert (total.work_seconds, total.rate("games"), total.outside_network_share) == (
            4.0,
            2.0,
            0.25,
        )
        assert total.cpu_seconds == 7.5


@pytest.mark.parametrize("threads", [None, 1, 4])
def test_utilisation_is_the_share_of_the_threads_time_that_was_used(
    tmp_path: Path, threads: int | None
) -> None:
    for _ in range(2):  # the second clock reads the rows of the first
        gauge = None if threads is None else DeviceGauge(torch.device("cpu"), threads)
        clock = PhaseClock(tmp_path / "phases.csv", gauge, UNITS)
        with clock.phase("work", epoch=0):
            end = time.process_time() + 0.05
            while time.process_time() < end:
                pass
            time.sleep(0.05)
    for row in rows_of(tmp_path / "phases.csv"):
        assert 0.05 <= float(row["cpu_seconds"]) < float(row["wall_seconds"]), "waiting takes none"
        if threads is None:
            assert row["device_utilisation"] == ""
        else:
            expected = float(row["cpu_seconds"]) / float(row["wall_seconds"]) / threads
            assert 0 < expected <= 1
            assert float(row["device_utilisation"]) == pytest.approx(expected)
    total = clock.totals()["work"]
    assert (total.device_utilisation is None) == (threads is None)


def test_resume_drops_the_epochs_that_are_done_again_and_keeps_the_totals_of_the_others(
    tmp_path: Path,
) -> None:
    path = tmp_path / "phases.csv"
    first = PhaseClock(path, units=UNITS)
    for epoch in range(3):
        with first.phase("selfplay", epoch) as phase:
            phase.add(games=10, evaluations=1000)
            time.sleep(0.01)
    kept = sum(float(row["wall_seconds"]) for row in rows_of(path)[:2])
    second = PhaseClock(path, units=UNITS)
    second.resume(2)
    assert [row["epoch"] for row in rows_of(path)] == ["0", "1"]
    assert second.totals()["selfplay"].wall_seconds == pytest.approx(kept)
    with second.phase("selfplay", 2) as phase:
        phase.add(games=5)
    total = second.totals()["selfplay"]
    assert (total.epochs, total.counts) == (3, {"games": 25, "evaluations": 2000})
    assert [row["epoch"] for row in rows_of(path)] == ["0", "1", "2"]


def accounted(path: Path) -> PhaseClock:
    clock = PhaseClock(path, units=UNITS)
    clock.account(time.monotonic(), 0)
    return clock


def epoch_of(clock: PhaseClock, epoch: int) -> None:
    for name in ("selfplay", "training", "evaluation"):
        with clock.phase(name, epoch) as phase:
            phase.add(games=3)
    clock.outside("saving", epoch)


def test_rows_are_appended_and_those_of_an_epoch_are_on_disk_before_its_checkpoint(
    tmp_path: Path,
) -> None:
    """A file that is written anew has another number."""
    path = tmp_path / "phases.csv"
    clock = accounted(path)
    files = set()
    for epoch in range(4):
        epoch_of(clock, epoch)
        done = [row["phase"] for row in rows_of(path) if row["epoch"] == str(epoch)]
        assert done[-4:] == ["selfplay", "between", "training", "evaluation"]
        if epoch:
            files.add(path.stat().st_ino)
    assert len(files) == 1
    clock.settle()
    totals = clock.totals()
    again = PhaseClock(path, units=UNITS).totals()
    assert again.keys() == totals.keys()
    for name, total in totals.items():
        assert again[name].wall_seconds == pytest.approx(total.wall_seconds)
        assert (again[name].epochs, again[name].counts) == (total.epochs, total.counts)


def test_time_that_is_booked_after_the_end_changes_the_rows_of_the_file(tmp_path: Path) -> None:
    """As where the best weights are measured once more."""
    path = tmp_path / "phases.csv"
    clock = accounted(path)
    for epoch in range(3):
        epoch_of(clock, epoch)
    clock.outside("finishing", 3)
    with clock.phase("evaluation", 2):
        pass
    clock.outside("finishing", 3)
    clock.settle()
    rows = rows_of(path)
    assert len(rows) == 1 + 5 * 3 + 2
    assert len({(row["epoch"], row["phase"]) for row in rows}) == len(rows) - 1
    seconds = sum(float(row["wall_seconds"]) for row in rows)
    assert seconds == pytest.approx(sum(one.wall_seconds for one in clock.totals().values()))


def test_time_that_a_kill_left_without_a_row_was_saving(tmp_path: Path) -> None:
    """Of the latest epoch; the checkpoint knows how long the run took."""
    path = tmp_path / "phases.csv"
    clock = accounted(path)
    for epoch in range(2):
        epoch_of(clock, epoch)
    whole = path.read_bytes()
    for torn in (0, 5):
        path.write_bytes(whole + b"1,saving,0.01"[:torn])
        resumed = PhaseClock(path, units=UNITS)
        before = sum(one.wall_seconds for one in resumed.totals().values())
        resumed.resume(2, before + 0.5)
        assert [row["phase"] for row in rows_of(path)][-2:] == ["evaluation", "saving"]
        total = sum(one.wall_seconds for one in resumed.totals().values())
        assert total == pytest.approx(before + 0.5)
        once_more = PhaseClock(path, units=UNITS)
        once_more.resume(2, before + 0.5)
        assert len(rows_of(path)) == whole.count(b"\n"), "once, however long the numbers are"


def test_a_broken_table_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "phases.csv"
    path.write_text("epoch,phase,wall_seconds\n0,selfplay,fast\n")
    with pytest.raises(UsageError, match="phases.csv line 2"):
        PhaseClock(path, units=UNITS)


def test_the_steady_state_leaves_the_first_epoch_out(tmp_path: Path) -> None:
    """It warms up; where there is no other it is all there is."""
    clock = PhaseClock(None, units=UNITS)
    assert clock.steady("training").epochs == 0
    for epoch in range(3):
        with clock.phase("training", epoch) as phase:
            phase.add(positions=10 ** (3 - epoch))
        assert clock.steady("training").counts["positions"] == (1000, 100, 110)[epoch]
        with clock.phase("evaluation", epoch):
            pass


def test_with_accounting_the_rows_add_up_to_the_wall_time(tmp_path: Path) -> None:
    """Whatever is done between the phases, and however busy the machine is."""
    started = time.monotonic() - 0.5
    clock = PhaseClock(tmp_path / "phases.csv", DeviceGauge(torch.device("cpu"), 1))
    clock.account(started, 3)
    with clock.phase("compiling", 3):
        time.sleep(0.01)
    for epoch in (3, 4):
        for name in ("selfplay", "training"):
            time.sleep(0.02)
            with clock.phase(name, epoch):
                time.sleep(0.01)
        clock.outside("saving", epoch)
        time.sleep(0.02)
    clock.outside("finishing", 5)
    time.sleep(0.02)
    least = time.monotonic() - started
    clock.settle()
    most = time.monotonic() - started
    rows = rows_of(tmp_path / "phases.csv")
    assert [
        (row["epoch"], row["phase"]) for row in rows if row["phase"] not in ("selfplay", "training")
    ] == [
        ("3", "starting"),
        ("3", "compiling"),
        ("3", "between"),
        ("3", "saving"),
        ("4", "between"),
        ("4", "saving"),
        ("5", "finishing"),
    ]
    totals = {name: total.wall_seconds for name, total in clock.totals().items()}
    assert least - 1e-3 <= sum(totals.values()) <= most + 1e-3
    seconds = {(row["epoch"], row["phase"]): float(row["wall_seconds"]) for row in rows}
    assert seconds["3", "starting"] >= 0.52, (
        "what comes between compiling and the first epoch is starting, too"
    )
    assert seconds["3", "saving"] >= 0.04, "until the next epoch's first phase"
    assert totals["compiling"] + totals["between"] == pytest.approx(
        seconds["3", "compiling"] + seconds["3", "between"] + seconds["4", "between"], rel=1e-6
    )


def test_a_checkpoint_in_the_middle_of_the_time_between_phases_counts_it_once(
    tmp_path: Path,
) -> None:
    clock = PhaseClock(tmp_path / "phases.csv", units=UNITS)
    clock.account(time.monotonic(), 0)
    with clock.phase("training", 0):
        pass
    clock.outside("saving", 0)
    for _ in range(2):
        time.sleep(0.01)
        clock.settle()
    clock.outside("finishing", 1)
    again = PhaseClock(tmp_path / "phases.csv", units=UNITS)
    again.resume(1)
    saving = again.totals()["saving"]
    assert saving.wall_seconds == pytest.approx(clock.totals()["saving"].wall_seconds, rel=0.5)
    assert (saving.epochs, "finishing" in again.totals()) == (1, False)
