"""Choices that were measured once on this machine, saved in one small file of the cache folder."""

import json
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import torch

from hexlit.accelerate.host import processor_identity
from hexlit.files import named_cache_folder, read_json, write_text_atomic
from hexlit.locks import alone

log = logging.getLogger(__name__)


MEASURED_SECONDS = 0.2
"""Length of a measurement, without building, if that is enough for `LEAST_ROUNDS`."""

LEAST_ROUNDS = 4
"""Rounds of a measurement at least."""

ROUND_SECONDS = 0.005
"""Shortest time that the clock measures."""


def cached_choice(
    of: Mapping[str, Any], names: Sequence[str], measure: Callable[[], dict[str, float]]
) -> str:
    """The fastest name for `of` on this machine, from an earlier measurement; measured now if there
    is none.

    A choice stays, so that the same run gives the same result again. If several processes ask at
    once, one measures and the others wait. A damaged file is measured again. If the file cannot be
    written, the first name is taken without measurement: a choice that cannot be saved could differ
    the next time.

    Args:
        of: everything that the choice depends on, next to the names, the processor, the versions of
            torch and Numba.
        names: the options; the first is preferred among equals.
        measure: seconds of the same work by name; a name that does not work may be absent.
    """
    if len(names) == 1:
        return names[0]
    parts = {
        "processor": processor_identity(),
        "instructions": [
            torch.backends.cpu.get_cpu_capability(),
            os.environ.get("ONEDNN_MAX_CPU_ISA", ""),
        ],
        "versions": {name: version(name) for name in ("torch", "numba")},
    }
    # With the names: who may choose among others leaves this choice as it is.
    key = json.dumps({**parts, **of, "names": names}, sort_keys=True, default=str)
    folder = named_cache_folder()
    if folder is None:
        log.warning("there is no home folder for a cache: %s is taken, unmeasured", names[0])
        return names[0]
    path = folder / "backends.json"
    try:
        with alone(path.with_name(f"{path.name}.lock")):
            known = read_json(path)
            entry = known.get(key)
            if isinstance(entry, dict) and entry.get("choice") in names:
                return str(entry["choice"])
            seconds = measure()
            times = {name: round(1000 * taken, 4) for name, taken in seconds.items()}
            choice = fastest(names, seconds)
            known[key] = {"choice": choice, "milliseconds": times}
            write_text_atomic(path, json.dumps(known, indent=1) + "\n")
            return choice
    except OSError as error:
        log.warning(
            "%s cannot be written (%s): %s is taken, unmeasured", path, error.strerror, names[0]
        )
        return names[0]


def fastest(names: Sequence[str], seconds: dict[str, float], margin: float = 0.05) -> str:
    """The name with the least seconds; the first of `names` unless another is faster by more than
    `margin`.
    """
    worked = [name for name in names if name in seconds]
    if not worked:
        return names[0]
    best = min(worked, key=seconds.__getitem__)
    return best if seconds[best] < (1 - margin) * seconds[worked[0]] else worked[0]


def timed_in_turn(
    calls: Mapping[str, Callable[[], object]],
    clock: Callable[[], float] = time.perf_counter,
    seconds: float = MEASURED_SECONDS,
) -> dict[str, list[float]]:
    """Seconds of each of `calls`, by name, in rounds in which they take turns for `seconds`; each
    is called before.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    counts = {}
    for name, call in calls.items():
        _timed(call, 1, clock)
        counts[name] = max(1, round(ROUND_SECONDS / max(1e-9, _timed(call, 1, clock))))
    rounds, end = 0, time.perf_counter() + seconds
    while calls and (rounds < LEAST_ROUNDS or time.perf_counter() < end):
        rounds += 1
        for name, call in calls.items():
            times[name].append(_timed(call, counts[name], clock) / counts[name])
    return times


def _timed(call: Callable[[], object], count: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(count):
        call()
    return clock() - start
