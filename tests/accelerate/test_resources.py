"""A tree of processes is measured from outside: the target's figures, never the measurer's own."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest

from hexlit.accelerate.machine import (
    COLUMNS,
    ProcessTree,
    ResourceSample,
    ResourceSampler,
    recommended_trials,
)
from hexlit.accelerate.nvml import Nvml
from hexlit.errors import UsageError
from tests.tables import rows_of

MIB = 2**20
SPINS = "print('ready', flush=True)\nwhile True: pass"
SLEEPS = "print('ready', flush=True); import time; time.sleep(60)"
HOLDS = "room = b'x' * (200 * 2**20); print('ready', flush=True); import time; time.sleep(60)"
GRANDPARENT = """
import subprocess, sys
inner = "import time; time.sleep(60)"
middle = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {inner!r}], stdout=-3); print(1); input()"
middle = subprocess.Popen([sys.executable, "-u", "-c", middle], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
middle.stdout.readline()
print("ready", flush=True)
input()
middle.communicate(b"\\n")
print("done", flush=True)
input()
"""


@contextmanager
def child(program: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has said it is ready; it is killed in the end."""
    command, pipe = [sys.executable, "-c", program], subprocess.PIPE
    with subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"


def processor_seconds(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def test_the_target_s_processor_time_is_measured_while_the_measurer_idles() -> None:
    with child(SPINS) as target:
        tree = ProcessTree(target.pid)
        tree.sample()
        before, start = processor_seconds(target.pid), time.monotonic()
        spent = 0.0
        while spent < 0.6:  # one core, less what else the machine does
            time.sleep(0.1)
            spent = processor_seconds(target.pid) - before
        sample = tree.sample()
        seconds = time.monotonic() - start
    assert sample.cpu_percent is not None
    assert sample.cpu_percent / 100 * seconds == pytest.approx(spent, abs=0.15)
    assert sample.processes == 1


def test_memory_is_what_the_target_holds() -> None:
    with child(SLEEPS) as small, child(HOLDS) as large:
        without, with_room = ProcessTree(small.pid).sample(), ProcessTree(large.pid).sample()
    assert without.host_bytes is not None
    assert with_room.host_bytes is not None
    assert with_room.host_bytes - without.host_bytes == pytest.approx(200 * MIB, abs=10 * MIB)


def test_descendants_are_measured_on_when_their_parent_is_gone() -> None:
    with child(GRANDPARENT) as target:
        tree = ProcessTree(target.pid)
        assert tree.sample().processes == 3
        tell(target, "end")
        assert tree.sample().processes == 2
        for process in list(tree._known):
            if process.pid != target.pid:
                process.kill()


@pytest.mark.skipif(
    not list(Path("/proc/self/task").glob("*/children")),
    reason="the kernel keeps no list of children",
)
def test_other_processes_of_the_machine_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with child(GRANDPARENT) as process, contextlib.closing(ProcessTree(process.pid)) as tree:
        monkeypatch.setattr(psutil, "pids", lambda: pytest.fail("all processes are listed"))
        monkeypatch.setattr(
            psutil._psplatform, "ppid_map", lambda: pytest.fail("all processes are listed")
        )
        assert tree.sample().processes == 3


def test_a_dead_root_is_our_own_exception() -> None:
    with child(SLEEPS) as target:
        tree = ProcessTree(target.pid)
        target.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, target.pid, os.WEXITED | os.WNOWAIT)  # ended, but not yet taken note of
        assert not tree.alive
        with pytest.raises(psutil.NoSuchProcess):
            tree.sample()
        target.wait()
        with pytest.raises(psutil.NoSuchProcess):
            ProcessTree(target.pid)


def test_a_process_says_itself_what_it_holds_where_the_driver_does_not() -> None:
    """D7-8: in a container, say; the driver's figure goes before."""
    silent = (None, 0.5, {"device_bytes": "not named"})
    for seen, own, expected in ((silent, 7, 7), (silent, None, None), ((5, 0.5, {}), 7, 5)):
        driver = SimpleNamespace(usage=lambda pids, seen=seen: (*seen[:2], dict(seen[2])))
        tree = ProcessTree(os.getpid(), cast(Nvml, driver), partial(lambda held: held, own))
        sample = tree.sample()
        assert (sample.device_bytes, sample.device_utilisation) == (expected, 0.5)
        assert ("device_bytes" in sample.reasons) == (expected is None)


class Tree:
    """Stands for ProcessTree: gives samples as they come, and ends after `lives` of them."""

    def __init__(self, lives: int = 10**9, seconds_a_sample: float = 0.0) -> None:
        self.began = time.monotonic()
        self.lives = lives
        self.pause = seconds_a_sample
        self.taken = 0

    def sample(self) -> ResourceSample:
        if self.taken == self.lives:
            raise psutil.NoSuchProcess(1)
        time.sleep(self.pause)
        self.taken += 1
        first = self.taken == 1
        reasons = {"device_bytes": "no driver, or none", "device_utilisation": "no driver, or none"}
        return ResourceSample(
            seconds=time.monotonic() - self.began,
            processes=self.taken,
            cpu_percent=None if first else 100.0 * self.taken,
            host_bytes=1000 * self.taken,
            device_bytes=None,
            device_utilisation=None,
            reasons={"cpu_percent": "first"} | reasons if first else reasons,
        )


def sampler(tree: Tree, interval: float = 0.02, **arguments: Any) -> ResourceSampler:
    return ResourceSampler(cast(ProcessTree, tree), interval, **arguments)


def wait_for(condition: Any) -> None:
    until = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_the_end_of_the_target_ends_the_sampling() -> None:
    with sampler(Tree(lives=3)) as running:
        assert running.ended.wait(10)
    assert len(running.samples) == 3


def test_the_table_has_a_header_and_whole_rows_at_every_instant(tmp_path: Path) -> None:
    path = tmp_path / "new" / "resources.csv"
    with sampler(Tree(), 0.001, csv_path=path) as running:
        wait_for(lambda: running.samples)
        for _ in range(200):
            text = path.read_text()
            assert text.startswith(",".join(COLUMNS) + "\n")
            assert text.endswith("\n")
    found = rows_of(path)
    assert len(found) == len(running.samples)
    assert (found[0]["cpu_percent"], found[0]["host_bytes"], found[0]["device_bytes"]) == (
        "",
        "1000",
        "",
    )
    assert (
        found[1]["not_measured"]
        == "device_bytes: no driver, or none; device_utilisation: no driver, or none"
    )
    assert float(found[1]["cpu_percent"]) == 200.0


def test_a_table_is_continued_and_a_torn_row_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "resources.csv"
    with sampler(Tree(lives=2), csv_path=path) as running:
        assert running.ended.wait(10)
    with path.open("a") as file:
        file.write("17.0,3,99")
    with sampler(Tree(lives=1), csv_path=path) as running:
        assert running.ended.wait(10)
    assert [row["processes"] for row in rows_of(path)] == ["1", "2", "1"]


def test_a_file_of_another_kind_is_refused_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("mine\n")
    with pytest.raises(UsageError, match="csv=.*notes.txt: holds something else"):
        sampler(Tree(), csv_path=path).__enter__()
    assert path.read_text() == "mine\n"
    with pytest.raises(UsageError, match="csv=.*: cannot be written"):
        sampler(Tree(), csv_path=tmp_path).__enter__()


def test_means_and_peaks_are_those_of_the_time_asked_for() -> None:
    tree = Tree()
    running = sampler(tree)
    values = [(None, 10, 5, None), (100.0, 30, 9, 0.5), (50.0, 20, 7, 1.0), (200.0, 90, 1, 0.0)]
    for second, (cpu, host, device, busy) in enumerate(values):
        reasons = {"cpu_percent": "first", "device_utilisation": "asleep"} if cpu is None else {}
        running.samples.append(ResourceSample(float(second), 1, cpu, host, device, busy, reasons))
    whole = running.summary()
    assert whole.cpu_percent == pytest.approx(350 / 3)
    assert (whole.device_utilisation, whole.host_bytes, whole.device_bytes, whole.reasons) == (
        0.5,
        90,
        9,
        {},
    )
    part = running.summary(tree.began + 0.5, tree.began + 2.5)
    assert (part.cpu_percent, part.device_utilisation, part.host_bytes) == (75.0, 0.75, 30)
    first = running.summary(end=tree.began + 0.5)
    assert (first.cpu_percent, first.host_bytes) == (None, 10)
    assert first.reasons == {"cpu_percent": "first", "device_utilisation": "asleep"}
    nothing = running.summary(start=tree.began + 99)
    assert (nothing.cpu_percent, nothing.host_bytes) == (None, None)
    assert set(nothing.reasons.values()) == {"no sample was taken in this time"}


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({"host memory": (109, 10), "cores": (16, 1)}, (10, "host memory")),
        ({"host memory": (100, 10), "cores": (4, 1.5)}, (2, "cores")),
        (
            {"host memory": (100, 10), "cores": (16, 1), "device memory": (50, 20)},
            (2, "device memory"),
        ),
        ({"host memory": (100, 0), "cores": (16, 1), "device memory": (None, 20)}, (16, "cores")),
        ({"host memory": (5, 10), "cores": (1, 1)}, (1, "host memory")),
    ],
)
def test_the_scarcest_thing_limits_the_parallel_trials(
    resources: Any, expected: tuple[int, str]
) -> None:
    assert recommended_trials(resources) == expected


def test_a_tree_sees_the_devices_of_the_target_not_of_the_measurer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str | None] = []

    def remember(visible: str | None) -> Any:
        seen.append(visible)
        return SimpleNamespace(reason="no NVIDIA driver")

    monkeypatch.setattr("hexlit.accelerate.machine.Nvml", remember)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    with child(SLEEPS) as target:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5")
        ProcessTree(target.pid)
    ProcessTree(os.getpid())
    assert seen == ["3", "5"]
