"""The common part of measurements: a warm-up that does not count, medians, their spread, and waiting for the device."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median, quantiles
from typing import Any

import torch

from hexlit.accelerate.events import synchronize
from hexlit.accelerate.profile import DeviceProfile
from hexlit.bench.config import BenchConfig
from hexlit.nets.tower import HexNet

Work = Callable[[int], float]
"""Does a number of rounds of work, and returns the units done."""


@dataclass(frozen=True)
class Subject:
    """What is measured: a network with the settings of its games and its training, on a device."""

    net: HexNet
    config: BenchConfig
    """Its `board` is that of the network."""
    profile: DeviceProfile

    @property
    def net_name(self) -> str:
        """Blocks and channels, such as `6x64`."""
        config = self.net.config
        kinds = [kind for kind in (config.block, config.attention) if kind not in ("basic", "none")]
        return " ".join([f"{sum(config.blocks)}x{config.channels}", *kinds])

    @property
    def effort(self) -> "Effort":
        """Length of measuring one line."""
        return Effort(self.config.repeats, self.config.seconds)


@dataclass(frozen=True)
class Effort:
    """Length of measuring one line of a table."""

    repeats: int
    """Number of measurements after the warm-up, 2 or more."""
    seconds: float
    """Approximate length of one measurement."""


@dataclass(frozen=True)
class Measurement:
    """One line of a table: work per second, and its conditions."""

    what: str
    unit: str
    device: str
    threads: int
    precision: str
    median: float | None
    """Work per second; None if `detail` gives the reason for a missing figure."""
    lower_quartile: float | None
    upper_quartile: float | None
    first_call_seconds: float | None
    """Time of the very first call, which compiles or loads compiled code; it is not part of the other figures."""
    compile_seconds: float | None = None
    """Time of compiling, if it is known separately."""
    milliseconds: float | None = None
    """Median of one step, if the work consists of steps."""
    batch: int | None = None
    """Positions in one call, if the lines of a table differ in it."""
    refresh_milliseconds: float | None = None
    """Median time for an evaluator to take over new weights."""
    peak_bytes: int | None = None
    """Peak of memory: of the device, or of the process on a cpu."""
    load_share: float | None = None
    """Share of a training's time that waits for data."""
    fits: bool = True
    """Whether the whole batch fitted into memory at once."""
    detail: str = ""


@dataclass(frozen=True)
class Outcome:
    """The lines of one kind of measurement."""

    lines: Sequence[Measurement]
    findings: Sequence[str] = ()
    """Conclusions, one sentence each."""
    pace: Mapping[str, Any] = field(default_factory=dict)
    """The input of `hexlit plan`."""


@dataclass(frozen=True)
class Setting:
    """Conditions of a line's measurement."""

    device: str
    threads: int
    precision: str

    @classmethod
    def of(cls, profile: DeviceProfile, precision: str) -> "Setting":
        """The device and threads of `profile`."""
        return cls(str(profile.device), profile.threads, precision)


def measure_rate(
    effort: Effort, work: Work, *, what: str, unit: str, on: Setting, profile: DeviceProfile
) -> Measurement:
    """Rate of `work`, whose rounds are chosen to take about `effort.seconds`.

    The device of `profile` has finished all its work before each reading of the clock.
    """
    first = _timed(work, 1, profile)[1]
    rounds = 1
    while True:
        taken = _timed(work, rounds, profile)[1]
        if taken >= effort.seconds / 2:
            break
        rounds *= 2
    rounds = max(1, round(rounds * effort.seconds / taken))
    rates = [done / seconds for done, seconds in (_timed(work, rounds, profile) for _ in range(effort.repeats))]
    return measured(rates, what=what, unit=unit, on=on, first_call_seconds=first)


def rates_in_turn(effort: Effort, works: Mapping[str, Work], profile: DeviceProfile) -> dict[str, list[float]]:
    """Rates of each of `works`, by name, measured one after the other in every round.

    Other load of the machine thus affects all of them alike. There are `effort.repeats` rounds after a warm-up. In
    each, one work takes a fifth of `effort.seconds`, or one call if that takes longer.
    """
    rounds = {}
    for name, work in works.items():
        _timed(work, 1, profile)
        rounds[name] = max(1, round(effort.seconds / 5 / _timed(work, 1, profile)[1]))
    rates: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(effort.repeats):
        for name, work in works.items():
            done, seconds = _timed(work, rounds[name], profile)
            rates[name].append(done / seconds)
    return rates


def _timed(work: Work, rounds: int, profile: DeviceProfile) -> tuple[float, float]:
    """Units done, and seconds."""
    synchronize(profile.device)
    start = time.perf_counter()
    done = work(rounds)
    synchronize(profile.device)
    return done, time.perf_counter() - start


def measured(rates: list[float], *, what: str, unit: str, on: Setting, first_call_seconds: float | None) -> Measurement:
    """The line of these rates; a single one has no spread."""
    lower, _, upper = quantiles(rates, n=4, method="inclusive") if len(rates) > 1 else (None, None, None)
    return Measurement(what, unit, on.device, on.threads, on.precision, median(rates), lower, upper, first_call_seconds)


def not_measured(what: str, unit: str, on: Setting, why: str) -> Measurement:
    """A line without figures."""
    return Measurement(what, unit, on.device, on.threads, on.precision, None, None, None, None, detail=why)


def beside(line: Measurement, other: float | None, text: str) -> Measurement:
    """`line`, with the ratio of its rate to that of `other` in its detail; `text` formats the `ratio`."""
    if not line.median or not other:
        return line
    return replace(line, detail="; ".join(filter(None, [text.format(ratio=line.median / other), line.detail])))


def short(dtype: torch.dtype) -> str:
    """Short name: `bfloat16` for `torch.bfloat16`."""
    return str(dtype).removeprefix("torch.")
