"""Parallel trainings: how much earlier several of them end than one after another."""

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from hexlit.accelerate.profile import DeviceProfile
from hexlit.bench.measure import Outcome, Setting, Subject, measured
from hexlit.errors import UsageError

TRAIN = (sys.executable, "-m", "hexlit", "train")
SHORT = ("experiment=quick", "trainer.max_epochs=10", "logger=csv", "report=false")
"""A training like those of `sweep=quick`, at most a fifth as long."""

TRIALS = 4
AT_ONCE = (1, 2, 4)
ROUNDS = 2
"""Measurements of each way, in turn, so that other load of the machine affects all of them alike."""

POLLED_EVERY = 0.02
"""Seconds between two checks for the end of a training."""


def measure_trials(subject: Subject, program: Sequence[str] = TRAIN) -> Outcome:
    """Whole trainings per minute by the number at once, which share the threads; lines and findings.

    Each is a process of its own, as in a sweep, and its start counts. `program` is the command without its settings.
    One training before all others does the compiling, and does not count. `milliseconds` of a line is the time for all
    trainings of a round.

    Raises:
        UsageError: a training failed; the message has its last line.
    """
    profile = subject.profile
    seconds: dict[int, list[float]] = {jobs: [] for jobs in AT_ONCE if jobs <= max(2, profile.threads)}
    with TemporaryDirectory(prefix="hexlit-bench-") as folder:
        _seconds_of(1, 1, profile, program, Path(folder) / "first")
        for number in range(ROUNDS):
            for jobs, taken in seconds.items():
                taken.append(_seconds_of(TRIALS, jobs, profile, program, Path(folder) / f"{number}-{jobs}"))
    alone = median(seconds[1])
    lines, message = [], []
    for jobs, taken in seconds.items():
        how = "one after another" if jobs == 1 else f"{jobs} at once"
        line = measured(
            [60 * TRIALS / each for each in taken],
            what=f"{TRIALS} trainings of experiment=quick, {how}",
            unit="trainings/min",
            on=Setting(str(profile.device), jobs * _threads(jobs, profile), profile.precision),
            first_call_seconds=None,
        )
        ratio = alone / median(taken)
        lines.append(replace(line, milliseconds=1000 * median(taken)))
        if jobs > 1:
            message.append(f"{TRIALS} trainings, {how}: {ratio:.2f} times the rate of one after another")
    return Outcome(lines, message)


def _threads(jobs: int, profile: DeviceProfile) -> int:
    return max(1, profile.threads // jobs)


def _seconds_of(trials: int, jobs: int, profile: DeviceProfile, program: Sequence[str], folder: Path) -> float:
    """Seconds for `trials` trainings with different seeds, never more than `jobs` at once."""
    folder.mkdir()
    settings = [*SHORT, f"accelerator.device={profile.device}", f"accelerator.threads={_threads(jobs, profile)}"]
    settings.append(f"accelerator.precision={profile.precision}")
    waiting = list(range(1, trials + 1))
    running: dict[int, subprocess.Popen[bytes]] = {}
    start = time.perf_counter()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                seed = waiting.pop(0)
                command = [*program, *settings, f"seed={seed}", f"hydra.run.dir=run-{seed}"]
                with (folder / f"{seed}.log").open("wb") as log:
                    running[seed] = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
            for seed, process in list(running.items()):
                if process.poll() is None:
                    continue
                del running[seed]
                if process.returncode:
                    lines = (folder / f"{seed}.log").read_text(errors="replace").splitlines() or ["it said nothing"]
                    raise UsageError(f"what=trials: a training ended with {process.returncode}: {lines[-1]}")
            time.sleep(POLLED_EVERY)
        return time.perf_counter() - start
    finally:
        for process in running.values():
            process.kill()
            process.wait()
