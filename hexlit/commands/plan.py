"""`hexlit plan`: the time of a recipe on other machines, calculated from measured rates."""

import csv
import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from hexlit.commands import tasks
from hexlit.commands.application import register_schema, run, typed
from hexlit.commands.composing import settings_apart
from hexlit.errors import UsageError
from hexlit.planning.config import PlanConfig
from hexlit.planning.plan import MEGABIT, Machines, Pace, Plan, changes, limit
from hexlit.tasks.hex.config import HexTrainConfig

register_schema("plan", PlanConfig)

OF_THE_PLAN = frozenset(PlanConfig.__dataclass_fields__)


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides, including those of `hexlit train`; returns the exit code."""
    tasks.register(["task=hex"])
    asked: list[PlanConfig] = []

    def taken_apart(argv: list[str]) -> list[str]:
        own, rest = settings_apart(argv, OF_THE_PLAN, "plan_settings")
        if not any(argument.startswith("-") for argument in rest):  # --cfg needs no plan
            asked.append(typed(own, PlanConfig))
        return rest

    def task(config: DictConfig) -> None:
        plan(asked[0], typed(config, HexTrainConfig))

    return run(task, "plan", argv, prepare=taken_apart)


def plan(asked: PlanConfig, recipe: HexTrainConfig) -> None:
    """Work out the time of the recipe on the machines in `asked`, and print the results."""
    from hexlit.reporting.plan import plan_page
    from hexlit.reporting.text import show, terminal

    result = worked_out(asked, recipe)
    if asked.json:
        print(json.dumps(result, indent=2, allow_nan=False))
    else:
        show(plan_page(result), terminal())


def worked_out(asked: PlanConfig, recipe: HexTrainConfig) -> dict[str, Any]:
    """Rates, shares of time, hours and cost, and the same with one change each, as plain values."""
    chosen = plan_of(asked, recipe)
    outcome = chosen.outcome()
    epochs, goal = _epochs(asked, recipe, outcome.games_per_epoch)

    def taken(one: Plan) -> dict[str, float]:
        result = one.outcome()
        hours = epochs * result.epoch_seconds / 3600
        cost = hours * (asked.learner_price + one.machines.hosts * asked.host_price)
        return {**asdict(result), "hours": hours, "cost": cost}

    return {
        "recipe": recipe.name,
        "cluster": asdict(chosen.machines) | {"actors": chosen.machines.actors},
        "ahead": chosen.ahead,
        "target": goal,
        "epochs": epochs,
        **taken(chosen),
        "limit": limit(chosen, outcome),
        "changes": [{"what": what, **taken(changed)} for what, changed in changes(chosen)],
    }


def plan_of(asked: PlanConfig, recipe: HexTrainConfig) -> Plan:
    """The machines, and the work of an epoch.

    Raises:
        UsageError: the rates cannot be read, or there are more processes than games.
    """
    if recipe.data.source != "selfplay":
        raise UsageError(f"data={recipe.data.source}: a plan is of self-play; leave it out")
    assert asked.rates is not None
    pace = Pace.read(Path(asked.rates))
    learner = pace if asked.learner_rates is None else Pace.read(Path(asked.learner_rates))
    cores = asked.cores or learner.cores
    workers = asked.workers
    if workers is None:
        workers = 0 if asked.hosts else cores
    host_cores = asked.host_cores or pace.cores
    machines = Machines(
        cores=cores,
        workers=workers,
        hosts=asked.hosts,
        host_cores=host_cores,
        host_workers=asked.host_workers or host_cores,
        devices=asked.gpus,
        scaling=asked.gpu_scaling,
        bytes_per_second=asked.network * MEGABIT,
        latency=asked.latency / 1000,
    )
    selfplay = recipe.selfplay
    if machines.actors > selfplay.games:
        raise UsageError(
            f"{machines.actors} processes: selfplay.games={selfplay.games} leaves some without a game; raise it, and "
            "selfplay.positions with it"
        )
    batch = recipe.hardware.train_batch or recipe.data.batch
    steps = max(1, math.ceil(selfplay.positions * recipe.data.reuse / batch))
    ahead = asked.ahead if asked.ahead is not None else selfplay.versions_behind * (selfplay.ahead is not False)
    return Plan(pace, learner, machines, selfplay.positions, selfplay.games, steps * batch, ahead)


def _epochs(asked: PlanConfig, recipe: HexTrainConfig, games_per_epoch: float) -> tuple[int, str]:
    """Epochs until the target, and the target in words."""
    target = asked.target
    if target.score is not None and target.run is not None:
        games = _games_to_score(Path(target.run), target.score)
        return math.ceil(games / games_per_epoch), f"strength {target.score:g}, which took {games:,.0f} games"
    if target.games is not None:
        return math.ceil(target.games / games_per_epoch), f"{target.games:,} games"
    epochs = target.epochs or recipe.trainer.max_epochs
    if epochs is None:
        raise UsageError("trainer.max_epochs=null: set the target with target.epochs, target.games or target.score")
    return epochs, f"{epochs:,} epochs"


def _games_to_score(run: Path, score: float) -> float:
    """Number of self-play games until the run in the folder `run` first measured a `strength.score` of `score`.

    Raises:
        UsageError: the run has no metrics, or never measured as much.
    """
    file = run / "metrics.csv"
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except OSError as error:
        raise UsageError(f"target.run={run}: its metrics.csv cannot be read ({error.strerror})") from error
    best = -math.inf
    for row in rows:
        try:
            reached, games = float(row["strength.score"] or "nan"), float(row["selfplay.games"] or "nan")
        except (KeyError, TypeError, ValueError):
            continue
        if reached >= score and games > 0:
            return games
        best = max(best, reached) if reached == reached else best
    if best == -math.inf:
        raise UsageError(f"target.run={run}: measured no strength of self-play; choose another run")
    raise UsageError(f"target.score={score}: {run} reached {best:.3f} at best; ask for less, or name a stronger run")
