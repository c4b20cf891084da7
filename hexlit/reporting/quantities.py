"""Numbers as people read them: durations, counts, rates and shares. None (not measured) is a
dash.
"""

import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

DASH = "–"


def shown(value: float | None, unit: str | None = None) -> str:
    """A figure as people read it, in a unit of `FORMATS` or a format such as `{:.2f} s`; a dash for
    a missing one.
    """
    if value is None or (unit is not None and not math.isfinite(value)):
        return DASH
    return FORMATS[unit](value) if unit in FORMATS else str(unit).format(value)


def _duration(seconds: float) -> str:
    """`8.2 s`, `4:05`, `2:03:04` or `3 d 04:05`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days} d {hour:02}:{minute:02}"
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def _scaled(value: float, units: str, step: float) -> str:
    """Three significant digits in the largest of the `units`, the smallest first and each `step`
    times the last.
    """
    names = units.split(",")
    power = next(
        power
        for power in range(len(names) - 1, -1, -1)
        if value >= 0.9995 * step**power or not power
    )
    scaled = value / step**power
    digits = 0
    if scaled < 99.95:
        digits = 2 if scaled < 9.995 else 1
    return f"{scaled:.{digits}f}{names[power]}"


def _figure(value: float) -> str:
    """A loss or a learning rate with four significant digits."""
    if value and abs(value) < 0.001:
        return f"{value:.4g}"
    return f"{value:.4f}" if abs(value) < 100 else f"{value:,.1f}"


FORMATS: Mapping[str | None, Callable[[Any], str]] = {
    None: _figure,
    "epochs": "{:,.0f}".format,
    "count": "{:,.0f}".format,
    "seconds": _duration,
    "bytes": lambda count: (
        f"{count:.0f} B" if count < 1000 else _scaled(count, " B, KiB, MiB, GiB, TiB", 1024)
    ),
    "rate": lambda rate: _scaled(rate, ",k,M", 1000),
    "share": lambda share: f"{100 * share:.1f}%",
    "flops": lambda flops: _scaled(flops, " FLOP, kFLOP, MFLOP, GFLOP, TFLOP, PFLOP, EFLOP", 1000),
}
"""Formats of figures, by unit; None: a loss, a score or a learning rate."""

format_duration, format_count, format_rate = (
    partial(shown, unit=unit) for unit in ("seconds", "count", "rate")
)
format_share, format_bytes = (partial(shown, unit=unit) for unit in ("share", "bytes"))


def time_left(seconds: float, done: float, total: float) -> str:
    """`12.0 s left` at the pace of the `seconds` gone; empty at first, and `nearly done` once all
    is counted.
    """
    if done >= total:
        return "nearly done"
    return f"{format_duration(seconds * (total - done) / done)} left" if done > 0 else ""


def format_hundredths(value: float) -> str:
    """A value in [-1, 1] as hundredths: `+99`, `-3`; the sign stays where they round to zero
    (`-0`). Exactly 0: `0`.
    """
    return f"{100 * value:+.0f}" if value else "0"


LEFT_OUT = ("positions", "score", "measured after")
"""Figures of `format_strength` that do not fit into a sentence."""
_ORDER = ("openings_right", "search_optimality", "policy_optimality", "rollouts_share")
_FORMS = {"elo_to_perfect": "{:+.0f}", "macs_to_perfect": "{:.1e}"}
_SHARE = re.compile("_(optimality|share|accuracy|calibration_error)$")


def format_strength(strength: Mapping[str, object]) -> dict[str, str]:
    """`format_figures` without measurements of the value alone or in positions from games."""
    return format_figures(
        {name: one for name, one in strength.items() if not name.startswith(("value_", "game"))}
    )


def format_figures(figures: Mapping[str, object]) -> dict[str, str]:
    """The numbers of an evaluation by short heading; what is no number (a map of openings) is left
    out.

    `openings_right` of `openings` becomes one entry `25/25`. `*_optimality` and `*_share` (0 to 1)
    become percentages under `... optimal` and `...`.
    """
    texts: dict[str, str] = {}
    for name in [
        *(one for one in _ORDER if one in figures),
        *sorted(figures.keys() - {*_ORDER, "openings"}),
    ]:
        value, heading = (
            figures[name],
            name.removesuffix("_share").replace("_optimality", "_optimal"),
        )
        if name == "openings_right":
            texts["openings"] = (
                f"{value}/{figures['openings']}" if "openings" in figures else f"{value}"
            )
        elif isinstance(value, int | float) and not isinstance(value, bool):
            unit = "share" if _SHARE.search(name) else _FORMS.get(name)
            if isinstance(value, int):
                unit = "count"
            texts[heading.replace("_", " ")] = shown(value, unit)
    return texts
