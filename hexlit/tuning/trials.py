"""The trials of a sweep as plain values: from its study, with the metrics in their folders."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hexlit.accelerate.machine import read_process_file
from hexlit.files import read_json
from hexlit.reporting.run_files import numbers, read_columns
from hexlit.reporting.sweep import FLAGS

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

COMPLETE = "complete"
PRUNED = "pruned"
FAILED = "failed"
RUNNING = "running"
INTERRUPTED = "interrupted"
STATES = (COMPLETE, PRUNED, FAILED, RUNNING, INTERRUPTED)
RISE = 0.05
"""A loss counts as risen when it ends above its lowest stretch by more than this share."""
NAN, RISING, OVERFITTING = FLAGS

Value = str | int | float | bool | None
Curve = Mapping[int, float]
"""Epoch -> value of a metric, in the epochs that logged it."""
Curves = Mapping[str, Curve]
"""Metric -> its values."""


@dataclass(frozen=True)
class TrialResult:
    """One trial; unknown facts are None. The last four fields are in no file of results."""

    rank: int | None = field(default=None, kw_only=True)
    """None unless ranked; the best has 1."""
    number: int
    state: str
    values: tuple[float, ...] | None = None
    """Of the objectives; None unless complete."""
    spread: tuple[float, ...] | None = None
    """Standard deviations of the `values` over the seeds; None with one seed."""
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

    intermediate: Curve = field(default_factory=dict)
    """Values reported to the pruner."""
    saved_seconds: float | None = None
    """Seconds saved by pruning it, as the trial itself estimates."""
    curves: Curves = field(default_factory=dict)
    """Its metrics; with several seeds those of the first."""
    final: Mapping[str, float | None] = field(default_factory=dict)
    """Final values of its metrics, of the epoch whose weights were kept."""


def trials_of_study(
    folder: Path,
    comparable: str | None,
    trials: Iterable["FrozenTrial"],
    sweep_alive: bool,
    now: float,
) -> list[TrialResult]:
    """The trials of a study that have begun, by number.

    `comparable` is the loss of that name; without such a column, flags are by `loss`.
    """
    from hexlit.tuning.shared_trials import is_surplus

    begun = [one for one in trials if one.state.name != "WAITING" and not is_surplus(one)]
    begun.sort(key=lambda trial: trial.number)
    return [_of_study(folder, comparable, trial, sweep_alive, now) for trial in begun]


def _of_study(
    folder: Path, comparable: str | None, trial: "FrozenTrial", sweep_alive: bool, now: float
) -> TrialResult:
    noted = trial.user_attrs
    path = folder / folder_name(trial)
    runs = sorted(one for one in path.glob("seed-*") if one.is_dir()) or [path]
    state = _state_of_trial(trial, runs, sweep_alive)
    failure = None
    if state == FAILED:
        failure = str(noted.get("failure") or "no reason was recorded")
    elif state == INTERRUPTED:
        failure = str(noted.get("failure") or "the sweep ended while it ran")
    started = None if trial.datetime_start is None else trial.datetime_start.timestamp()
    ended = None if trial.datetime_complete is None else trial.datetime_complete.timestamp()
    last = now if state == RUNNING else ended
    seconds = None
    if started is not None and last is not None:
        seconds = max(0.0, last - started)
    reported = {int(step): float(v) for step, v in sorted(trial.intermediate_values.items())}
    facts = _facts_of_runs(runs, comparable)
    by_seed = noted.get("seed_values") or []
    if state == COMPLETE and len(by_seed) > 1:
        facts["spread"] = tuple(np.std(by_seed, axis=0, ddof=1).tolist())
    for name in ("epochs", "max_epochs", "host_peak_bytes", "device_peak_bytes"):
        if noted.get(name) is not None:
            facts[name] = noted[name]
    return TrialResult(
        number=trial.number,
        state=state,
        values=tuple(trial.values) if state == COMPLETE else None,
        seconds=noted.get("seconds", seconds),
        failure=failure,
        folder=path.name if path.is_dir() else None,
        params={name: plain_value(value) for name, value in trial.params.items()},
        overrides=tuple(noted.get("overrides") or ()),
        latest=next(reversed(reported.values()), None),
        started=started,
        ended=ended,
        attempts=noted.get("attempts") or 1,
        retry_of=noted.get("retry_of"),
        intermediate=reported,
        saved_seconds=noted.get("saved_seconds"),
        **facts,
    )


def folder_name(trial: "FrozenTrial") -> str:
    """Name of the folder of the latest attempt at `trial`."""
    return Path(trial.user_attrs.get("folder") or f"trial-{trial.number:03d}").name


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


def _is_alive(run: Path) -> bool:
    process = read_process_file(run)
    return process is not None and process.alive


def plain_value(value: Any) -> Value:
    """`value` in a form that JSON allows."""
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


def _facts_of_runs(runs: Sequence[Path], comparable: str | None) -> dict[str, Any]:
    """What the files of a trial's runs, one for each seed, add to its `TrialResult`."""
    parts = [read_curves(run / "metrics.csv") for run in runs]
    finals = []
    flags: set[str] = set()
    for run, curves in zip(runs, parts, strict=True):
        best = read_json(run / "summary.json").get("best") or {}
        finals.append(final_values(curves, best.get("epoch") if best.get("restored") else None))
        flags |= sanity_flags(curves, comparable)
    return {
        "curves": parts[0],
        "final": _means(finals),
        "flags": tuple(flag for flag in FLAGS if flag in flags),
        "epochs": max(map(len, parts[0].values()), default=None),
    }


