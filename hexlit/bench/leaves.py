"""The search of a single game with a network: gains of several leaves per call, and their cost in unused rows."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hexlit.accelerate.profile import DeviceProfile
from hexlit.bench.evaluation import net_name, short
from hexlit.bench.measure import Effort, Measurement, Setting, measure_rate
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.tower import HexNet
from hexlit.search.config import SearchConfig
from hexlit.search.search import Search

LEAVES = (1, 4, 8, 16)
POSITIONS = 4


def measure_leaves(
    net: HexNet, size: int, search: SearchConfig, effort: Effort, profile: DeviceProfile
) -> list[Measurement]:
    """Simulations per second of one game after another, searched with the settings `search`, by leaves per call.

    Twice: with virtual loss alone, and with root batching. Each line has its ratio to the first, which has one leaf.
    """
    ways = [(leaves, root_batch) for root_batch in (False, True) for leaves in LEAVES if leaves > 1 or not root_batch]
    lines = [
        _measure(replace(search, leaves=leaves, root_batch=root_batch), net, size, effort, profile)
        for leaves, root_batch in ways
    ]
    single = lines[0].median
    return lines[:1] + [
        replace(line, detail=f"{line.detail}, {line.median / single:.2f} times the rate of 1 leaf")
        if line.median and single
        else line
        for line in lines[1:]
    ]


def _measure(config: SearchConfig, net: HexNet, size: int, effort: Effort, profile: DeviceProfile) -> Measurement:
    evaluator = NetworkEvaluator(net.eval(), size=size, swap=False, batch=config.leaves, profile=profile)
    search = Search(config, size=size, games=1)
    cells, colours = _openings(size)
    turn = 0

    def searches(rounds: int) -> float:
        nonlocal turn
        for _ in range(rounds):
            row = turn % POSITIONS
            search.run(cells[row, None], colours[row, None], evaluator)
            turn += 1
        return float(config.simulations * rounds)

    leaves = f"{config.leaves} {'root moves' if config.root_batch else 'leaves'}" if config.leaves > 1 else "1 leaf"
    what = f"{config.algorithm}, {config.simulations} simulations, one game, {net_name(net)}: {leaves} a call"
    on = Setting.of(profile, f"{evaluator.backend} {short(evaluator.dtype)}")
    line = measure_rate(effort, searches, what=what, unit="simulations/s", on=on, profile=profile)
    calls, used = search.evaluator_calls / turn, search.rows_used / (search.evaluator_calls * search.rows)
    return replace(
        line,
        milliseconds=1000 * config.simulations / line.median if line.median else None,
        detail=f"{calls:.1f} calls a move, {used:.0%} of their rows used",
    )


def _openings(size: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Positions after 0 to 3 stones, and the colours to move: cells int8 `[4, size*size]`, int8 `[4]`."""
    cells = np.zeros((POSITIONS, size * size), np.int8)
    places = np.random.default_rng(0).permutation(size * size)[: POSITIONS - 1]
    for stones, place in enumerate(places, start=1):
        cells[stones:, place] = 1 if stones % 2 else -1
    return cells, np.array([1, -1, 1, -1], np.int8)
