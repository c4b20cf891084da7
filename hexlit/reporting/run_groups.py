"""Groups of runs that differ by their seeds: the settings that form them, means over their runs,
and 95% intervals.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.reporting.page import Cell, ChartLine, cell
from hexlit.reporting.quantities import DASH, shown
from hexlit.reporting.run_files import RunFiles

SEED = "seed"
APART = (SEED, "resume", "best", "report")
"""Settings that may differ within a group, as those of `logger` may."""
NEVER_MIXED = ("task", "board")
"""Settings that are alike within every group."""
MOST_NAMED = 3
"""Most settings in the name of a group that nobody asked for."""
RESAMPLES = 1000
MOST_POINTS = 300
"""Most points of the mean over a group; figures draw so many without thinning."""


@dataclass(frozen=True)
class ComparedRun:
    """A run and its name on the page."""

    name: str
    files: RunFiles
    link: str | None
    """Its own report, relative to the page."""


@dataclass(frozen=True)
class RunGroup:
    """Runs that count as one."""

    name: str
    runs: Sequence[ComparedRun]
    mixed: Sequence[str] = ()
    """Settings that differ within it, although no seed is among them."""

    @property
    def label(self) -> str:
        """Its name, with the number of runs if there are several."""
        return f"{self.name}, {len(self.runs)} seeds" if len(self.runs) > 1 else self.name

    @property
    def repeats_seeds(self) -> bool:
        """Whether several runs have the same seed."""
        return len({run.files.setting(SEED) for run in self.runs}) < len(self.runs)

    def name_of(self, run: ComparedRun) -> str:
        """A name of the run `run` within the group: its seed, where that is its alone."""
        return run.name if self.repeats_seeds else f"seed {run.files.setting(SEED)}"


def alone(runs: Iterable[ComparedRun]) -> list[RunGroup]:
    """Each run as a group."""
    return [RunGroup(run.name, [run]) for run in runs]


def grouped(runs: Sequence[ComparedRun], by: Sequence[str] = ()) -> list[RunGroup]:
    """The runs in groups with equal settings `by`, in the order of their first runs.

    Without `by`, runs are a group if their settings differ by the seed alone. Each run is a group
    if nothing is grouped so or runs repeat a seed, and if `seed` is in `by`.

    Raises:
        UsageError: a name in `by` stands for no setting of the runs, or for several.
    """
    settings = [run.files.settings() for run in runs]
    names = [_setting_named(one, settings) for one in by]
    for one in _telling(settings):
        if one not in names and (not by or one in NEVER_MIXED):
            names.append(one)
    members = defaultdict(list)
    for index, values in enumerate(settings):
        key = tuple(values.get(name, DASH) for name in names)
        members[key].append(index)
    groups: list[RunGroup] = []
    for key, indices in members.items():
        name = _name_of(names, key) if by or len(names) <= MOST_NAMED else ""
        name = name or runs[indices[0]].files.name
        if any(group.name == name for group in groups):
            name += f" {len(groups) + 1}"
        mixed = _telling([settings[index] for index in indices])
        groups.append(RunGroup(name, [runs[index] for index in indices], mixed))
    repeated = any(group.repeats_seeds for group in groups)
    if SEED in names or (not by and (len(groups) == len(runs) or repeated)):
        return alone(runs)
    return groups


def differing(settings: Sequence[Mapping[str, str]]) -> list[str]:
    """Names of the settings that are not alike everywhere."""
    result = []
    for name in dict.fromkeys(chain.from_iterable(settings)):
        if len({one.get(name) for one in settings}) > 1:
            result.append(name)
    return result


def _telling(settings: Sequence[Mapping[str, str]]) -> list[str]:
    """Names of those of them that may not differ within a group."""
    names = differing(settings)
    return [one for one in names if one not in APART and not one.startswith("logger.")]


def _setting_named(word: str, settings: Sequence[Mapping[str, str]]) -> str:
    """The setting with the name `word`, or the only one whose last parts are `word`."""
    known = set(chain.from_iterable(settings))
    if word in known:
        return word
    result = sorted(name for name in known if name.endswith(f".{word}"))
    if len(result) == 1:
        return result[0]
    if result:
        raise UsageError(f"by={word}: stands for {', '.join(result)}; name one of them")
    names = ", ".join(_telling(settings)) or "none but seed"
    raise UsageError(f"by={word}: no setting of these runs; those that differ are {names}")


def _name_of(names: Sequence[str], values: Sequence[str]) -> str:
    """The settings with their values, each under its last part where no other one has it."""
    lasts = [name.rpartition(".")[2] for name in names]
    parts = []
    for name, last, value in zip(names, lasts, values, strict=True):
        parts.append(f"{last if lasts.count(last) == 1 else name}={value}")
    return " · ".join(parts)


def curve_of(files: RunFiles, metric: str, axis: str) -> NDArray[np.float64]:
    """The finite points `[P, 2]` of a metric over an axis; none where one of the columns is
    missing.
    """
    pairs = zip(files.column(axis), files.column(metric), strict=False)
    known = [pair for pair in pairs if None not in pair]
    points = np.array(known, np.float64).reshape(-1, 2)
    finite = np.isfinite(points).all(1)
    return points[finite]


def line_of(group: RunGroup, metric: str, axis: str, factor: float = 1.0) -> ChartLine | None:
    """The metric of a run, or its mean over the runs with the interval of the mean at each point.

    The mean has the points of all runs, and each run is linear between its own. It is drawn where
    all runs have values; None: nowhere.

    Args:
        group: as above.
        metric: a column of `metrics.csv`.
        axis: another one.
        factor: number of values of the axis per unit.
    """
    curves = [curve_of(run.files, metric, axis) for run in group.runs]
    if not all(map(len, curves)):
        return None
    if len(curves) == 1:
        xs, ys = curves[0].T
        return ChartLine(group.label, (xs / factor).tolist(), ys.tolist())
    xs = np.unique(np.concatenate(curves)[:, 0])
    rows = [np.interp(xs, one[:, 0], one[:, 1], np.nan, np.nan) for one in curves]
    values = np.array(rows)
    shared = np.flatnonzero(np.isfinite(values).all(0))
    if not len(shared):
        return None
    chosen = shared[np.linspace(0, len(shared) - 1, min(len(shared), MOST_POINTS)).astype(int)]
    values = values[:, chosen]
    reach = bootstrap(values).T.tolist()
    means = values.mean(0).tolist()
    return ChartLine(group.label, (xs[chosen] / factor).tolist(), means, reach=reach)


def bootstrap(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Low and high end `[2, P]` of the 95% interval of the mean over the runs of `values` `[R, P]`.

    Percentiles of the means over runs drawn with replacement (Efron 1979); the same values give
    the same ends.
    """
    count = len(values)
    draws = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), RESAMPLES)
    ends: NDArray[np.float64] = np.percentile(draws @ values / count, (2.5, 97.5), axis=0)
    return ends


