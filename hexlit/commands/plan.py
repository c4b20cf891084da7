"""`hexlit plan`: the time of a recipe on other machines, calculated from measured rates."""

import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from hexlit.commands import tasks
from hexlit.commands.application import register_schema, run_beside
from hexlit.commands.command_line import print_results
from hexlit.errors import UsageError
from hexlit.files import read_regular
from hexlit.planning.plan import Pace, PlanConfig, epoch_of
from hexlit.tasks.hex.config import HexTrainConfig

register_schema("plan", PlanConfig)

OWN_KEYS = frozenset(PlanConfig.__dataclass_fields__)
MEASURE = "hexlit bench what=pace experiment=NAME output=FOLDER writes them"
BUSY = 0.9
"""A part with at least this share of busy time is the limit of all others."""
LIMITS = {
    "learner_busy": "Training is the limit: further processes that play would wait.",
    "link_busy": "The learner's network is the limit: records and weights wait for one another.",
    "actors_busy": "Self-play is the limit: the learner waits for games.",
}


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides, including those of `hexlit train`; returns the exit
    code.
    """
    tasks.register(["task=hex"])
    return run_beside(plan, HexTrainConfig, "plan", argv, ("plan_settings", PlanConfig, OWN_KEYS))


def plan(asked: PlanConfig, recipe: HexTrainConfig) -> None:
    """Work out the time of the recipe on the machines in `asked`, and print the results."""
    from hexlit.reporting.plan import plan_page
    from hexlit.reporting.text import terminal

    result = worked_out(asked, recipe)
    print_results(asked, result, plan_page(result), terminal())


def worked_out(asked: PlanConfig, recipe: HexTrainConfig) -> dict[str, Any]:
    """Rates, shares of time, hours and cost, and the same with one change each, as plain values.

    Raises:
        UsageError: the rates or the target's run cannot be read, or processes and games do not fit.
    """
    if recipe.data.source != "selfplay":
        raise UsageError(f"data={recipe.data.source}: a plan is of self-play; leave it out")
    if asked.rates is None:
        raise UsageError(f"rates has no value: add rates=FOLDER; {MEASURE}")
    pace = read_pace(asked.rates)
    selfplay = recipe.selfplay
    cores = asked.cores or pace.cores
    host_cores = asked.host_cores or pace.cores
    workers = asked.workers
    if workers is None:
        workers = 0 if asked.hosts else cores
    ahead = selfplay.ahead is not False if asked.ahead is None else asked.ahead
    machines = replace(
        asked,
        cores=cores,
        workers=workers,
        host_cores=host_cores,
        ahead=ahead,
    )
    if not 0 < machines.actors <= selfplay.games:
        raise UsageError(
            f"{machines.actors} processes: from 1 to selfplay.games={selfplay.games} can play"
        )
    batch = recipe.hardware.train_batch or recipe.data.batch
    trained = max(1, math.ceil(selfplay.positions * recipe.data.reuse / batch)) * batch
    work = {"positions": selfplay.positions, "games": selfplay.games, "trained": trained}
    games_per_epoch = epoch_of(machines, pace, **work)["games_per_epoch"]
    epochs, goal = _epochs(asked, recipe, games_per_epoch)
    # The last epochs of a recipe train alone.
    has_target = any(vars(asked.target).values())
    replayed = 0 if has_target else recipe.data.replay_epochs

    played = (selfplay.board_of(epoch, recipe.board) for epoch in range(epochs - replayed))
    played_epochs = sum((size / recipe.board) ** 2 for size in played)  # the work is by cells

    def figures(on: PlanConfig) -> dict[str, float]:
        result = epoch_of(on, pace, **work)
        whole_epochs = played_epochs + replayed * result["learner_busy"]
        hours = whole_epochs * result["epoch_seconds"] / 3600
        price = asked.learner_price + on.hosts * asked.host_price
        return {**result, "hours": hours, "cost": hours * price}

    changed = []
    for what, other in changes(machines).items():
        if other.actors <= selfplay.games:
            changed.append({"what": what, **figures(other)})
    result = figures(machines)
    return {
        "recipe": recipe.name,
        "cluster": asdict(machines) | {"devices": asked.gpus, "actors": machines.actors},
        "ahead": ahead,
        "target": goal,
        "epochs": epochs,
        **result,
        "limit": limit(result, machines),
        "changes": changed,
    }


def read_pace(rates: str) -> Pace:
    """The section `pace` of a file written by `hexlit bench`, or of `bench.json` in a folder."""
    path = Path(rates)
    try:
        file = path / "bench.json" if path.is_dir() else path
        document = json.loads(read_regular(file))
        return Pace(**document["pace"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UsageError(
            f"rates={path}: has no figures of what=pace ({error}); {MEASURE}"
        ) from error


def changes(machines: PlanConfig) -> dict[str, PlanConfig]:
    """Half and twice the playing processes, twice the training, a faster network, and self-play
    ahead of the training.
    """
    kind = "hosts" if machines.hosts else "workers"
    count = getattr(machines, kind)
    changed = {}
    if count > 1:
        changed[f"{count // 2} {kind}"] = {kind: count // 2}
    changed[f"{count * 2} {kind}"] = {kind: count * 2}
    if machines.hosts:
        changed["network × 10"] = {"network": machines.network * 10}
    changed[f"{machines.gpus * 2} devices train"] = {"gpus": machines.gpus * 2}
    if not machines.ahead:
        changed["ahead=true"] = {"ahead": True}
    return {what: replace(machines, **settings) for what, settings in changed.items()}


def limit(figures: dict[str, float], machines: PlanConfig) -> str:
    """The part that the others wait for, in a sentence."""
    for name, text in LIMITS.items():
        if figures[name] >= BUSY:
            return text
    if machines.ahead:
        return "No part is busy all the time: an epoch's shares are uneven, and all wait for the last one."
    return "Self-play and training take turns: each waits for the other."


def _epochs(asked: PlanConfig, recipe: HexTrainConfig, games_per_epoch: float) -> tuple[int, str]:
    """Epochs until the target, and the target in words."""
    target = asked.target
    if target.epochs is not None and target.games is not None:
        raise UsageError("target.epochs, target.games: choose one of them")
    if target.games is not None:
        return math.ceil(target.games / games_per_epoch), f"{target.games:,} games"
    epochs = target.epochs or recipe.trainer.max_epochs
    if epochs is None:
        raise UsageError("trainer.max_epochs=null: set target.epochs or target.games")
    return epochs, f"{epochs:,} epochs"
