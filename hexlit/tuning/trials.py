"""The trials of a sweep as plain values: from its study,
or from the folders of its runs, with their metrics.
"""

import csv
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from hexlit.accelerate.machine import PROCESS_FILE, read_process_file
from hexlit.files import read_json
from hexlit.reporting.sweep import FLAGS
from hexlit.tuning.sweep_folder import SweepFacts, read_yaml

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

COMPLETE = "complete"
PRUNED = "pruned"
FAILED = "failed"
RUNNING = "running"
INTERRUPTED = "interrupted"
STATES = (COMPLETE, PRUNED, FAILED, RUNNING, INTERRUPTED)
STARTING = 60.0
"""Seconds that a run may take until its first file,
where no process file shows whether it lives.
"""
RISE = 0.05
"""A loss counts as risen when it ends above its lowest stretch by more than this share."""
NAN, RISING, OVERFITTING = FLAGS

Value = str | int | float | bool | None
Metric = tuple[float | None, ...]


@dataclass(frozen=True)
class Curves:
    """Metrics by epoch. None: nothing was logged. NaN or infinite: that value was logged."""

    epochs: tuple[int, ...] = ()
    columns: Mapping[str, Metric] = field(default_factory=dict)
    ends: Mapping[str, float | None] = field(default_factory=dict)
    """Final values that are not those of the last epoch."""

    @property
    def splits(self) -> tuple[str, ...]:
        """The data with a known total loss, such as `train` and `val`."""
        return tuple(name.removesuffix(".loss") for name in self.columns if name.endswith(".loss"))

    def column(self, name: str) -> Metric:
        """The values of one metric, one for each epoch."""
        return self.columns.get(name, (None,) * len(self.epochs))

    def losses(self, split: str) -> dict[str, float | None]:
        """Final value of every loss over the data `split`, by its name without the split."""
        names = [name for name in self.columns if name.endswith("loss")]
        prefix = f"{split}."
        return {
            name.removeprefix(prefix): self.last(name) for name in names if name.startswith(prefix)
        }

    def last(self, name: str) -> float | None:
        """The final value of a metric; None where it was never logged or is no finite number."""
        return self.ends[name] if name in self.ends else last_of(self.column(name))

    def ended_with(self, epoch: int) -> "Curves":
        """The same of a run that restored the weights of `epoch`,
        whose metrics are the final ones.
        """
        if epoch not in self.epochs:
            return self
        index = self.epochs.index(epoch)
        ends = {name: last_of((values[index],)) for name, values in self.columns.items()}
        return replace(self, ends=ends)


def last_of(values: Metric) -> float | None:
    """The last value that was logged; None without one, or where it is no finite number."""
    logged = [value for value in values if value is not None]
    if not logged or not math.isfinite(logged[-1]):
        return None
    return logged[-1]


def read_curves(path: Path) -> Curves:
    """The table at `path`, without a torn last line; without a file it is empty."""
    if not path.is_file():
        return Curves()
    facts = path.stat()
    return _read(path, facts.st_mtime_ns, facts.st_size)