def interval_cell(values: Sequence[float | None], unit: str | None = None) -> Cell:
    """The mean with half of its 95% interval by Student's t, such as `0.52 ± 0.03`; a dash where a
    value is missing.
    """
    known = [value for value in values if value is not None and math.isfinite(value)]
    if len(known) < len(values):
        return cell(None)
    mean = fmean(known)
    if len(set(known)) == 1:
        return cell(mean, unit)
    from scipy.special import stdtrit

    half = stdtrit(len(known) - 1, 0.975) * stdev(known) / math.sqrt(len(known))
    return Cell(f"{shown(mean, unit)} ± {shown(half, unit)}", mean)


def notes_of(group: RunGroup, metrics: Iterable[str]) -> list[str]:
    """Sentences on what limits the means of a group over the `metrics`."""
    if len(group.runs) < 2:
        return []
    lines = []
    if group.mixed:
        lines.append(f"{group.name}: {', '.join(group.mixed)} differ within it.")
    if group.repeats_seeds:
        lines.append(f"{group.name}: several runs have the same seed.")
    if len(group.runs) == 2:
        lines.append(f"{group.name}: the intervals are of 2 seeds.")
    longest = max(run.files.epochs for run in group.runs)
    ends = []
    for run in group.runs:
        files = run.files
        if files.epochs < longest:
            how = "ended after" if files.summary else "is at"
            asked = files.setting("trainer.max_epochs")
            ends.append(f"{group.name_of(run)} {how} {files.epochs} of {asked} epochs")
    if ends:
        rule = "curves end with the shortest run, final figures are of each run's end"
        lines.append(f"{group.name}: {', '.join(ends)}; {rule}.")
    for metric in metrics:
        measured = any(run.files.known(metric) for run in group.runs)
        for run in group.runs:
            known = run.files.known(metric)
            where = f"{group.name}: {metric} of {group.name_of(run)}"
            if measured and not known:
                lines.append(f"{where} was not measured; there is no mean.")
            elif not all(map(math.isfinite, known)):
                lines.append(f"{where} is not finite in some epochs, which are left out.")
    return lines
