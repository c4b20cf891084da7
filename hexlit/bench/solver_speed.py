"""The speed of the exact solver on openings and random positions, and the gain of each of its ingredients."""

import time
from dataclasses import replace
from statistics import median

import numpy as np

from hexlit.bench.measure import Measurement, Outcome, Setting, Subject, measured
from hexlit.hex.solver import Ingredients, Solver, UnsolvedError

PLIES = {2: 1, 3: 2, 4: 4, 5: 4, 6: 6, 7: 8, 8: 16}
"""Random stones on the solved positions, by size of the board."""
POSITIONS = 50
OPENINGS_UP_TO = 7
REPEATED_UP_TO = 6
"""Largest board for repeated measurements of the openings, and for comparing the ingredients."""
MOST = 20
"""A search without an ingredient is ended when it takes this many times the nodes of the whole."""


def measure_solver(subject: Subject) -> Outcome:
    """One thread of the processor: lines in positions judged per second, and findings.

    `milliseconds` of a line is the time for all openings, or for one position; a solver begins with an empty table.
    Raises `UsageError` for a board that the solver does not support.
    """
    size = subject.config.board
    Solver(size, 4)
    on = Setting("cpu", 1, "–")
    start = time.perf_counter()
    Solver(3).solve(np.zeros(9, np.int8), 1)
    first = time.perf_counter() - start
    lines, message = _positions(size, on, first), []
    if size <= OPENINGS_UP_TO:
        repeats = subject.effort.repeats if size <= REPEATED_UP_TO else 1
        whole = [_openings(size, Ingredients(), None) for _ in range(repeats)]
        nodes, seconds = whole[0][0], median(taken for _, taken in whole)
        lines.append(_line(f"all openings of {size}x{size}", nodes, seconds, on, [n / s for n, s in whole]))
    if size <= REPEATED_UP_TO:
        for name in Ingredients._fields:
            try:
                without = Ingredients()._replace(**{name: False})
                more, longer = _openings(size, without, MOST * nodes)
            except UnsolvedError:
                message.append(f"without {name}: given up at {MOST} times the nodes")
                continue
            lines.append(_line(f"without {name}", more, longer, on, [more / longer]))
            message.append(f"without {name}: {more / nodes:.2f} times the nodes, {longer / seconds:.2f} times as long")
    return Outcome(lines, message)


def _positions(size: int, on: Setting, first: float) -> list[Measurement]:
    """Random positions, with only their winner and with all winning moves, each by a new solver."""
    random = np.random.default_rng(size)
    rates: dict[str, list[float]] = {"winner": [], "winning moves": []}
    taken: dict[str, list[float]] = {"winner": [], "winning moves": []}
    for _ in range(POSITIONS):
        cells = np.zeros(size * size, np.int8)
        filled = random.permutation(size * size)[: PLIES[size]]
        cells[filled[0::2]], cells[filled[1::2]] = 1, -1
        to_move = 1 if PLIES[size] % 2 == 0 else -1
        for what in rates:
            solver, start = Solver(size), time.perf_counter()
            (solver.wins if what == "winner" else solver.solve)(cells, to_move)
            taken[what].append(time.perf_counter() - start)
            rates[what].append(solver.nodes / taken[what][-1])
    lines = []
    for what in rates:
        line = measured(
            rates[what],
            what=f"{what} after {PLIES[size]} random plies",
            unit="nodes/s",
            on=on,
            first_call_seconds=first,
        )
        lines.append(_with(line, median(taken[what]), f"one of {POSITIONS}; {max(taken[what]):.2f} s at most"))
    return lines


def _openings(size: int, use: Ingredients, node_limit: int | None) -> tuple[int, float]:
    """Nodes and seconds for the winner of every position with one stone."""
    solver, nodes, start = Solver(size, use=use), 0, time.perf_counter()
    for cell in range(size * size):
        cells = np.zeros(size * size, np.int8)
        cells[cell] = 1
        solver.wins(cells, -1, None if node_limit is None else node_limit - nodes)
        nodes += solver.nodes
        if node_limit is not None and nodes >= node_limit:
            raise UnsolvedError(f"{nodes} nodes")
    return nodes, time.perf_counter() - start


def _line(what: str, nodes: int, seconds: float, on: Setting, rates: list[float]) -> Measurement:
    return _with(
        measured(rates, what=what, unit="nodes/s", on=on, first_call_seconds=None), seconds, f"{nodes:,} nodes"
    )


def _with(line: Measurement, seconds: float, detail: str) -> Measurement:
    return replace(line, milliseconds=1000 * seconds, detail=detail)
