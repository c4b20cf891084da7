"""A sweep's folder and the content of `sweep.json`."""

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hexlit.files import read_json, read_plain_yaml

SWEEP_FILE = "sweep.json"
JOURNAL_FILE = "study.journal"
MULTIRUN_FILE = "multirun.yaml"


@dataclass(frozen=True)
class SweepFacts:
    """Content of `sweep.json`; None or empty where it has no entry."""

    program: str = "hexlit train"
    """The program as users type it, without overrides."""
    name: str | None = None
    study_name: str | None = None
    storage: str | None = None
    """The database of the study, its password hidden; None: the journal in the folder."""
    objectives: tuple[str, ...] = ()
    directions: tuple[str, ...] = ()
    monitor: str | None = None
    """The metric of the intermediate values."""
    comparable: str | None = None
    """The loss that all trials weigh alike, without the name of the data, such as
    `comparable_loss`.
    """
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


def shown_folder(folder: Path) -> str:
    """`folder` relative to the working directory where it lies below, else in full."""
    relative = os.path.relpath(folder)
    return str(folder.resolve()) if relative.startswith("..") else Path(relative).as_posix()


def read_facts(folder: Path) -> SweepFacts:
    """The content of `sweep.json`."""
    content = read_json(folder / SWEEP_FILE)
    known: dict[str, Any] = {
        one.name: content[one.name] for one in fields(SweepFacts) if one.name in content
    }
    known |= {name: tuple(entry) for name, entry in known.items() if isinstance(entry, list)}
    return SweepFacts(**known)


def read_yaml(path: Path) -> Any:
    """The plain content of a YAML file, nothing resolved; None where it cannot be read."""
    try:
        return read_plain_yaml(path)
    except Exception:  # a torn file can make the parser raise anything
        return None
