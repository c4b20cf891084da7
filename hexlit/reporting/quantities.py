"""Numbers as people read them: durations, counts, rates and shares. None (not measured) is a dash."""

import math
from collections.abc import Callable, Mapping
from typing import Any

DASH = "–"


def format_duration(seconds: float | None) -> str:
    """`8.2 s`, `4:05`, `2:03:04` or `3 d 04:05`."""
    if seconds is None or not math.isfinite(seconds):
        return DASH
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days} d {hour:02}:{minute:02}"
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def time_left(seconds: float, done: float, total: float) -> str:
    """`12.0 s left` at the pace of the `seconds` gone; empty at first, and `nearly done` once all is counted."""
    if done >= total:
        return "nearly done"
    return f"{format_duration(seconds * (total - done) / done)} left" if done > 0 else ""


def format_count(count: float | None) -> str:
    """Whole number with groups of three digits: `1,234,567`."""
    return DASH if count is None else f"{count:,.0f}"


def format_rate(rate: float | None) -> str:
    """Three significant digits, with k and M above a thousand and a million: `0.31`, `14.7k`."""
    if rate is None or not math.isfinite(rate):
        return DASH
    for factor, unit in ((1e6, "M"), (1e3, "k")):
        if rate >= 0.9995 * factor:
            return f"{_three_digits(rate / factor)}{unit}"
    return _three_digits(rate)


def format_share(share: float | None) -> str:
    """Share from 0 to 1 as a percentage: `99.5%`."""
    return DASH if share is None or not math.isfinite(share) else f"{100 * share:.1f}%"


def format_bytes(count: float | None) -> str:
    """Amount of memory with three significant digits: `512 B`, `24.1 MiB`, `1.94 GiB`."""
    if count is None or not math.isfinite(count):
        return DASH
    for factor, unit in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= 0.9995 * factor:
            return f"{_three_digits(count / factor)} {unit}"
    return f"{count:.0f} B"


def format_hundredths(value: float) -> str:
    """A value in [-1, 1] as hundredths: `+99`, `-3`; the sign stays where they round to zero (`-0`). Exactly 0: `0`."""
    return f"{100 * value:+.0f}" if value else "0"


def format_figure(value: float) -> str:
    """A loss or a learning rate with four significant digits."""
    return f"{value:.4g}" if value and abs(value) < 0.001 else f"{value:.4f}" if abs(value) < 100 else f"{value:,.1f}"


def format_flops(flops: float | None) -> str:
    """`11.1 TFLOP`."""
    units = ((1e18, "EFLOP"), (1e15, "PFLOP"), (1e12, "TFLOP"), (1e9, "GFLOP"), (0, "FLOP"))
    factor, unit = next(one for one in units if (flops or 0) >= one[0])
    return DASH if flops is None else f"{format_rate(flops / (factor or 1))} {unit}"


def _three_digits(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


FORMATS: Mapping[str | None, Callable[[Any], str]] = {
    None: format_figure,
    "epochs": format_count,
    "count": format_count,
    "seconds": format_duration,
    "bytes": format_bytes,
    "rate": format_rate,
    "share": format_share,
    "flops": format_flops,
}
"""Formats of figures, by unit; None: a loss, a score or a learning rate."""


def shown(value: float | None, unit: str | None = None) -> str:
    """A figure as people read it; a dash for a missing one."""
    return DASH if value is None else FORMATS[unit](value)


LEFT_OUT = ("positions", "score", "measured after")
"""Figures of `format_strength` that do not fit into a sentence."""
_ORDER = ("openings_right", "search_optimality", "policy_optimality", "rollouts_share")


def format_strength(strength: Mapping[str, object]) -> dict[str, str]:
    """The numbers of a strength evaluation by short heading.

    `openings_right` of `openings` becomes one entry `25/25`. `*_optimality` and `*_share` (0 to 1) become percentages
    under `... optimal` and `...`. Other numbers stay unchanged. Left out are values that are no numbers (a map of
    openings), and measurements of the value alone or in positions from games.
    """
    texts: dict[str, str] = {}
    for name in [*(one for one in _ORDER if one in strength), *sorted(strength.keys() - set(_ORDER))]:
        value, heading = (
            strength[name],
            name.removesuffix("_share").replace("_optimality", "_optimal").replace("_", " "),
        )
        if name.startswith(("value_", "game")) or isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if name == "openings_right":
            texts["openings"] = f"{value}/{strength['openings']}" if "openings" in strength else f"{value}"
        elif name != "openings":
            share = "share" if name.endswith(("_optimality", "_share")) else None
            texts[heading] = shown(value, "count" if isinstance(value, int) else share)
    return texts
