"""The figures of a sweep: the data of each one, taken from the results, and drawn beside that data as JSON."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from hexlit.files import plain, replacing, write_text_atomic
from hexlit.reporting.curve_figures import Bar, Line, Lines, Panel, Timeline, draw_lines, draw_timeline, slots_of
from hexlit.reporting.figures import draw
from hexlit.reporting.page import Figure as PageFigure
from hexlit.reporting.parameter_figures import Landscape, ParameterAxis, draw_parallel, draw_slices
from hexlit.reporting.study_figures import (
    Front,
    History,
    Importances,
    Target,
    draw_front,
    draw_history,
    draw_importances,
)
from hexlit.tuning.importances import parameter_importances
from hexlit.tuning.ranking import COMPARABLE, MINIMIZE
from hexlit.tuning.results import SweepResults
from hexlit.tuning.trial_result import COMPLETE, PRUNED


@dataclass(frozen=True)
class FigureOfSweep:
    """One figure: its file's name, its title, its data, and the function that draws it."""

    name: str
    title: str
    data: Any
    make: Callable[[Any], Figure]


def write_figures(results: SweepResults, folder: Path) -> list[PageFigure]:
    """Draw all figures to `folder`: `NAME.svg`, and `NAME.json` with the data in it. Returns them for the page."""
    drawings = []
    for figure in figures_of(results):
        svg = draw(figure.make, figure.data)
        with replacing(folder / f"{figure.name}.svg") as temporary:
            temporary.write_bytes(svg)
        content = {"title": figure.title, "data": _as_json(figure.data)}
        write_text_atomic(folder / f"{figure.name}.json", json.dumps(content, indent=1, allow_nan=False) + "\n")
        data = f"{folder.name}/{figure.name}.json"
        drawings.append(PageFigure(figure.name, figure.title, svg, data))
    return drawings


def figures_of(results: SweepResults) -> Iterator[FigureOfSweep]:
    """Every figure of the sweep that can be drawn, with its data."""
    aims = targets(results)
    settings = {trial.number: trial.params for trial in results.trials}
    best = results.ranking.best
    landscape = Landscape(aims if len(results.objectives) > 1 else aims[:1], _axes(results), best)
    yield FigureOfSweep("history", "Optimisation history", _history(results, aims), draw_history)
    if len(results.objectives) > 1:
        yield FigureOfSweep("pareto", "Pareto front", Front(aims, list(results.ranking.front), best), draw_front)
    importances: list[Importances] = [
        parameter_importances(target, results.parameters, settings) for target in landscape.targets
    ]
    yield FigureOfSweep("importances", "Parameter importances", importances, draw_importances)
    yield FigureOfSweep("parallel", "Parallel coordinates of the complete trials", landscape, draw_parallel)
    yield FigureOfSweep("slices", "Slices: the darker a trial, the later; the star is the best", landscape, draw_slices)
    yield FigureOfSweep("intermediate", "Intermediate values", _intermediate(results), draw_lines)
    yield FigureOfSweep("curves", "Losses of all trials, as weighted and comparable", _curves(results), draw_lines)
    yield FigureOfSweep("timeline", "Timeline of the trials", _timeline(results), draw_timeline)


def targets(results: SweepResults) -> list[Target]:
    """The values that compare the complete trials: the ranking value first, then the other objectives."""
    complete = [trial for trial in results.trials if trial.state == COMPLETE]
    result = []
    if results.ranking.by == COMPARABLE:
        known = {trial.number: trial.comparable for trial in complete if trial.comparable is not None}
        result.append(Target(results.ranking.objective.name, MINIMIZE, known))
    for place, objective in enumerate(results.objectives):
        values = {
            trial.number: trial.values[place]
            for trial in complete
            if trial.values is not None and len(trial.values) > place and math.isfinite(trial.values[place])
        }
        result.append(Target(objective.name, objective.direction, values))
    return result


def _history(results: SweepResults, aims: list[Target]) -> History:
    monitor = results.facts.monitor
    one = results.objectives[0].name if len(results.objectives) == 1 else None
    comparable = one if monitor in (None, one) else None
    pruned = {
        trial.number: last
        for trial in results.trials
        if trial.state == PRUNED and trial.intermediate and math.isfinite(last := [*trial.intermediate.values()][-1])
    }
    states = {trial.number: trial.state for trial in results.trials}
    return History(aims, states, pruned if comparable else {}, comparable, results.ranking.best)


def _axes(results: SweepResults) -> list[ParameterAxis]:
    complete = [trial for trial in results.trials if trial.state == COMPLETE]
    return [
        ParameterAxis(
            parameter.name,
            parameter.kind,
            parameter.log,
            parameter.low,
            parameter.high,
            list(parameter.choices),
            {trial.number: trial.params[parameter.name] for trial in complete if parameter.name in trial.params},
        )
        for parameter in results.parameters
    ]


def _intermediate(results: SweepResults) -> Lines:
    """Values reported to the pruner; where no trial reported any, the objective by epoch from their metrics."""
    name = results.facts.monitor or results.objectives[0].name
    lines = [
        Line(trial.number, trial.state, list(trial.intermediate), list(trial.intermediate.values()))
        for trial in results.trials
        if trial.intermediate
    ]
    if not lines:
        courses = {trial.number: trial.curves.column(name) for trial in results.trials}
        return Lines(_panels(results, {name: courses}), results.ranking.best)
    return Lines([Panel(name, lines, "loss" in name)], results.ranking.best)


def _curves(results: SweepResults) -> Lines:
    split = results.split
    if split is None:
        return Lines([], results.ranking.best)
    names = {f"total loss as weighted ({split})": f"{split}.loss"}
    if results.comparable in {name for trial in results.trials for name in trial.curves.columns}:
        names[f"the same weights for all ({results.comparable})"] = results.comparable
    courses = {title: {t.number: t.curves.column(name) for t in results.trials} for title, name in names.items()}
    return Lines(_panels(results, courses), results.ranking.best)


def _panels(results: SweepResults, courses: Mapping[str, Mapping[int, tuple[float | None, ...]]]) -> list[Panel]:
    panels = []
    for name, by_trial in courses.items():
        lines = []
        for trial in results.trials:
            pairs = zip(trial.curves.epochs, by_trial[trial.number], strict=True)
            points = [(epoch, value) for epoch, value in pairs if value is not None]
            if points:
                lines.append(Line(trial.number, trial.state, [e for e, _ in points], [v for _, v in points]))
        panels.append(Panel(name, lines, "loss" in name))
    return panels


def _timeline(results: SweepResults) -> Timeline:
    spans = {}
    for trial in results.trials:
        end = trial.ended
        if end is None and trial.started is not None and trial.seconds is not None:
            end = trial.started + trial.seconds
        if trial.started is not None and end is not None:
            spans[trial.number] = (trial.started, max(end, trial.started), trial.state)
    if not spans:
        return Timeline([], results.ranking.best)
    began = min(start for start, _, _ in spans.values())
    slots = slots_of((number, start, end) for number, (start, end, _) in spans.items())
    bars = [
        Bar(number, state, slots[number], start - began, end - began) for number, (start, end, state) in spans.items()
    ]
    return Timeline(bars, results.ranking.best)


def _as_json(data: Any) -> Any:
    """The data as plain values; NaN, infinities and the keys of trials in a form that JSON allows."""
    return plain([asdict(entry) for entry in data] if isinstance(data, list) else asdict(data))
