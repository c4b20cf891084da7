"""The dataclass of every schema in a defaults list, as `module:Class`, and the YAML folders of outside tasks."""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from hexlit.commands.manual.conf_files import CONF, Folders, folder_of_package
from hexlit.commands.manual.source import source_of
from hexlit.outside import TASK_GROUP, entry_points_of

SCHEMAS = {
    "solve_schema": "hexlit.commands.solve:SolveConfig",
    "games_schema": "hexlit.commands.games_settings:GamesConfig",
    "predict_schema": "hexlit.commands.predict:PredictConfig",
    "match_schema": "hexlit.commands.match:MatchConfig",
    "strength_schema": "hexlit.commands.strength:StrengthConfig",
    "play_schema": "hexlit.commands.play:PlayConfig",
    "htp_schema": "hexlit.commands.htp_program:HtpConfig",
    "export_schema": "hexlit.commands.export:ExportConfig",
    "bench_schema": "hexlit.commands.bench_settings:BenchConfig",
    "plan_schema": "hexlit.planning.config:PlanConfig",
    "doctor_schema": "hexlit.commands.doctor:DoctorConfig",
    "monitor_schema": "hexlit.commands.monitor:MonitorConfig",
    "report_schema": "hexlit.commands.report:ReportConfig",
}

_TASKS = ("hexlit.commands.tasks", "TASKS")


@cache
def own_tasks() -> dict[str, str]:
    """Task of hexlit -> place of its dataclass, out of the table of tasks."""
    module, name = _TASKS
    table = source_of(module).constants[name]
    assert isinstance(table, ast.Dict)
    result = {}
    for key, call in zip(table.keys, table.values, strict=True):
        assert isinstance(key, ast.Constant)
        assert isinstance(call, ast.Call)
        (place,) = [word.value for word in call.keywords if word.arg == "settings"]
        assert isinstance(place, ast.Constant)
        result[str(key.value)] = str(place.value)
    return result


@cache
def other_tasks() -> dict[str, Any]:
    """Task of another package -> its entry point, which is not loaded."""
    return {point.name: point for point in entry_points_of(TASK_GROUP) if point.name not in own_tasks()}


def places(tasks: Iterable[str], folders: Iterable[Path]) -> tuple[dict[str, str], Folders]:
    """The places of all schemas, with those of the named `tasks`, and the `folders` and those with their YAML files."""
    schemas = {**SCHEMAS, **{f"{task}_schema": place for task, place in own_tasks().items()}}
    paths = [*folders, CONF]
    for task in tasks:
        if task not in own_tasks() and task in other_tasks():
            entry = other_tasks()[task].load()
            schemas[f"{task}_schema"] = entry.settings
            paths += [folder_of_package(entry.conf)] if entry.conf is not None else []
    return schemas, Folders(tuple(paths))
