"""The trials of a sweep as plain values: from its study, or from the folders of its runs."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.accelerate.machine import PROCESS_FILE, read_process_file
from hexlit.files import read_json
from hexlit.tuning.curves import Curves, mean_curves, read_curves, sanity_flags
from hexlit.tuning.parameters import Value, plain_value
from hexlit.tuning.sweep_folder import SweepFacts, read_yaml
from hexlit.tuning.trial_result import COMPLETE, FAILED, INTERRUPTED, PRUNED, RUNNING, TrialResult
from hexlit.tuning.watcher import watcher_of

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

STARTING = 60.0
"""Seconds that a run may take until its first file, where no process file tells whether it lives."""


def trials_of_study(
    folder: Path, facts: SweepFacts, trials: Iterable["FrozenTrial"], sweep_alive: bool, now: float
) -> list[TrialResult]:
    """The trials of a study that have begun, by number."""
    return [
        _of_study(folder, facts, trial, sweep_alive, now)
        for trial in sorted(trials, key=lambda trial: trial.number)
        if trial.state.name != "WAITING"
    ]


def trials_of_folders(
    folders: Iterable[tuple[int, Path]], swept: Sequence[str], facts: SweepFacts, now: float
) -> list[TrialResult]:
    """The trials of a sweep that has no study, from number and folder of each.

    `swept` names the keys that the sweep varies; without it, these are the keys with several values.
    """
    trials = []
    for number, path in folders:
        runs = run_folders(path)
        state, failure = _state_of(runs, now)
        overrides = _overrides_of(runs[0])
        settings = runs[0] / ".hydra"
        started = settings.stat().st_mtime if settings.is_dir() else None
        ended = None if state == RUNNING else _latest_change(runs)
        last = now if state == RUNNING else ended
        seconds = None if started is None or last is None else max(0.0, last - started)
        known = TrialResult(
            number, state, folder=path.name, params=_values_of(overrides), overrides=overrides, seconds=seconds
        )
        message = {"failure": failure, "started": started, "ended": ended}
        trials.append(_with_runs(known, runs, message, facts.comparable))
    keys = swept or [
        key
        for key in dict.fromkeys(key for trial in trials for key in trial.params)
        if not key.startswith("hydra") and len({str(trial.params.get(key)) for trial in trials}) > 1
    ]
    return [replace(trial, params={key: trial.params[key] for key in keys if key in trial.params}) for trial in trials]


def tuned_folders(folder: Path) -> list[tuple[int, Path]]:
    """Number and folder of the trials of a tuned sweep whose study cannot be read."""
    result: dict[int, Path] = {}
    for path in sorted(folder.glob("trial-*")):
        number = path.name.removeprefix("trial-").removesuffix("-retry")
        if number.isdecimal() and path.is_dir():
            result[int(number)] = path  # the retry sorts after the first attempt
    return sorted(result.items())


def run_folders(folder: Path) -> list[Path]:
    """The folders of a trial's runs: one for each seed, or its own."""
    return sorted(path for path in folder.glob("seed-*") if path.is_dir()) or [folder]


def _of_study(folder: Path, facts: SweepFacts, trial: "FrozenTrial", sweep_alive: bool, now: float) -> TrialResult:
    message = trial.user_attrs
    path = _folder_of(folder, trial)
    runs = run_folders(path)
    started = None if trial.datetime_start is None else trial.datetime_start.timestamp()
    ended = None if trial.datetime_complete is None else trial.datetime_complete.timestamp()
    state, failure = {"COMPLETE": COMPLETE, "PRUNED": PRUNED, "FAIL": FAILED}.get(trial.state.name, RUNNING), None
    if state == RUNNING and not sweep_alive:
        watcher = watcher_of(message)
        # A trial that has just begun, in another process on the same study, has no folder yet.
        watched = watcher.alive if watcher else facts.storage is not None and not path.is_dir()
        if not watched and not any(_goes_on(run) for run in runs):
            state = INTERRUPTED
    if state == FAILED and message.get("interrupted") is True:
        state = INTERRUPTED
    if state in (FAILED, INTERRUPTED):
        default = "the sweep ended while it ran" if state == INTERRUPTED else "no reason was recorded"
        failure = str(message["failure"]) if message.get("failure") else default
    seconds = _number(message.get("seconds"))
    if seconds is None and started is not None:
        last = now if state == RUNNING else ended
        seconds = None if last is None else max(0.0, last - started)
    values = None
    if state == COMPLETE and trial.values is not None:
        values = tuple(float(value) for value in trial.values)
    overrides = message.get("overrides")
    reported = {int(step): float(value) for step, value in sorted(trial.intermediate_values.items())}
    known = TrialResult(
        trial.number,
        state,
        folder=path.name if path.is_dir() else None,
        params={name: plain_value(value) for name, value in trial.params.items()},
        overrides=tuple(map(str, overrides)) if isinstance(overrides, list) else _overrides_of(runs[0]),
        values=values,
        intermediate=reported,
        latest=next(reversed(reported.values()), None),
        seconds=seconds,
        attempts=_whole(message.get("attempts")) or 1,
        retry_of=_whole(message.get("retry_of")),
    )
    saved = _number(message.get("saved_seconds"))
    facts_of_trial = {"failure": failure, "started": started, "ended": ended, "saved_seconds": saved}
    for name in ("epochs", "max_epochs", "host_peak_bytes", "device_peak_bytes"):
        facts_of_trial[name] = _whole(message.get(name))
    return _with_runs(known, runs, facts_of_trial, facts.comparable)


