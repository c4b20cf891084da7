"""The figures of a sweep: drawn in every condition, with their data beside them."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from hexlit.tuning.figures import LEAST_TRIALS, parameter_importances, write_figures
from hexlit.tuning.results import read_results
from tests.tuning.sweeps import Made, complete, failed, losses, make_sweep, pruned

NAMES = ["history", "importances", "parallel", "slices", "intermediate", "curves", "timeline"]
SPACE: dict[str, BaseDistribution] = {
    "optimizer.lr": FloatDistribution(1e-5, 1e-1, log=True),
    "net.blocks": IntDistribution(1, 8),
    "net": CategoricalDistribution(
        ["tiny", "a $b$ <c> & 'd' of a length that fits nowhere", None, True]
    ),
    "dropout": FloatDistribution(0.0, 0.5),
}


def trials(count: int, objectives: int = 1) -> list[Made]:
    made = []
    for number in range(count):
        params = {
            "optimizer.lr": 10 ** (-5 + 4 * (number * 0.37 % 1)),
            "net.blocks": 1 + number % 8,
            "net": SPACE["net"].choices[number % 4],  # type: ignore[attr-defined]
            "dropout": 0.5 * (number * 0.61 % 1),
        }
        metrics = losses([2.0, 1.0 + number % 3], [0.5, math.nan if number % 5 == 1 else 0.4])
        shared: dict[str, Any] = {"params": params, "distributions": SPACE, "metrics": metrics}
        shared |= {"start": 10.0 * number, "end": 10.0 * number + 15}
        if number % 5 == 1:
            made.append(failed(**shared))
        elif number % 5 == 3:
            made.append(
                pruned(intermediate={} if objectives > 1 else {0: 0.1, 1: math.nan}, **shared)
            )
        else:
            reported = {} if objectives > 1 else {0: 0.1, 1: 0.01 * number}
            values = [0.01 * number, 5.0 - 0.01 * number][:objectives]
            made.append(Made(values=values, intermediate=reported, **shared))
    return made


def drawn(folder: Path) -> dict[str, Any]:
    results = read_results(folder)
    drawings = write_figures(results, folder / "figures")
    data = {}
    for drawing in drawings:
        svg = (folder / "figures" / f"{drawing.name}.svg").read_bytes()
        assert svg == drawing.data
        assert ElementTree.fromstring(svg).tag.endswith("svg")
        text = (folder / "figures" / f"{drawing.name}.json").read_text()
        data[drawing.name] = json.loads(text, parse_constant=pytest.fail)["data"]
    assert len(list((folder / "figures").iterdir())) == 2 * len(drawings)
    return data


@pytest.mark.parametrize("count", [0, 1, 3, 30])
def test_every_figure_is_drawn_with_its_data_however_many_trials_there_are(
    count: int, tmp_path: Path
) -> None:
    data = drawn(make_sweep(tmp_path / "s", trials(count)))
    assert list(data) == NAMES
    assert len(data["history"]["states"]) == count
    assert len(data["timeline"]["bars"]) == count


def test_the_data_is_that_of_the_study(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path / "s", trials(12))
    data = drawn(folder)
    target = data["history"]["targets"][0]
    assert (target["name"], target["direction"]) == ("strength.score", "maximize")
    assert target["values"] == {str(n): 0.01 * n for n in (0, 2, 4, 5, 7, 9, 10)}
    assert data["history"]["best"] == 10
    lr, blocks, net, _ = data["slices"]["parameters"]
    assert (lr["log"], lr["low"], lr["high"], blocks["kind"], net["kind"]) == (
        True,
        1e-5,
        0.1,
        "int",
        "categorical",
    )
    assert blocks["values"]["7"] == 8
    lines = {line["trial"]: line for line in data["intermediate"]["panels"][0]["lines"]}
    assert (lines[5]["epochs"], lines[5]["values"]) == ([0, 1], [0.1, 0.05])
    assert lines[3]["values"] == [0.1, None]
    assert lines[3]["state"] == "pruned"


def test_the_combined_curves_are_raw_and_comparable(tmp_path: Path) -> None:
    made = []
    for weight in (0.5, 4.0):
        made.append(complete(0.5, metrics=losses([2.0, 1.0], [0.5, 0.4], weight)))
    raw, comparable = drawn(make_sweep(tmp_path / "s", made))["curves"]["panels"]
    assert [line["values"] for line in raw["lines"]] == [[2.25, 1.2], [4.0, 2.6]]
    expected = pytest.approx([0.14 * 2 + 0.86 * 0.5, 0.14 + 0.86 * 0.4])
    assert [line["values"] for line in comparable["lines"]] == [expected, expected]


def test_two_objectives_have_a_pareto_front_and_a_panel_each(tmp_path: Path) -> None:
    ways = {"strength.score": "maximize", "seconds": "maximize"}
    data = drawn(make_sweep(tmp_path / "s", trials(30, objectives=2), ways))
    assert [*data] == [NAMES[0], "pareto", *NAMES[1:]]
    assert [target["name"] for target in data["pareto"]["targets"]] == list(ways)
    assert data["pareto"]["front"] == [n for n in range(29, -1, -1) if n % 5 not in (1, 3)]
    assert [entry["target"] for entry in data["importances"]] == list(ways)


def test_a_ranking_by_the_comparable_loss_is_what_the_figures_show_first(tmp_path: Path) -> None:
    made = []
    for number in range(3):
        made.append(complete(float(number), metrics=losses([1.0 + number], [0.5])))
    data = drawn(make_sweep(tmp_path / "s", made, {"train.loss": "minimize"}))
    assert [target["name"] for target in data["history"]["targets"]] == [
        "train.comparable_loss",
        "train.loss",
    ]
    assert [target["name"] for target in data["slices"]["targets"]] == ["train.comparable_loss"]


def test_without_reports_the_course_of_the_objective_is_drawn(tmp_path: Path) -> None:
    trial = complete(0.3, metrics={"strength.score": [0.1, None, 0.3]})
    data = drawn(make_sweep(tmp_path / "s", [trial]))
    line = data["intermediate"]["panels"][0]["lines"][0]
    assert (line["epochs"], line["values"]) == ([0, 2], [0.1, 0.3])


def studied(count: int) -> tuple[dict[str, BaseDistribution], dict[int, dict[str, Any]]]:
    settings: dict[int, dict[str, Any]] = {
        n: {
            "lr": 10 ** (-4 + 3 * (n * 0.379 % 1)),
            "blocks": 1 + n * 7 % 5,
            "net": "abc"[n * 5 % 3],
        }
        for n in range(count)
    }
    parameters: dict[str, BaseDistribution] = {
        "blocks": IntDistribution(1, 5),
        "lr": FloatDistribution(1e-4, 1e-1, log=True),
        "net": CategoricalDistribution(["a", "b", "c"]),
        "constant": FloatDistribution(0.5, 0.5),
    }
    return parameters, settings


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("matters", ["lr", "blocks", "net"])
def test_the_one_parameter_that_matters_is_found(direction: str, matters: str) -> None:
    parameters, settings = studied(60)
    worth: dict[str, Callable[[Any], float]] = {
        "lr": lambda found: abs(math.log10(found["lr"]) + 2.5),
        "blocks": lambda found: found["blocks"],
        "net": lambda found: ord(found["net"]),
    }
    sign = 1 if direction == "minimize" else -1
    worths = {n: sign * float(worth[matters](found)) for n, found in settings.items()}
    target = {"name": "score", "direction": direction, "values": worths}
    values = parameter_importances(target, parameters, settings)["values"]
    assert next(iter(values)) == matters
    assert values[matters] > 0.6
    assert sum(values.values()) == pytest.approx(1.0)


def test_importances_that_cannot_be_told_say_why() -> None:
    parameters, settings = studied(LEAST_TRIALS)
    fixed = {n: {"constant": 0.5} for n in settings}

    def told(values: dict[int, float], settings: dict[int, dict[str, Any]] = settings) -> Any:
        return parameter_importances(
            {"name": "score", "direction": "minimize", "values": values}, parameters, settings
        )

    few = {n: float(n) for n in range(LEAST_TRIALS - 1)}
    assert told(few)["values"] is None
    assert told(few)["reason"] == "importances need 10 complete trials; there are 9"
    assert told(dict.fromkeys(settings, 1.0))["reason"] == "all trials have the same score"
    enough = {n: float(n) for n in settings}
    assert told(enough)["values"] is not None
    assert told(enough, fixed)["reason"] == "no parameter has several values"
