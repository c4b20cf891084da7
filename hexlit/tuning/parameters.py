"""The parameters that a sweep searches, and their ranges."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

Value = str | int | float | bool | None


@dataclass(frozen=True)
class Parameter:
    """One searched parameter and its range."""

    name: str
    kind: str
    """`float`, `int` or `categorical`."""
    log: bool = False
    """Whether it was searched on a logarithmic scale."""
    low: float | None = None
    high: float | None = None
    choices: tuple[Value, ...] = ()


def parameters_of_study(trials: Iterable["FrozenTrial"]) -> list[Parameter]:
    """The searched parameters in order of appearance; a range that changed covers all its versions."""
    result: dict[str, Parameter] = {}
    for trial in trials:
        for name, distribution in trial.distributions.items():
            parameter = _parameter(name, distribution)
            if name in result and parameter.kind == result[name].kind != "categorical":
                known = result[name]
                low, high = (
                    pick(a for a in pair if a is not None)
                    for pick, pair in ((min, (known.low, parameter.low)), (max, (known.high, parameter.high)))
                )
                parameter = Parameter(name, known.kind, known.log, low, high)
            elif name in result:
                parameter = result[name]
            result[name] = parameter
    return list(result.values())


def parameters_of_values(settings: Sequence[Mapping[str, Value]]) -> list[Parameter]:
    """The parameters of a sweep without a study; their ranges are those of the values in `settings`."""
    parameters = []
    for name in dict.fromkeys(name for result in settings for name in result):
        values = [result[name] for result in settings if name in result]
        numbers = [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
        if len(numbers) == len(values) and all(map(math.isfinite, numbers)):
            kind = "int" if all(isinstance(v, int) for v in values) else "float"
            parameters.append(Parameter(name, kind, False, min(numbers), max(numbers)))
        else:
            parameters.append(Parameter(name, "categorical", choices=tuple(dict.fromkeys(values))))
    return parameters


def _parameter(name: str, distribution: "BaseDistribution") -> Parameter:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(distribution, CategoricalDistribution):
        return Parameter(name, "categorical", choices=tuple(map(plain_value, distribution.choices)))
    assert isinstance(distribution, FloatDistribution | IntDistribution)  # Optuna has these three
    kind = "int" if isinstance(distribution, IntDistribution) else "float"
    return Parameter(name, kind, distribution.log, float(distribution.low), float(distribution.high))


def plain_value(value: Any) -> Value:
    """`value` in a form that JSON allows."""
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
