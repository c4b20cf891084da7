"""The figures of a sweep: the data of each one, taken from the results, and drawn next to that data
as JSON.
"""

import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from hexlit.files import plain, replacing, write_text_atomic
from hexlit.reporting import study_figures as plots
from hexlit.reporting.figures import draw
from hexlit.reporting.page import Figure as PageFigure
from hexlit.tuning.results import COMPARABLE, SweepResults
from hexlit.tuning.trials import COMPLETE, PRUNED, Value

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

Data = dict[str, Any]

LEAST_TRIALS = 10
"""Least number of complete trials for importances. With fewer, chance decides more than the
parameters.
"""
LEAST_GOOD = 5
"""Least number of good trials; PED-ANOVA compares their parameters with those of all trials."""


def write_figures(results: SweepResults, folder: Path) -> list[PageFigure]:
    """Draw all figures to `folder`: `NAME.svg`, and `NAME.json` with the data in it. Returns them
    for the page.
    """
    figures = []
    for name, title, data, make in figures_of(results):
        svg = draw(make, data)
        with replacing(folder / f"{name}.svg") as temporary:
            temporary.write_bytes(svg)
        content = {"title": title, "data": plain(data)}
        write_text_atomic(
            folder / f"{name}.json", json.dumps(content, indent=1, allow_nan=False) + "\n"
        )
        figures.append(PageFigure(name, title, svg, f"{folder.name}/{name}.json"))
    return figures


def figures_of(results: SweepResults) -> Iterator[tuple[str, str, Any, Callable[[Any], Figure]]]:
    """Every figure of the sweep that can be drawn: its file's name, its title, its data, and what
    draws it.

    The form of the data is that of `hexlit.reporting.study_figures`.
    """
    aims = targets(results)
    best = results.ranking.best
    settings = {trial.number: trial.params for trial in results.trials}
    several = len(results.objectives) > 1
    landscape: Data = {
        "targets": aims if several else aims[:1],
        "parameters": _parameters(results),
        "best": best,
    }
    yield "history", "Optimisation history", _history(results, aims), plots.draw_history
    if several:
        front = {"targets": aims, "front": list(results.ranking.front), "best": best}
        yield "pareto", "Pareto front", front, plots.draw_front
    importances = [
        parameter_importances(target, results.distributions, settings)
        for target in landscape["targets"]
    ]
    yield "importances", "Parameter importances", importances, plots.draw_importances
    yield "parallel", "Parallel coordinates of the complete trials", landscape, plots.draw_parallel
    yield (
        "slices",
        "Slices: the darker a trial, the later; the star is the best",
        landscape,
        plots.draw_slices,
    )
    yield "intermediate", "Intermediate values", _intermediate(results), plots.draw_lines
    yield (
        "curves",
        "Losses of all trials, as weighted and comparable",
        _curves(results),
        plots.draw_lines,
    )
    yield "timeline", "Timeline of the trials", _timeline(results), plots.draw_timeline


def targets(results: SweepResults) -> list[Data]:
    """The values that compare the complete trials: the ranking value first, then the other
    objectives.
    """
    complete = [trial for trial in results.trials if trial.state == COMPLETE]
    result: list[Data] = []
    if results.ranking.by == COMPARABLE:
        known = {
            trial.number: trial.comparable for trial in complete if trial.comparable is not None
        }
        result.append({**asdict(results.ranking.objective), "values": known})
    for place, objective in enumerate(results.objectives):
        values = {trial.number: trial.values[place] for trial in complete if trial.values}
        finite = {number: value for number, value in values.items() if math.isfinite(value)}
        result.append({**asdict(objective), "values": finite})
    return result


def _history(results: SweepResults, aims: list[Data]) -> Data:
    names = [objective.name for objective in results.objectives]
    comparable = names[0] if len(names) == 1 and results.facts.monitor in (None, names[0]) else None
    pruned = [
        trial
        for trial in results.trials
        if trial.state == PRUNED and comparable and trial.latest is not None
    ]
    return {
        "targets": aims,
        "states": {trial.number: trial.state for trial in results.trials},
        "pruned": {
            trial.number: trial.latest for trial in pruned if math.isfinite(trial.latest or 0.0)
        },
        "pruned_target": comparable,
        "best": results.ranking.best,
    }


def _parameters(results: SweepResults) -> list[Data]:
    complete = [trial for trial in results.trials if trial.state == COMPLETE]
    parameters = []
    for parameter in results.parameters:
        name = parameter["name"]
        values = {trial.number: trial.params[name] for trial in complete if name in trial.params}
        parameters.append({**parameter, "values": values})
    return parameters


