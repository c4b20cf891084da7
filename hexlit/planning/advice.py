"""One plan and possible changes to it: its limit, and the gain of larger machines."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hexlit.planning.cluster import Cluster, Work
from hexlit.planning.pace import Pace
from hexlit.planning.simulation import Outcome, simulate

BUSY = 0.9
"""A part with at least this share of busy time is the limit of all others."""

NETWORK_FACTOR = 10


@dataclass(frozen=True)
class Plan:
    """The machines, the recipe, and their measured rates."""

    pace: Pace
    learner: Pace
    cluster: Cluster
    work: Work

    def outcome(self, seed: int = 0) -> Outcome:
        """The simulated outcome."""
        return simulate(self.pace, self.cluster, self.work, learner=self.learner, seed=seed)


@dataclass(frozen=True)
class Change:
    """A plan with one change."""

    what: str
    plan: Plan
    outcome: Outcome


def changes(plan: Plan) -> list[Change]:
    """Half and twice the playing processes, twice the training, a faster network, and self-play further ahead."""
    cluster, work = plan.cluster, plan.work
    tried: dict[str, Callable[[], Plan]] = {}

    def machines(**changed: Any) -> Callable[[], Plan]:
        return lambda: replace(plan, cluster=replace(cluster, **changed))

    if cluster.hosts:
        if cluster.hosts > 1:
            tried[f"{cluster.hosts // 2} hosts"] = machines(hosts=cluster.hosts // 2)
        tried[f"{cluster.hosts * 2} hosts"] = machines(hosts=cluster.hosts * 2)
        link = replace(cluster.link, bytes_per_second=cluster.link.bytes_per_second * NETWORK_FACTOR)
        tried[f"network × {NETWORK_FACTOR}"] = lambda: replace(plan, cluster=replace(cluster, link=link))
    else:
        if cluster.workers > 1:
            tried[f"{cluster.workers // 2} workers"] = machines(workers=cluster.workers // 2)
        tried[f"{cluster.workers * 2} workers"] = machines(workers=cluster.workers * 2)
    tried[f"{cluster.devices * 2} devices train"] = machines(devices=cluster.devices * 2)
    tried[f"ahead={work.ahead + 1}"] = lambda: replace(plan, work=replace(work, ahead=work.ahead + 1))
    result = []
    for what, make in tried.items():
        changed = make()
        if changed.work.games >= changed.cluster.actors:
            result.append(Change(what, changed, changed.outcome()))
    return result


def limit(plan: Plan, outcome: Outcome) -> str:
    """The part that the others wait for, in a sentence."""
    if outcome.learner_busy >= BUSY:
        return "Training is the limit: further processes that play would wait."
    if outcome.link_busy >= BUSY:
        return "The learner's network is the limit: records and weights wait for one another."
    if outcome.actors_busy >= BUSY:
        return "Self-play is the limit: the learner waits for games."
    if plan.work.ahead == 0:
        return "Self-play and training take turns: each waits for the other."
    return "No part is busy all the time: an epoch's shares are uneven, and all wait for the last one."
