"""A sweep's folder: the kind of its sweep, the content of `sweep.json`,
and what a plain `--multirun` has asked for.
"""

import os
from collections.abc import Iterator
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

    name: str | None = None
    study_name: str | None = None
    storage: str | None = None
    """The database of the study, its password hidden; None: the journal in the folder."""
    objectives: tuple[str, ...] = ()
    directions: tuple[str, ...] = ()
    monitor: str | None = None
    """The metric of the intermediate values."""
    comparable: str | None = None
    """The loss that all trials weigh alike,
    without the name of the data, such as `comparable_loss`.
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


def is_tuned(folder: Path) -> bool:
    """Whether the folder holds a sweep with a study, unlike a plain `--multirun`."""
    return (folder / SWEEP_FILE).is_file() or (folder / JOURNAL_FILE).is_file()


def numbered_folders(folder: Path) -> Iterator[tuple[int, Path]]:
    """Number and folder of the jobs of a plain `--multirun`, `0/`, `1/` and so on."""
    result = sorted(
        (int(path.name), path) for path in folder.glob("[0-9]*") if path.name.isdecimal()
    )
    yield from ((number, path) for number, path in result if (path / ".hydra").is_dir())


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


def swept_overrides(folder: Path) -> dict[str, int]:
    """Keys that a plain `--multirun` varies, each with the number of its values."""
    from hydra.core.override_parser.overrides_parser import OverridesParser

    asked = (read_yaml(folder / MULTIRUN_FILE) or {}).get("hydra") or {}
    lines = [
        f"{key}={value}"
        for key, value in ((asked.get("sweeper") or {}).get("params") or {}).items()
    ]
    lines += (asked.get("overrides") or {}).get("task") or []
    swept = [
        line for line in OverridesParser.create().parse_overrides(lines) if line.is_sweep_override()
    ]
    return {
        line.get_key_element().lstrip("+"): len(list(line.sweep_string_iterator()))
        for line in swept
    }


def read_yaml(path: Path) -> Any:
    """The plain content of a YAML file, nothing resolved; None where it cannot be read."""
    try:
        return read_plain_yaml(path)
    except Exception:  # a torn file can make the parser raise anything
        return None