@lru_cache(maxsize=4096)
def _read(path: Path, changed: int, size: int) -> Curves:
    """Read once for each state of a file: the table of an ended trial is asked for often."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    table = csv.DictReader(line for line in lines if line.endswith("\n"))
    rows: dict[int, dict[str, str]] = {}
    for row in table:
        epoch = _number(row.get("epoch"))
        if epoch is not None:
            rows[int(epoch)] = row
    epochs = tuple(sorted(rows))
    columns: dict[str, Metric] = {}
    for name in table.fieldnames or ():
        if name not in ("epoch", "step"):
            columns[name] = tuple(_number(rows[epoch][name]) for epoch in epochs)
    return Curves(epochs, columns)


def _number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


def mean_curves(parts: Sequence[Curves]) -> Curves:
    """The mean over the runs of one trial with several seeds,
    at each epoch over those that reached it.
    """
    if len(parts) == 1:
        return parts[0]
    reached: set[int] = set()
    names: dict[str, None] = {}
    for part in parts:
        reached.update(part.epochs)
        names |= dict.fromkeys(part.columns)
    epochs = tuple(sorted(reached))
    columns: dict[str, Metric] = {}
    for name in names:
        courses = [dict(zip(part.epochs, part.column(name), strict=True)) for part in parts]
        columns[name] = tuple(_mean([course.get(epoch) for course in courses]) for epoch in epochs)
    ends = {}
    if any(part.ends for part in parts):  # a run that restored earlier weights
        ends = {name: _mean([part.last(name) for part in parts]) for name in names}
    return Curves(epochs, columns, ends)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def sanity_flags(parts: Iterable[Curves], comparable: str | None = None) -> tuple[str, ...]:
    """Signs of trouble in any run of a trial, by its loss `comparable`, or `loss` where it has no
    such column.

    `nan`: a loss was NaN or infinite in some epoch.
    `rising`: the mean training loss of the last quarter of the epochs (two at least) lies 5% above
    the lowest stretch of the same length.
    `overfitting`: the validation loss (`val.*`) has risen by as much, while the training loss
    continued to fall.
    """
    result: set[str] = set()
    for curves in parts:
        if _has_nan(curves):
            result.add(NAN)
        training = _compared_loss(curves, "train", comparable)
        validation = _compared_loss(curves, "val", comparable)
        if _risen([loss for (loss,) in _finite(training)]) is not None:
            result.add(RISING)
        both = _finite(training, validation)
        lowest = _risen([loss for _, loss in both])
        if lowest is None:
            continue
        width = _stretch(len(both))
        at_the_end = fmean(loss for loss, _ in both[-width:])
        at_the_lowest = fmean(loss for loss, _ in both[lowest : lowest + width])
        if at_the_end < at_the_lowest:
            result.add(OVERFITTING)
    return tuple(flag for flag in FLAGS if flag in result)


def _has_nan(curves: Curves) -> bool:
    """Whether a loss was NaN or infinite in some epoch."""
    for name, values in curves.columns.items():
        if not name.endswith("loss"):
            continue
        if any(value is not None and not math.isfinite(value) for value in values):
            return True
    return False


def _compared_loss(curves: Curves, split: str, comparable: str | None) -> Metric:
    """The loss `comparable` over the data `split`, else the total."""
    name = f"{split}.{comparable}"
    return curves.column(name if name in curves.columns else f"{split}.loss")


def _finite(*columns: Metric) -> list[tuple[float, ...]]:
    """The rows of `columns` whose values are all finite."""
    rows = zip(*columns, strict=True)
    return [row for row in rows if all(value is not None and math.isfinite(value) for value in row)]


def _stretch(epochs: int) -> int:
    return max(2, epochs // 4)


def _risen(values: Sequence[float]) -> int | None:
    """First index of the lowest stretch if `values` end above it by more than `RISE`, else None."""
    width = _stretch(len(values))
    if len(values) < 2 * width:
        return None
    means = [fmean(values[start : start + width]) for start in range(len(values) - width + 1)]
    lowest = min(means)
    return means.index(lowest) if means[-1] > lowest + RISE * abs(lowest) else None


def plain_value(value: Any) -> Value:
    """`value` in a form that JSON allows."""
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


@dataclass(frozen=True)
class TrialResult:
    """One trial; unknown facts are None. The last three fields are in no file of results."""

    rank: int | None = field(default=None, kw_only=True)
    """None unless ranked; the best has 1."""
    number: int
    state: str
    values: tuple[float, ...] | None = None
    """Of the objectives; None unless complete."""
    comparable: float | None = None
    """The loss that all trials weigh alike (`sweep.comparable`), at the end of the trial."""
    loss: float | None = None
    """The final total with the weights of this trial."""
    losses: Mapping[str, float | None] = field(default_factory=dict)
    """The other final losses over the same data, by name."""
    epochs: int | None = None
    max_epochs: int | None = None
    """Epochs that it would have done."""
    seconds: float | None = None
    """Wall time; of a running trial that up to now."""
    host_peak_bytes: int | None = None
    device_peak_bytes: int | None = None
    flags: tuple[str, ...] = ()
    """Of `hexlit.reporting.sweep.FLAGS`."""
    failure: str | None = None
    """Why it failed or was interrupted."""
    folder: str | None = None
    """Name inside the sweep's folder; None without such a folder."""
    params: Mapping[str, Value] = field(default_factory=dict)
    overrides: tuple[str, ...] = ()
    """All overrides of the trial's run."""
    latest: float | None = None
    """The last value reported to the pruner."""
    started: float | None = None
    """Seconds since 1970, like `ended`."""
    ended: float | None = None
    attempts: int = 1
    """2 where it began again after it ran out of memory."""
    retry_of: int | None = None
    """Number of the interrupted trial that this one does again."""

    intermediate: Mapping[int, float] = field(default_factory=dict)
    """Values reported to the pruner, by epoch."""
    saved_seconds: float | None = None
    """Seconds saved by pruning it, as the trial itself estimates; None without an estimate."""
    curves: Curves = field(default_factory=Curves)
    """Its metrics; with several seeds their mean."""