def read_curves(path: Path) -> Curves:
    """The table at `path`, without a torn last line; empty where it cannot be read."""
    try:
        facts = path.stat()
        return _read(path, facts.st_mtime_ns, facts.st_size)
    except (OSError, ValueError):
        return {}


@lru_cache(maxsize=4096)
def _read(path: Path, changed: int, size: int) -> Curves:
    """Read once for each state of a file: the table of an ended trial is asked for often."""
    table = read_columns(path)
    epochs = list(map(int, table.get("epoch", ())))
    curves = {}
    for name in table:
        if name not in ("epoch", "step"):
            pairs = zip(epochs, numbers(table, name), strict=True)
            curves[name] = {epoch: value for epoch, value in pairs if value is not None}
    return curves


def final_values(curves: Curves, epoch: int | None = None) -> dict[str, float | None]:
    """The last value of each metric, or that of the `epoch` whose weights were restored.

    None: never logged, or no finite number.
    """
    final: dict[str, float | None] = {}
    for name, curve in curves.items():
        value = curve.get(max(curve, default=0) if epoch is None else epoch)
        final[name] = value if value is not None and math.isfinite(value) else None
    return final


def _means(parts: Sequence[Mapping[str, float | None]]) -> dict[str, float | None]:
    """The means over several seeds, over those that have a value."""
    known: dict[str, list[float]] = {}
    for part in parts:
        for name, value in part.items():
            values = known.setdefault(name, [])
            if value is not None:
                values.append(value)
    return {name: fmean(values) if values else None for name, values in known.items()}


def sanity_flags(curves: Curves, comparable: str | None = None) -> set[str]:
    """Signs of trouble in a run, by its loss `comparable`, or `loss` where it has no such column.

    `nan`: a loss was NaN or infinite in some epoch.
    `rising`: the mean training loss of the last quarter of the epochs (two at least) lies 5% above
    the lowest stretch of the same length.
    `overfitting`: the validation loss (`val.*`) has risen by as much, while the training loss
    continued to fall.
    """
    flags = set()
    for name, curve in curves.items():
        if name.endswith("loss") and not all(map(math.isfinite, curve.values())):
            flags.add(NAN)
    training = _compared_loss(curves, "train", comparable)
    if _rises(_stretches([*training.values()])):
        flags.add(RISING)
    validation = _compared_loss(curves, "val", comparable)
    both = sorted({*training} & {*validation})
    validated = _stretches([validation[epoch] for epoch in both])
    trained = _stretches([training[epoch] for epoch in both])
    if _rises(validated) and trained[-1] < trained[validated.argmin()]:
        flags.add(OVERFITTING)
    return flags


def _compared_loss(curves: Curves, split: str, comparable: str | None) -> Curve:
    """The finite values of the loss `comparable` over the data `split`, else of the total."""
    curve = curves.get(f"{split}.{comparable}") or curves.get(f"{split}.loss", {})
    return {epoch: value for epoch, value in curve.items() if math.isfinite(value)}


def _stretches(values: Sequence[float]) -> NDArray[np.float64]:
    """The means over all stretches of a quarter of the `values`; of too few values a single 0."""
    width = max(2, len(values) // 4)
    if len(values) < 2 * width:
        return np.zeros(1)
    return np.convolve(values, np.full(width, 1 / width), "valid")


def _rises(means: NDArray[np.float64]) -> bool:
    return bool(means[-1] > means.min() + RISE * abs(means.min()))
