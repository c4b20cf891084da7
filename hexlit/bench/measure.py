"""The common part of measurements: a warm-up that does not count, medians, their spread, and their
report.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import quantiles
from typing import Any

import torch

from hexlit.accelerate.events import synchronize
from hexlit.accelerate.profile import DeviceProfile
from hexlit.bench.config import BenchConfig
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.tower import HexNet

Work = Callable[[], float]
"""Does a round of work, and returns the units done."""


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

    def evaluator(self, batch: int, profile: DeviceProfile | None = None) -> NetworkEvaluator:
        """The network's evaluator of `batch` positions, on its own device or on that of another
        `profile`.
        """
        where = profile or self.profile
        return NetworkEvaluator(
            self.net.eval(), size=self.config.board, swap=False, batch=batch, profile=where
        )


@dataclass(frozen=True)
class Measurement:
    """One line of a table: work per second, and its conditions."""

    what: str
    unit: str
    device: str
    threads: int
    precision: str
    median: float | None = None
    """Work per second; None if `detail` gives the reason for a missing figure."""
    lower_quartile: float | None = None
    upper_quartile: float | None = None
    first_call_seconds: float | None = None
    """Time of the very first call, which compiles or loads compiled code; it is not part of the
    other figures.
    """
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
class Report:
    """Measurements, their machine, and their findings."""

    subject: str
    """Subject of the measurements: `11x11 board`, or a task."""
    about: Mapping[str, str | int]
    """The same for programs: `board`, or `task`."""
    machine: Mapping[str, str | int]
    """Device, threads, processor, and the versions of torch, numba and hexlit."""
    lines: list[Measurement]
    findings: list[str] = field(default_factory=list)
    """Findings, one sentence each."""
    pace: dict[str, Any] = field(default_factory=dict)
    """The input of `hexlit plan`, from what=pace."""

    def document(self) -> dict[str, Any]:
        """Everything, for programs: `machine`, `board` or `task`, `measurements`, `findings`, for
        what=pace `pace`.
        """
        lines = [{**asdict(line), "torch": self.machine["torch"]} for line in self.lines]
        whole: dict[str, Any] = {
            "machine": self.machine,
            **self.about,
            "measurements": lines,
            "findings": self.findings,
        }
        return whole | ({"pace": self.pace} if self.pace else {})

    @property
    def title(self) -> str:
        """The subject and the machine, on one line."""
        where = " · ".join(f"{name} {value}" for name, value in self.machine.items())
        return f"{self.subject} · {where}"


def line_of(
    what: str,
    unit: str,
    profile: DeviceProfile,
    precision: str = "–",
    rates: Sequence[float] = (),
    **more: Any,
) -> Measurement:
    """The line of these rates on the device and threads of `profile`; a single rate has no spread.

    `more` are further fields of `Measurement`, such as other `threads`.
    """
    quartiles = (
        quantiles(rates, n=4, method="inclusive") if len(rates) > 1 else [None, *rates, None]
    )
    fields: dict[str, Any] = {
        "device": str(profile.device),
        "threads": profile.threads,
        "precision": precision,
    }
    fields |= (
        zip(("lower_quartile", "median", "upper_quartile"), quartiles, strict=True) if rates else {}
    )
    return Measurement(what, unit, **fields | more)


def measure_rate(
    config: BenchConfig,
    work: Work,
    what: str,
    unit: str,
    profile: DeviceProfile,
    precision: str = "–",
    **more: Any,
) -> Measurement:
    """The line of `work` measured by itself, see `rates_in_turn` and `line_of`."""
    rates, first = rates_in_turn(config, {"": work}, profile)[""]
    return line_of(what, unit, profile, precision, rates, first_call_seconds=first, **more)


def rates_in_turn(
    config: BenchConfig, works: Mapping[str, Work], profile: DeviceProfile
) -> dict[str, tuple[list[float], float]]:
    """`config.repeats` rates of each of `works`, by name, and the seconds of its first call, which
    does not count.

    A measurement takes about `config.seconds`, or one call if that takes longer. The works are
    measured one after the other in every round, so that other load of the machine affects all of
    them alike. The device of `profile` has finished all its work before each reading of the clock.
    """
    rates: dict[str, tuple[list[float], float]] = {}
    rounds = {}
    for name, work in works.items():
        rates[name], count = ([], _timed(work, 1, profile)[1]), 1
        while (taken := _timed(work, count, profile)[1]) < config.seconds / 2:
            count *= 2
        rounds[name] = max(1, round(count * config.seconds / taken))
    for _ in range(config.repeats):
        for name, work in works.items():
            done, seconds = _timed(work, rounds[name], profile)
            rates[name][0].append(done / seconds)
    return rates


def _timed(work: Work, rounds: int, profile: DeviceProfile) -> tuple[float, float]:
    """Units done, and seconds."""
    synchronize(profile.device)
    start = time.perf_counter()
    done = sum(work() for _ in range(rounds))
    synchronize(profile.device)
    return done, time.perf_counter() - start


def compared(line: Measurement, other: float | None, text: str) -> Measurement:
    """`line`, with the ratio of its rate to that of `other` in its detail; `text` formats the
    `ratio`.
    """
    if not line.median or not other:
        return line
    return replace(
        line, detail="; ".join(filter(None, [text.format(ratio=line.median / other), line.detail]))
    )


def short(dtype: torch.dtype) -> str:
    """Short name: `bfloat16` for `torch.bfloat16`."""
    return str(dtype).removeprefix("torch.")