def _with_runs(
    trial: TrialResult, runs: Sequence[Path], said: Mapping[str, Any], comparable: str | None
) -> TrialResult:
    """`trial` completed from the files of its runs, and from `said`, which takes precedence."""
    parts = [_curves_of(run) for run in runs]
    memory = [entry for run in runs if isinstance(entry := read_json(run / "summary.json").get("memory"), dict)]
    result: dict[str, Any] = {
        "curves": mean_curves(parts),
        "flags": sanity_flags(parts, comparable),
        "epochs": max((len(part.epochs) for part in parts), default=0) or None,
        "max_epochs": _asked_epochs(trial.overrides),
    }
    for name in ("host_peak_bytes", "device_peak_bytes"):
        result[name] = max((peak for entry in memory if (peak := _whole(entry.get(name))) is not None), default=None)
    return replace(trial, **result | {name: value for name, value in said.items() if value is not None})


def _curves_of(run: Path) -> Curves:
    """The metrics of a run; where it restored its best epoch's weights, that epoch's metrics are the final ones."""
    curves = read_curves(run / "metrics.csv")
    best = read_json(run / "summary.json").get("best")
    restored = isinstance(best, dict) and best.get("restored") is True
    epoch = _whole(best.get("epoch")) if restored and isinstance(best, dict) else None
    return curves if epoch is None else curves.ended_with(epoch)


def _state_of(runs: Sequence[Path], now: float) -> tuple[str, str | None]:
    """State of a trial without a study, and why it failed."""
    if any(_goes_on(run) for run in runs):
        return RUNNING, None
    if all((run / "summary.json").is_file() for run in runs):
        return COMPLETE, None
    if any((run / PROCESS_FILE).is_file() for run in runs):
        return INTERRUPTED, "killed while it ran"
    changed = _latest_change(runs)
    if changed is not None and now - changed < STARTING and not (runs[-1] / "metrics.csv").exists():
        return RUNNING, None
    return FAILED, "ended without a result; its train.log says more"


def _goes_on(run: Path) -> bool:
    process = read_process_file(run)
    return process is not None and process.alive


def _latest_change(runs: Sequence[Path]) -> float | None:
    """Time of the last change to a file of the runs, in seconds since 1970."""
    times = []
    for run in runs:
        for path in (run, run / ".hydra", *run.glob("*.*")):
            try:
                times.append(path.stat().st_mtime)
            except OSError:  # it has been renamed meanwhile
                continue
    return max(times, default=None)


def _folder_of(folder: Path, trial: "FrozenTrial") -> Path:
    message = trial.user_attrs.get("folder")
    name = Path(message).name if isinstance(message, str) and Path(message).name else f"trial-{trial.number:03d}"
    again = folder / f"{name}-retry"
    return again if again.is_dir() else folder / name


def _overrides_of(run: Path) -> tuple[str, ...]:
    result = read_yaml(run / ".hydra" / "overrides.yaml")
    return tuple(map(str, result)) if isinstance(result, list) else ()


def _asked_epochs(overrides: Iterable[str]) -> int | None:
    asked = [line.partition("=")[2] for line in overrides if line.lstrip("+").startswith("trainer.max_epochs=")]
    return int(asked[-1]) if asked and asked[-1].isdecimal() else None


def _values_of(overrides: Iterable[str]) -> dict[str, Value]:
    """Key -> value of overrides, numbers as numbers."""
    pairs = (line.lstrip("+").partition("=") for line in overrides if "=" in line)
    return {key: _scalar(text) for key, _, text in pairs}


def _scalar(text: str) -> Value:
    known: dict[str, Value] = {"true": True, "false": False, "null": None}
    if text.lower() in known:
        return known[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _number(value: Any) -> float | None:
    """`value` if it is an amount: a finite number of 0 or more. None otherwise."""
    plain = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
    return float(value) if plain else None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else int(number)
