"""The leaderboard of a sweep: `leaderboard.csv`, and its columns in tables for people."""

import csv
import io
from typing import Any

from hexlit.files import plain
from hexlit.tuning.results import SweepResults
from hexlit.tuning.trial_result import MEANINGS, TrialResult, as_row

FRONT = "front"
"""Stands for the rank of a trial of the Pareto front."""


def leaderboard(results: SweepResults) -> str:
    """All trials as CSV, best first; only successes have a rank, or belong to the Pareto front."""
    parts = _parts_of_fields(results)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    headings: list[str] = []
    for name, meaning in MEANINGS.items():
        if meaning.column is not None:
            headings += [heading for heading, _ in parts[name]] if meaning.several else [meaning.column]
    table.writerow(headings)
    for trial in results.by_rank():
        table.writerow(_cells(results, trial, parts))
    return text.getvalue()


def shown_columns(results: SweepResults) -> list[dict[str, Any]]:
    """The figures of each trial in tables for people, as `columns` of `overall_results.json` has them."""
    parts = _parts_of_fields(results)
    columns = []
    for name, meaning in MEANINGS.items():
        if name == "values":  # the objectives are always shown
            columns += [_column(heading, None, [name, key], None) for heading, key in parts[name]]
        elif meaning.heading is not None and meaning.several:
            columns += [
                _column(_short(heading), meaning.unit, [name, key], meaning.dropped) for heading, key in parts[name]
            ]
        elif meaning.heading is not None:
            columns.append(_column(meaning.heading, meaning.unit, [name], meaning.dropped))
    return columns


def _parts_of_fields(results: SweepResults) -> dict[str, list[tuple[str, int | str]]]:
    """Heading and key of each column of the fields that have several."""
    losses = dict.fromkeys(name for trial in results.trials for name in trial.losses)
    return {
        "values": [(objective.name, place) for place, objective in enumerate(results.objectives)],
        "losses": [(name, name) for name in losses],
        "params": [(parameter.name, parameter.name) for parameter in results.parameters],
    }


def _cells(results: SweepResults, trial: TrialResult, parts: dict[str, list[tuple[str, int | str]]]) -> list[Any]:
    cells: list[Any] = []
    row = plain(as_row(trial))
    row["rank"] = FRONT if trial.number in results.ranking.front else trial.rank
    for name, meaning in MEANINGS.items():
        if meaning.column is None:
            continue
        value = row[name]
        if meaning.several:
            cells += [_part(value, key) for _, key in parts[name]]
        else:
            cells.append(" ".join(value) if isinstance(value, list) else value)
    return ["" if cell is None else cell for cell in cells]


def _part(value: Any, key: int | str) -> Any:
    if isinstance(value, dict):
        return value.get(key)
    return value[key] if value is not None and isinstance(key, int) else None


def _short(name: str) -> str:
    """`left_loss` as `left`: all of these columns are losses."""
    return name.removesuffix("_loss").replace("_", " ")


def _column(heading: str, unit: str | None, path: list[int | str], dropped: int | None) -> dict[str, Any]:
    return {"heading": heading, "unit": unit, "path": path, "dropped": dropped}
