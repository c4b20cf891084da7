"""The files of a run, read for its report. A missing or torn file is empty, never an error."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hexlit.files import read_json

Columns = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class RunFiles:
    """A run's folder; files that it has not written yet are empty."""

    folder: Path
    summary: Mapping[str, Any] = field(default_factory=dict)
    """`summary.json`; empty until the run has ended."""
    metrics: Columns = field(default_factory=dict)
    phases: Columns = field(default_factory=dict)
    resources: Columns = field(default_factory=dict)
    steps: Columns = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    overrides: Sequence[str] = ()

    @property
    def name(self) -> str:
        """Name of the recipe."""
        return str(self.summary.get("name") or self.config.get("name") or self.folder.name)

    @property
    def task(self) -> str:
        """Name of the task."""
        return str(self.summary.get("task") or self.config.get("task") or "")

    @property
    def epochs(self) -> int:
        """Number of finished epochs."""
        return int(self.summary.get("epochs") or len(self.metrics.get("epoch", ())))

    def setting(self, dotted: str) -> Any:
        """A setting such as `trainer.max_epochs`; None if it does not exist."""
        result: Any = self.config
        for key in dotted.split("."):
            result = result.get(key) if isinstance(result, Mapping) else None
        return result

    def settings(self) -> dict[str, str]:
        """Every setting by its dotted name, as text."""
        return dict(_flat(self.config))

    def column(self, name: str) -> list[float | None]:
        """The values of a metric, one per epoch with a row."""
        return numbers(self.metrics, name)


def read_run(folder: Path) -> RunFiles:
    """Everything that the run in `folder` has written."""
    from omegaconf import OmegaConf

    config: Any = {}
    overrides: Any = []
    if (folder / ".hydra" / "config.yaml").is_file():
        config = OmegaConf.to_container(OmegaConf.load(folder / ".hydra" / "config.yaml"), resolve=False)
    if (folder / ".hydra" / "overrides.yaml").is_file():
        overrides = OmegaConf.to_container(OmegaConf.load(folder / ".hydra" / "overrides.yaml"))
    names = ("metrics", "phases", "resources", "steps")
    tables = {name: read_columns(folder / f"{name}.csv") for name in names}
    summary = read_json(folder / "summary.json")
    return RunFiles(folder, summary, **tables, config=config or {}, overrides=overrides or [])


def read_columns(path: Path) -> dict[str, list[str]]:
    """The columns of a CSV file by their headings; a torn last line is left out."""
    try:
        text = path.read_bytes().decode("utf-8", errors="replace")
    except OSError:
        return {}
    rows = list(csv.reader(io.StringIO(text[: text.rfind("\n") + 1])))
    if not rows:
        return {}
    whole = [row for row in rows[1:] if len(row) == len(rows[0])]
    return {name: [row[place] for row in whole] for place, name in enumerate(rows[0])}


def numbers(table: Columns, name: str) -> list[float | None]:
    """A column as numbers; None for an empty cell."""
    return [_number(text) for text in table.get(name, ())]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _flat(value: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, entry in value.items():
            yield from _flat(entry, f"{prefix}.{key}" if prefix else str(key))
    elif prefix:
        yield prefix, "null" if value is None else json.dumps(value) if not isinstance(value, str) else value
