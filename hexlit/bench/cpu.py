"""Measurements of the processor: the exact solver, and several trainings at once."""

import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from statistics import median
from subprocess import PIPE, STDOUT
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from hexlit.accelerate.profile import DeviceProfile
from hexlit.bench.measure import Measurement, Outcome, Subject, line_of
from hexlit.errors import UsageError
from hexlit.hex.solver import ExactSolver, Ingredients, UnsolvedError

PLIES = {2: 1, 3: 2, 4: 4, 5: 4, 6: 6, 7: 8, 8: 16}
"""Random stones on the solved positions, by size of the board."""
POSITIONS = 50
OPENINGS_UP_TO = 7
REPEATED_UP_TO = 6
"""Largest board for repeated measurements of the openings, and for comparing the ingredients."""
MOST = 20
"""A search without an ingredient is ended when it takes this many times the nodes of the whole."""
TRAIN = (sys.executable, "-m", "hexlit", "train")
SHORT = ("experiment=quick", "trainer.max_epochs=10", "logger=csv", "report=false")
"""A training like those of `sweep=quick`, at most a fifth as long."""

TRIALS = 4
AT_ONCE = (1, 2, 4)
ROUNDS = 2
"""Measurements of each way, in turn, so that other load of the machine affects all of them alike."""


def measure_solver(subject: Subject) -> Outcome:
    """One thread of the processor: lines in nodes per second, and findings.

    `milliseconds` of a line is the time for all openings, or for one position; a solver begins with an empty table.
    Raises `UsageError` for a board that the solver does not support.
    """
    size = subject.config.board
    ExactSolver(size, 4)
    start = time.perf_counter()
    ExactSolver(3).solve(np.zeros(9, np.int8), 1)
    first = time.perf_counter() - start

    def line(what: str, nodes: Sequence[float], seconds: Sequence[float], detail: str, **more: float) -> Measurement:
        rates = [count / taken for count, taken in zip(nodes, seconds, strict=True)]
        fields: dict[str, Any] = {"device": "cpu", "threads": 1, "milliseconds": 1000 * median(seconds)}
        return line_of(what, "nodes/s", subject.profile, rates=rates, detail=detail, **fields | more)

    lines, message = [], []
    for what, figures in _positions(size).items():
        nodes, seconds = zip(*figures, strict=True)
        detail = f"one of {POSITIONS}; {max(seconds):.2f} s at most"
        lines.append(line(f"{what} after {PLIES[size]} random plies", nodes, seconds, detail, first_call_seconds=first))
    if size <= OPENINGS_UP_TO:
        repeats = subject.config.repeats if size <= REPEATED_UP_TO else 1
        nodes, seconds = zip(*(_openings(size, Ingredients(), None) for _ in range(repeats)), strict=True)
        whole, usual = nodes[0], median(seconds)
        lines.append(line(f"all openings of {size}x{size}", nodes, seconds, f"{whole:,} nodes"))
    for name in Ingredients._fields if size <= REPEATED_UP_TO else ():
        try:
            more, longer = _openings(size, Ingredients()._replace(**{name: False}), MOST * whole)
        except UnsolvedError:
            message.append(f"without {name}: given up at {MOST} times the nodes")
            continue
        lines.append(line(f"without {name}", [more], [longer], f"{more:,} nodes"))
        message.append(f"without {name}: {more / whole:.2f} times the nodes, {longer / usual:.2f} times as long")
    return Outcome(lines, message)


def _positions(size: int) -> dict[str, list[tuple[int, float]]]:
    """Nodes and seconds of random positions: only their winner, and all winning moves, each by a new solver."""
    random = np.random.default_rng(size)
    figures: dict[str, list[tuple[int, float]]] = {"winner": [], "winning moves": []}
    for _ in range(POSITIONS):
        cells = np.zeros(size * size, np.int8)
        filled = random.permutation(size * size)[: PLIES[size]]
        cells[filled[0::2]], cells[filled[1::2]] = 1, -1
        to_move = 1 if PLIES[size] % 2 == 0 else -1
        for what, done in figures.items():
            solver, start = ExactSolver(size), time.perf_counter()
            (solver.wins if what == "winner" else solver.solve)(cells, to_move)
            done.append((solver.nodes, time.perf_counter() - start))
    return figures


def _openings(size: int, use: Ingredients, node_limit: int | None) -> tuple[int, float]:
    """Nodes and seconds for the winner of every position with one stone."""
    solver, nodes, start = ExactSolver(size, use=use), 0, time.perf_counter()
    for cell in range(size * size):
        cells = np.zeros(size * size, np.int8)
        cells[cell] = 1
        solver.wins(cells, -1, None if node_limit is None else node_limit - nodes)
        nodes += solver.nodes
        if node_limit is not None and nodes >= node_limit:
            raise UnsolvedError(f"{nodes} nodes")
    return nodes, time.perf_counter() - start


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
        what, rates = f"{TRIALS} trainings of experiment=quick, {how}", [60 * TRIALS / each for each in taken]
        more = {"threads": jobs * max(1, profile.threads // jobs), "milliseconds": 1000 * median(taken)}
        lines.append(line_of(what, "trainings/min", profile, profile.precision, rates, **more))
        ratio = f"{alone / median(taken):.2f} times the rate of one after another"
        message += [f"{TRIALS} trainings, {how}: {ratio}"] if jobs > 1 else []
    return Outcome(lines, message)


def _seconds_of(trials: int, jobs: int, profile: DeviceProfile, program: Sequence[str], folder: Path) -> float:
    """Seconds for `trials` trainings with different seeds, never more than `jobs` at once."""
    folder.mkdir()
    settings = {"device": profile.device, "threads": max(1, profile.threads // jobs), "precision": profile.precision}
    command = [*program, *SHORT, *(f"accelerator.{name}={value}" for name, value in settings.items())]
    running: list[subprocess.Popen[str]] = []

    def train(seed: int) -> None:
        more = [f"seed={seed}", f"hydra.run.dir=run-{seed}"]
        process = subprocess.Popen([*command, *more], cwd=folder, stdout=PIPE, stderr=STDOUT, text=True)
        running.append(process)
        lines = process.communicate()[0].splitlines() or ["it said nothing"]
        if process.returncode:
            raise UsageError(f"what=trials: a training ended with {process.returncode}: {lines[-1]}")

    start = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for training in as_completed([pool.submit(train, seed) for seed in range(1, trials + 1)]):
                training.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in running:
                process.kill()
            raise
    return time.perf_counter() - start