def trials_of_study(
    folder: Path, facts: SweepFacts, trials: Iterable["FrozenTrial"], sweep_alive: bool, now: float
) -> list[TrialResult]:
    """The trials of a study that have begun, by number."""
    from hexlit.tuning.shared_trials import is_surplus

    begun = [trial for trial in trials if trial.state.name != "WAITING"]
    begun = [trial for trial in begun if not is_surplus(trial)]
    begun.sort(key=lambda trial: trial.number)
    return [_read_trial(folder, facts, trial, sweep_alive, now) for trial in begun]


def _read_trial(
    folder: Path, facts: SweepFacts, trial: "FrozenTrial", sweep_alive: bool, now: float
) -> TrialResult:
    noted = trial.user_attrs
    path = folder / (Path(str(noted.get("folder") or "")).name or f"trial-{trial.number:03d}")
    runs = sorted(one for one in path.glob("seed-*") if one.is_dir())
    if not runs:  # a single seed
        runs = [path]
    state = _state_of_trial(trial, runs, sweep_alive)
    failure = None
    if state in (FAILED, INTERRUPTED):
        unknown = "no reason was recorded"
        if state == INTERRUPTED:
            unknown = "the sweep ended while it ran"
        failure = str(noted.get("failure") or unknown)
    values = None
    if state == COMPLETE and trial.values is not None:
        values = tuple(map(float, trial.values))
    started = None if trial.datetime_start is None else trial.datetime_start.timestamp()
    ended = None if trial.datetime_complete is None else trial.datetime_complete.timestamp()
    last = now if state == RUNNING else ended
    seconds = None
    if started is not None and last is not None:
        seconds = max(0.0, last - started)
    reported = {
        int(step): float(value) for step, value in sorted(trial.intermediate_values.items())
    }
    result = TrialResult(
        number=trial.number,
        state=state,
        values=values,
        seconds=noted.get("seconds", seconds),
        failure=failure,
        folder=path.name if path.is_dir() else None,
        params={name: plain_value(value) for name, value in trial.params.items()},
        overrides=tuple(noted.get("overrides") or _overrides_of(runs[0])),
        latest=next(reversed(reported.values()), None),
        started=started,
        ended=ended,
        attempts=noted.get("attempts") or 1,
        retry_of=noted.get("retry_of"),
        intermediate=reported,
        saved_seconds=noted.get("saved_seconds"),
    )
    return _with_runs(result, runs, facts.comparable, noted)


def _state_of_trial(trial: "FrozenTrial", runs: Sequence[Path], sweep_alive: bool) -> str:
    from hexlit.tuning.shared_trials import is_interrupted, is_watched

    if is_interrupted(trial):
        return INTERRUPTED
    ended = {"COMPLETE": COMPLETE, "PRUNED": PRUNED, "FAIL": FAILED}
    if trial.state.name in ended:
        return ended[trial.state.name]
    if sweep_alive or is_watched(trial) or any(_is_alive(run) for run in runs):
        return RUNNING
    return INTERRUPTED


