"""A sweep's folder: the kind of its sweep, the content of `sweep.json`, and the newest sweep."""

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hexlit.errors import UsageError
from hexlit.tuning.config import DIRECTION_OF_MODE

SWEEP_FILE = "sweep.json"
JOURNAL_FILE = "study.journal"
MULTIRUN_FILE = "multirun.yaml"


@dataclass(frozen=True)
class SweepFacts:
    """Content of `sweep.json`; None or empty where it has no entry."""

    name: str | None = None
    study_name: str | None = None
    storage: str | None = None
    """The database of the study, its password hidden; None: the journal in the folder."""
    objectives: tuple[str, ...] = ()
    directions: tuple[str, ...] = ()
    monitor: str | None = None
    """The metric of the intermediate values."""
    comparable: str | None = None
    """The loss that all trials weigh alike, without the name of the data, such as `comparable_loss`."""
    n_trials: int | None = None
    n_jobs: int | None = None
    sampler: str | None = None
    pruner: str | None = None
    seeds: int | None = None
    started: float | None = None
    """Seconds since 1970, like `finished`, which is None while the sweep runs, and after a kill."""
    finished: float | None = None
    seconds: float | None = None
    """Wall time over all sessions of the sweep."""
    overrides: tuple[str, ...] = ()
    """The fixed overrides of the user's command line."""


def is_tuned(folder: Path) -> bool:
    """Whether the folder holds a sweep with a study, unlike a plain `--multirun`."""
    return (folder / SWEEP_FILE).is_file() or (folder / JOURNAL_FILE).is_file()


def numbered_folders(folder: Path) -> Iterator[tuple[int, Path]]:
    """Number and folder of the jobs of a plain `--multirun`, `0/`, `1/` and so on."""
    result = sorted((int(path.name), path) for path in folder.glob("[0-9]*") if path.name.isdecimal())
    yield from ((number, path) for number, path in result if (path / ".hydra").is_dir())


def newest_sweep(runs: Path) -> Path:
    """The sweep below `runs`, in `NAME/SWEEP`, that was begun or continued last.

    Raises:
        UsageError: there is none.
    """
    marks = [path for name in (SWEEP_FILE, MULTIRUN_FILE) for path in runs.glob(f"*/*/{name}")]
    if not marks:
        raise UsageError(f"folder=null: there is no sweep below {runs}; name the folder of one")
    return max(marks, key=lambda path: path.stat().st_mtime_ns).parent


def shown_folder(folder: Path) -> str:
    """`folder` relative to the working directory where it lies below, else in full."""
    relative = os.path.relpath(folder)
    return str(folder.resolve()) if relative.startswith("..") else Path(relative).as_posix()


def read_facts(folder: Path) -> tuple[SweepFacts, list[str]]:
    """The content of `sweep.json`, and what was wrong with it, one line each."""
    path = folder / SWEEP_FILE
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return SweepFacts(), [f"{SWEEP_FILE} is missing"] if (folder / JOURNAL_FILE).is_file() else []
    except (OSError, ValueError) as error:
        return SweepFacts(), [f"{SWEEP_FILE} cannot be read ({type(error).__name__})"]
    if not isinstance(result, dict):
        return SweepFacts(), [f"{SWEEP_FILE} holds no JSON object"]
    return (
        SweepFacts(
            name=_text(result, "name"),
            study_name=_text(result, "study_name"),
            storage=_text(result, "storage"),
            objectives=_texts(result, "objectives"),
            directions=_texts(result, "directions"),
            monitor=_text(result, "monitor"),
            comparable=_text(result, "comparable"),
            n_trials=_count(result, "n_trials"),
            n_jobs=_count(result, "n_jobs"),
            sampler=_text(result, "sampler"),
            pruner=_text(result, "pruner"),
            seeds=_count(result, "seeds"),
            started=_seconds(result, "started"),
            finished=_seconds(result, "finished"),
            seconds=_seconds(result, "seconds"),
            overrides=_texts(result, "overrides"),
        ),
        [],
    )


def facts_of_job(run: Path) -> SweepFacts:
    """The facts in the configuration of a job of a plain `--multirun`: its own `trainer.monitor` is the objective."""
    config = read_yaml(run / ".hydra" / "config.yaml")
    sections = config if isinstance(config, dict) else {}
    trainer, sweep = (result if isinstance(result := sections.get(name), dict) else {} for name in ("trainer", "sweep"))
    monitor = _text(trainer, "monitor")
    if monitor is None:
        return SweepFacts(comparable=_text(sweep, "comparable"))
    direction = DIRECTION_OF_MODE.get(str(trainer.get("monitor_mode")), "maximize")
    return SweepFacts(
        objectives=(monitor,), directions=(direction,), monitor=monitor, comparable=_text(sweep, "comparable")
    )


def swept_overrides(folder: Path) -> tuple[list[str], int | None]:
    """Keys that a plain `--multirun` varies, and the number of its jobs; None where the number is not known."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    asked = read_yaml(folder / MULTIRUN_FILE)
    hydra = asked.get("hydra") if isinstance(asked, dict) else None
    if not isinstance(hydra, dict):
        return [], None
    lines = [str(line) for line in (hydra.get("overrides") or {}).get("task") or []]
    params = (hydra.get("sweeper") or {}).get("params") or {}
    lines = [f"{key}={value}" for key, value in params.items()] + lines if isinstance(params, dict) else lines
    try:
        swept = [line for line in OverridesParser.create().parse_overrides(lines) if line.is_sweep_override()]
        counts = {line.get_key_element(): len(list(line.sweep_string_iterator())) for line in swept}
    except HydraException:
        return [], None
    return [key.lstrip("+") for key in counts], math.prod(counts.values())


def read_yaml(path: Path) -> Any:
    """The plain content of a YAML file, nothing resolved; None where it cannot be read."""
    from omegaconf import OmegaConf

    try:
        return OmegaConf.to_container(OmegaConf.load(path), resolve=False)
    except Exception:  # a torn file can make the parser raise anything
        return None


def _text(found: Mapping[str, Any], key: str) -> str | None:
    value = found.get(key)
    return value if isinstance(value, str) and value else None


def _texts(found: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = found.get(key)
    return tuple(entry for entry in value if isinstance(entry, str)) if isinstance(value, list) else ()


def _count(found: Mapping[str, Any], key: str) -> int | None:
    value = found.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _seconds(found: Mapping[str, Any], key: str) -> float | None:
    value = found.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        return None
    return float(value)
