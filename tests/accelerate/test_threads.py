"""The fastest way to compute a step."""

import itertools
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from hexlit.accelerate import threads
from hexlit.accelerate.threads import (
    fastest_step,
    keep_freed_memory,
    torch_threads,
    ways_of_step,
    worth_measuring,
)


def test_powers_of_two_and_all_threads_are_tried_with_all_kernels() -> None:
    tried = {
        most: [count for count, _ in ways_of_step(most, ["x"], fixed=False).values()]
        for most in (1, 2, 6, 8)
    }
    assert tried == {1: [1], 2: [1, 2], 6: [1, 2, 4, 6], 8: [1, 2, 4, 8]}
    assert list(ways_of_step(3, ["x", "y"], fixed=True)) == ["3 x", "3 y"]


def test_threads_are_those_of_the_block_and_come_back_after_an_error() -> None:
    before = torch.get_num_threads()
    with pytest.raises(KeyError, match=str(before + 1)), torch_threads(before + 1):
        raise KeyError(torch.get_num_threads())
    assert torch.get_num_threads() == before


def test_a_step_is_measured_by_as_many_examples_as_take_some_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("time.process_time", partial(next, itertools.count(0, 0.4)))
    assert worth_measuring(lambda count: None, 100) == 32


def test_the_fastest_step_is_measured_once_beside_busy_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(threads, "MEASURED_SECONDS", 0.0)
    others, busy = {child.pid for child in psutil.Process().children()}, set[int]()

    def slow() -> None:
        time.sleep(0.02)
        busy.update({child.pid for child in psutil.Process().children()} - others)

    steps: list[Any] = [{"slow": slow, "fast": lambda: None}]
    assert [fastest_step({"step of": "x"}, ("slow", "fast"), 2, steps.pop) for _ in range(2)] == [
        "fast"
    ] * 2
    assert len(busy) == 2
    assert not any(psutil.pid_exists(process) for process in busy)


def test_a_busy_process_ends_with_the_one_that_started_it() -> None:
    command = f"[sys.executable, '-c', {threads.BUSY!r}, str(os.getpid())]"
    start = f"import os, subprocess, sys; print(subprocess.Popen({command}).pid)"
    found = subprocess.run(
        [sys.executable, "-c", start], capture_output=True, text=True, check=True
    )
    end = time.monotonic() + 10
    while psutil.pid_exists(int(found.stdout)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not psutil.pid_exists(int(found.stdout))


def test_freed_memory_is_kept_without_harm_where_there_is_no_such_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda name: object())
    keep_freed_memory()