def _intermediate(results: SweepResults) -> Data:
    """Values reported to the pruner; where no trial reported any, the objective by epoch from their
    metrics.
    """
    name = results.facts.monitor or results.objectives[0].name
    courses = {trial.number: trial.intermediate for trial in results.trials if trial.intermediate}
    if not courses:
        courses = _by_epoch(results, name)
    return _panels(results, {name: courses})


def _curves(results: SweepResults) -> Data:
    split = results.split
    if split is None:
        return _panels(results, {})
    names = {f"total loss as weighted ({split})": f"{split}.loss"}
    comparable = results.comparable
    known = any(comparable in trial.curves for trial in results.trials)
    if comparable is not None and known:
        names[f"the same weights for all ({comparable})"] = comparable
    return _panels(results, {title: _by_epoch(results, name) for title, name in names.items()})


def _by_epoch(results: SweepResults, name: str) -> dict[int, Mapping[int, float]]:
    """Trial -> the metric `name` by epoch."""
    courses: dict[int, Mapping[int, float]] = {}
    for trial in results.trials:
        courses[trial.number] = trial.curves.get(name, {})
    return courses


def _panels(
    results: SweepResults, courses: Mapping[str, Mapping[int, Mapping[int, float]]]
) -> Data:
    states = {trial.number: trial.state for trial in results.trials}
    panels = []
    for name, by_trial in courses.items():
        lines = [
            {
                "trial": number,
                "state": states[number],
                "epochs": [*course],
                "values": [*course.values()],
            }
            for number, course in by_trial.items()
            if course
        ]
        panels.append({"name": name, "lines": lines, "may_be_log": "loss" in name})
    return {"panels": panels, "best": results.ranking.best}


def _timeline(results: SweepResults) -> Data:
    spans = {}
    for trial in results.trials:
        if trial.started is not None and (trial.ended is not None or trial.seconds is not None):
            end = trial.started + (trial.seconds or 0.0) if trial.ended is None else trial.ended
            spans[trial.number] = (trial.started, max(end, trial.started), trial.state)
    began = min((start for start, _, _ in spans.values()), default=0.0)
    slots = plots.slots_of((number, start, end) for number, (start, end, _) in spans.items())
    bars = [
        {
            "trial": number,
            "state": state,
            "slot": slots[number],
            "start": start - began,
            "end": end - began,
        }
        for number, (start, end, state) in spans.items()
    ]
    return {"bars": bars, "best": results.ranking.best}


def parameter_importances(
    target: Data,
    distributions: Mapping[str, "BaseDistribution"],
    settings: Mapping[int, Mapping[str, Value]],
) -> Data:
    """The share of each parameter in whether a trial is among the best: PED-ANOVA over complete
    trials, by Optuna.

    `settings` are the sampled values by number of the trial.

    Returns:
        `target`; `values`, shares that add up to one, the largest first, None where they are not
        known; `reason`, the method behind the shares, or the reason for their absence.
    """
    name = target["name"]
    values = {number: target["values"][number] for number in sorted(target["values"])}
    varying = []
    for parameter in distributions:
        known = [settings[number] for number in values if parameter in settings[number]]
        if len({repr(params[parameter]) for params in known}) > 1:
            varying.append(parameter)
    reason = None
    if len(values) < LEAST_TRIALS:
        reason = f"importances need {LEAST_TRIALS} complete trials; there are {len(values)}"
    elif len(set(values.values())) == 1:
        reason = f"all trials have the same {name}"
    elif not varying:
        reason = "no parameter has several values"
    if reason is not None:
        return {"target": name, "values": None, "reason": reason}
    # Imported late: optuna.importance loads scikit-learn, which takes longer than all other
    # imports.
    import optuna
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

    optuna.logging.set_verbosity(optuna.logging.ERROR)  # Optuna announces a study in memory
    study = optuna.create_study(direction=target["direction"])
    for number, value in values.items():
        params = {one: settings[number][one] for one in varying if one in settings[number]}
        ranges = {one: distributions[one] for one in params}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=ranges, value=value))
    share = min(0.5, max(0.1, LEAST_GOOD / len(values)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        result = get_param_importances(
            study, evaluator=PedAnovaImportanceEvaluator(target_quantile=share)
        )
    if not sum(result.values()) > 0:
        reason = "the best trials have the same parameters as the others"
        return {"target": name, "values": None, "reason": reason}
    reason = f"PED-ANOVA over {len(values)} complete trials: what sets the best {share:.0%} apart"
    return {
        "target": name,
        "values": {one: float(value) for one, value in result.items()},
        "reason": reason,
    }
