"""The importance of each parameter of a sweep: PED-ANOVA over its complete trials, by Optuna."""

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hexlit.reporting.study_figures import Importances, Target
from hexlit.tuning.parameters import Parameter, Value

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

LEAST_TRIALS = 10
"""Least number of complete trials. With fewer, chance says more than the parameters."""

LEAST_GOOD = 5
"""Least number of good trials; PED-ANOVA compares their parameters with those of all trials."""


def parameter_importances(
    target: Target, parameters: Sequence[Parameter], settings: Mapping[int, Mapping[str, Value]]
) -> Importances:
    """The share of each parameter in whether a trial is among the best by `target`.

    `settings` are the sampled values by number of the trial.
    """
    numbers = [number for number in sorted(target.values) if number in settings]
    if len(numbers) < LEAST_TRIALS:
        reason = f"importances need {LEAST_TRIALS} complete trials; there are {len(numbers)}"
        return Importances(target.name, None, reason)
    if len({target.values[number] for number in numbers}) == 1:
        return Importances(target.name, None, f"all trials have the same {target.name}")
    varying = [p for p in parameters if len({repr(settings[n][p.name]) for n in numbers if p.name in settings[n]}) > 1]
    if not varying:
        return Importances(target.name, None, "no parameter has several values")
    # Imported late: optuna.importance loads scikit-learn, which takes longer than all other imports.
    import optuna
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances
    from optuna.study import StudyDirection

    distributions = {parameter.name: _distribution(parameter) for parameter in varying}
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)  # Optuna announces a study in memory
    try:
        study = optuna.create_study(directions=[StudyDirection[target.direction.upper()]])
        for number in numbers:
            there = {name: settings[number][name] for name in distributions if name in settings[number]}
            ranges = {name: distributions[name] for name in there}
            study.add_trial(optuna.trial.create_trial(params=there, distributions=ranges, value=target.values[number]))
        share = min(0.5, max(0.1, LEAST_GOOD / len(numbers)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            result = get_param_importances(study, evaluator=PedAnovaImportanceEvaluator(target_quantile=share))
    finally:
        optuna.logging.set_verbosity(verbosity)
    if not sum(result.values()) > 0:
        return Importances(target.name, None, "the best trials have the same parameters as the others")
    reason = f"PED-ANOVA over {len(numbers)} complete trials: what sets the best {share:.0%} apart"
    return Importances(target.name, {name: float(value) for name, value in result.items()}, reason)


def _distribution(parameter: Parameter) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    low, high = parameter.low or 0.0, parameter.high or 0.0
    if parameter.kind == "categorical":
        return CategoricalDistribution(list(parameter.choices))
    if parameter.kind == "int":
        return IntDistribution(int(low), int(high), log=parameter.log)
    return FloatDistribution(low, high, log=parameter.log)
