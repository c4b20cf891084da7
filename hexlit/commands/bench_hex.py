"""The measurements of `hexlit bench` for Hex: one kind after the other, and the report of all of them."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from hexlit.bench.config import QUICK, BenchConfig
from hexlit.commands.bench_output import machine

if TYPE_CHECKING:  # torch is imported only for a measurement
    from hexlit.bench.report import Report
    from hexlit.nets.tower import HexNet


def measured(settings: BenchConfig, say: Callable[[str], None]) -> "Report":
    """The measurements of `settings`, on their device; `say` gets the name of each one."""
    import numba

    from hexlit.accelerate.profile import build_profile
    from hexlit.bench.measure import Subject
    from hexlit.bench.report import Report
    from hexlit.bench.table import MEASUREMENTS
    from hexlit.training.run import quiet_lightning

    profile = build_profile(settings.accelerator)
    numba.set_num_threads(min(profile.threads, numba.config.NUMBA_NUM_THREADS))
    profile.apply()
    quiet_lightning()
    net, size = network(settings)
    subject = Subject(net, replace(settings, board=size), profile)
    report = Report(f"{size}x{size} board", {"board": size}, machine(profile), [])
    kinds = QUICK if settings.what == "all" else (settings.what,)
    for number, kind in enumerate(kinds, start=1):
        say(f"measuring {kind} ({number} of {len(kinds)})")
        outcome = MEASUREMENTS[kind](subject)
        report.lines.extend(outcome.lines)
        report.said.extend(outcome.findings)
        report.pace.update(outcome.pace)
    return report


def network(config: BenchConfig) -> tuple["HexNet", int]:
    """The network to measure, and the size of its board."""
    import torch

    from hexlit.nets.tower import build_net
    from hexlit.tasks.hex.checkpoint import load_network

    if config.checkpoint is not None:
        loaded = load_network(config.checkpoint)
        return loaded.net, loaded.size
    torch.manual_seed(0)
    return build_net(config.net), config.board
