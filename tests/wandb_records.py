"""Reads what a run has left in its W&B folder,
offline, by W&B's own reader (`wandb leet inspect`).
"""

import json
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from wandb.util import get_core_path


@dataclass(frozen=True)
class OfflineRun:
    """One file of records: a session of a run. A resumed run has several with the same `id`."""

    path: Path
    id: str
    name: str
    project: str
    group: str | None
    kind: str | None
    tags: tuple[str, ...]
    resumes: bool
    """Whether W&B may find the run there already when the file is uploaded."""
    config: Mapping[str, Any]
    summary: Mapping[str, Any]
    """Nested; the best values of a metric are under `max` or `min`, its last under `last`."""
    rows: tuple[Mapping[str, Any], ...]
    """History: one for each step, by name of the metric."""
    axes: Mapping[str, str]
    """Name of a metric, `*` for all others, to the one that it is drawn over by default."""
    best: Mapping[str, str]
    """Name of a metric to `max` or `min`, where that is kept in the summary."""
    artifacts: tuple[Mapping[str, Any], ...] = field(default=())
    """Name, type, aliases, the paths of its files, and whether the run used it."""

    @property
    def groups(self) -> set[str]:
        """Groups of the metrics: their names up to the first slash."""
        return {name.partition("/")[0] for row in self.rows for name in row if "/" in name}

    def media(self, kind: str) -> dict[str, list[int]]:
        """Steps with media of this kind (`image-file`, `table-file`), by name."""
        found: dict[str, list[int]] = {}
        for row in self.rows:
            for name, value in row.items():
                if isinstance(value, Mapping) and value.get("_type") == kind:
                    found.setdefault(name, []).append(row["_step"])
        return found

    def file(self, name: str) -> Path:
        """The file of the last medium of this name."""
        value = next(row[name] for row in reversed(self.rows) if name in row)
        return self.path.parent / "files" / str(value["path"])


def offline_runs(folder: Path) -> list[OfflineRun]:
    """The sessions of all runs below `folder`, the oldest first."""
    return [
        read_run(path)
        for path in sorted(
            folder.rglob("offline-run-*/*.wandb"), key=lambda path: path.stat().st_mtime_ns
        )
    ]


def read_run(path: Path) -> OfflineRun:
    """The content of the file `path`."""
    end = time.monotonic() + 30
    # On a busy machine W&B's program was seen to list no run right after it had finished.
    while '"type":"run"' not in inspected(path).replace(" ", "") and time.monotonic() < end:
        inspected.cache_clear()
        time.sleep(0.2)
    records = [json.loads(line) for line in inspected(path).splitlines()]
    by_type: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        by_type.setdefault(record["type"], []).append(record.get(record["type"], {}))
    told = json.loads(inspected(path, "--summary"))
    run = by_type["run"][0]
    metrics = by_type.get("metric", [])
    return OfflineRun(
        path=path,
        id=run["run_id"],
        name=run.get("display_name", ""),
        project=run.get("project", ""),
        group=run.get("run_group"),
        kind=run.get("job_type"),
        tags=tuple(run.get("tags", ())),
        resumes=bool(run.get("resume")),
        config={name: value for name, value in told["config"].items() if name != "_wandb"},
        summary=told["summary"],
        rows=tuple(_row(record) for record in by_type.get("history", [])),
        axes={
            _name(metric): metric["step_metric"] for metric in metrics if "step_metric" in metric
        },
        best={
            _name(metric): best
            for metric in metrics
            for best in ("max", "min")
            if metric.get("summary", {}).get(best)
        },
        artifacts=tuple(_artifact(record) for record in by_type.get("artifact", [])),
    )


@cache
def inspected(path: Path, *flags: str) -> str:
    """Output of `wandb leet inspect --json PATH`;
    its program is called itself, which saves W&B's import.
    """
    command = [get_core_path(), "leet", "inspect", "--no-observability", "--json", *flags]
    command += ["--run-file", str(path), str(path.parent)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def _name(metric: Mapping[str, Any]) -> str:
    return str(metric.get("name") or metric["glob_name"])


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose media, which the reader gives as `name.field`, are mappings again."""
    row: dict[str, Any] = {}
    for name, value in record["item"].items():
        head, dot, last = name.rpartition(".")
        if dot:
            row.setdefault(head, {})[last] = value
        else:
            row[name] = value
    return row


def _artifact(record: Mapping[str, Any]) -> dict[str, Any]:
    contents = record["manifest"]["contents"]
    return {
        "name": record["name"],
        "type": record["type"],
        "aliases": record.get("aliases", []),
        "digest": record["digest"],
        "used": bool(record.get("use_after_commit")),
        "files": {entry["path"]: entry.get("local_path") or entry.get("ref") for entry in contents},
        "digests": {entry["path"]: entry["digest"] for entry in contents},
        "metadata": json.loads(record.get("metadata") or "{}"),
    }
