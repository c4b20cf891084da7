"""The outcome of a trial, in words."""

from typing import TYPE_CHECKING

from hexlit.tuning.plan import Plan
from hexlit.tuning.runner import Ending

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial


def reason(ending: Ending, trial: "FrozenTrial") -> str:
    """Why `trial` failed: its own reason, unless it was ended from outside."""
    message = trial.user_attrs.get("failure")
    seen = ending.failure
    if seen is None:
        return str(message) if message else "ended without a value"
    return str(message) if message and seen.startswith("exit code") else seen


def outcome(trial: "FrozenTrial", plan: Plan) -> str:
    """One line on a trial that has ended."""
    from optuna.trial import TrialState

    number = f"trial {trial.number}"
    if trial.state == TrialState.COMPLETE:
        values = ", ".join(f"{name} {value:.4g}" for name, value in zip(plan.objectives, trial.values, strict=True))
        return f"{number}: {values}"
    if trial.state == TrialState.PRUNED:
        return f"{number}: pruned after {trial.user_attrs.get('epochs', '?')} epochs"
    if trial.user_attrs.get("interrupted"):
        return f"{number}: interrupted"
    return f"{number}: failed, {trial.user_attrs.get('failure')}"