def trials_of_jobs(
    jobs: Iterable[tuple[int, Path]], swept: Collection[str], facts: SweepFacts, now: float
) -> list[TrialResult]:
    """The trials of a sweep that has no study, from number and folder of each.

    `swept` names the keys that the sweep varies; where it is empty, all keys of the overrides are
    parameters.
    """
    trials = []
    for number, run in jobs:
        state, failure = _state_of_job(run, now)
        overrides = _overrides_of(run)
        values = values_of(overrides)
        changes = [path.stat().st_mtime for path in (run / ".hydra", *run.glob("*.*"))]
        started = min(changes)
        last = now if state == RUNNING else max(changes)
        result = TrialResult(
            number=number,
            state=state,
            seconds=max(0.0, last - started),
            failure=failure,
            folder=run.name,
            params={key: values[key] for key in swept or values if key in values},
            overrides=overrides,
            started=started,
            ended=None if state == RUNNING else last,
        )
        trials.append(_with_runs(result, [run], facts.comparable, {}))
    return trials


def _with_runs(
    trial: TrialResult, runs: Sequence[Path], comparable: str | None, noted: Mapping[str, Any]
) -> TrialResult:
    """`trial` completed from the files of its runs,
    and from what is `noted` of it, which takes precedence.
    """
    summaries = [read_json(run / "summary.json") for run in runs]
    pairs = zip(runs, summaries, strict=True)
    parts = [_curves_of(run, summary) for run, summary in pairs]
    facts: dict[str, Any] = {
        "epochs": max(len(part.epochs) for part in parts) or None,
        "max_epochs": _max_epochs(trial.overrides),
    }
    for name in ("host_peak_bytes", "device_peak_bytes"):
        peaks = [(summary.get("memory") or {}).get(name) for summary in summaries]
        facts[name] = max((peak for peak in peaks if peak is not None), default=None)
    for name in facts:
        if noted.get(name) is not None:
            facts[name] = noted[name]
    return replace(trial, curves=mean_curves(parts), flags=sanity_flags(parts, comparable), **facts)


def _max_epochs(overrides: Iterable[str]) -> int | None:
    """The last `trainer.max_epochs` of `overrides`, where it is a number."""
    values = dict(line.lstrip("+").split("=", 1) for line in overrides if "=" in line)
    text = values.get("trainer.max_epochs", "")
    return int(text) if text.isdecimal() else None


def _curves_of(run: Path, summary: Mapping[str, Any]) -> Curves:
    """The metrics of a run; where it restored its best epoch's weights,
    that epoch's metrics are the final ones.
    """
    curves = read_curves(run / "metrics.csv")
    best = summary.get("best") or {}
    if best.get("restored") is True:
        return curves.ended_with(best["epoch"])
    return curves


def _state_of_job(run: Path, now: float) -> tuple[str, str | None]:
    """State of a trial without a study, and why it failed."""
    if (run / "summary.json").is_file() and not _is_alive(run):
        return COMPLETE, None
    if (run / PROCESS_FILE).is_file():
        return (RUNNING, None) if _is_alive(run) else (INTERRUPTED, "killed while it ran")
    if now - (run / ".hydra").stat().st_mtime < STARTING and not (run / "metrics.csv").exists():
        return RUNNING, None
    return FAILED, "ended without a result; its train.log says more"


def _is_alive(run: Path) -> bool:
    process = read_process_file(run)
    return process is not None and process.alive


def _overrides_of(run: Path) -> tuple[str, ...]:
    return tuple(map(str, read_yaml(run / ".hydra" / "overrides.yaml") or ()))


def values_of(overrides: Iterable[str]) -> dict[str, Value]:
    """Key -> value of overrides, as Hydra reads them."""
    from hydra.core.override_parser.overrides_parser import OverridesParser

    parsed = OverridesParser.create().parse_overrides(list(overrides))
    return {
        str(one.key_or_group): plain_value(one.value()) for one in parsed if not one.is_delete()
    }
