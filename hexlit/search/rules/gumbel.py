"""Gumbel AlphaZero (Danihelka, Guez, Schrittwieser, Silver 2022): sequential halving at the root
and completed Q values.

Inside the tree, moves are chosen so that the visit counts follow the improved policy
softmax(logits + sigma(Q)). Untried moves get the mixed value v_mix for Q (equations 7, 8, 11 and
appendix D). All of them share that value, so their part of the softmax is their share of the prior,
and only tried moves have to be read.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.arrays import FloatArray
from hexlit.hex.jit import inline, uncounted_device_function, uncounted_kernel
from hexlit.hex.rng import gumbel
from hexlit.search.config import GumbelConfig
from hexlit.search.tree import NONE, Tree, add_child, child_value, root_child

DRAWS_MOVE = False
"""The noise, scaled by the temperature, has drawn the move already."""


class Rule(NamedTuple):
    """The settings of `GumbelConfig` in the form that compiled code takes."""

    considered: int
    value_scale: float
    visit_offset: float
    rescale: bool
    schedule: NDArray[np.int32]
    """Table of sequential halving for each budget of the search, see `halving_table`: `[budgets,
    considered + 1, S]` for S simulations at most.
    """


def compiled(config: GumbelConfig, budgets: tuple[int, ...]) -> Rule:
    """The rule of `config` for searches of `budgets` simulations."""
    return Rule(
        considered=config.considered,
        value_scale=config.value_scale,
        visit_offset=config.visit_offset,
        rescale=config.rescale,
        schedule=halving_table(config.considered, budgets),
    )


def with_budget(rule: Rule, simulations: int) -> Rule:
    """`rule` for searches whose one budget is `simulations`."""
    return rule._replace(schedule=halving_table(rule.considered, (simulations,)))


@uncounted_device_function
def choose(tree: Tree, g: int, node: int, rule: Rule) -> int:
    """Child of `node` to go to; NONE for the best action not tried yet.

    At the root it is that of sequential halving, if the search has a schedule.
    """
    if node != 0 or tree.game[g].schedule == NONE:
        return gumbel_child(tree, g, node, rule)
    action = halving_action(tree, g, rule)
    if tree.policy[g, 0, action] > 0.0:
        return add_child(tree, g, 0, action)
    return root_child(tree, g, action)


@inline
def needs_all_values(tree: Tree, g: int, rule: Rule) -> bool:
    """Whether the next choice at the root must wait for the values of all waiting leaves."""
    return halving_drops(tree, g, rule)


class CompletedQ(NamedTuple):
    """Terms that turn the Q values of one node's actions into the bonus sigma(Q) on their logits."""

    mixed: float
    """v_mix: value of the actions not tried yet."""
    high: float
    """Highest Q value: it gives no bonus, and all others a negative one."""
    scale: float
    """Bonus for each unit of Q."""
    tried: float
    """Sum of the priors of the actions tried."""
    visits: int
    """Visits of all children."""
    most: int
    """Visits of the child visited most."""


@uncounted_device_function
def completed_q(tree: Tree, g: int, node: int, rule: Rule) -> CompletedQ:
    """Complete the Q values of `node`."""
    visits, most = 0, 0
    tried, weighted = 0.0, 0.0
    low, high = math.inf, -math.inf
    child = tree.node[g, node].first_child
    while child != NONE:
        n, q, prior = (
            tree.node[g, child].visits,
            child_value(tree, g, child),
            tree.node[g, child].prior,
        )
        visits += n
        most = max(most, n)
        tried += prior
        weighted += prior * q
        low, high = min(low, q), max(high, q)
        child = tree.node[g, child].sibling
    mixed = float(tree.node[g, node].network_value)
    if visits > 0:
        mixed = (mixed + visits * weighted / tried) / (1 + visits)
    scale = (rule.visit_offset + most) * rule.value_scale
    low, high = min(low, mixed), max(high, mixed)
    reach = max(high - low, 1e-8) if rule.rescale else 2.0
    return CompletedQ(mixed, high, scale / reach, tried, visits, most)


@uncounted_device_function
def gumbel_child(tree: Tree, g: int, node: int, rule: Rule) -> int:
    """Child whose visits lag most behind the improved policy, or NONE for the best untried action."""
    if tree.node[g, node].first_child == NONE:
        return NONE
    q = completed_q(tree, g, node, rule)
    untried_weight = math.exp(q.scale * (q.mixed - q.high))
    total = max(0.0, 1.0 - q.tried) * untried_weight
    child = tree.node[g, node].first_child
    while child != NONE:
        total += tree.node[g, child].prior * math.exp(
            q.scale * (child_value(tree, g, child) - q.high)
        )
        child = tree.node[g, child].sibling
    best, highest = NONE, -math.inf
    child = tree.node[g, node].first_child
    while child != NONE:
        weight = tree.node[g, child].prior * math.exp(
            q.scale * (child_value(tree, g, child) - q.high)
        )
        score = weight / total - tree.node[g, child].visits / (1.0 + q.visits)
        if score > highest:
            best, highest = child, score
        child = tree.node[g, child].sibling
    action = tree.node[g, node].next_action
    if action != NONE and tree.policy[g, node, action] * untried_weight / total > highest:
        return NONE
    return best


@inline
def prepare_root(tree: Tree, g: int, rule: Rule) -> None:
    """Gumbel noise plus logit for every legal action of the root."""
    for action in range(tree.policy.shape[2]):
        if tree.policy[g, 0, action] > 0.0:
            noise = (
                tree.game[g].noise * gumbel(tree.game[g].key, action)
                if tree.game[g].noise > 0.0
                else 0.0
            )
            tree.root_score[g, action] = noise + math.log(tree.policy[g, 0, action])


@inline
def considered_actions(tree: Tree, g: int, rule: Rule) -> int:
    """Root actions that enter sequential halving."""
    legal = 0
    for action in range(tree.root_policy.shape[1]):
        legal += tree.root_policy[g, action] > 0.0
    return min(rule.considered, legal)


@inline
def halving_visits(tree: Tree, g: int, child: int) -> int:
    """Visits of the root's `child` that sequential halving has given it."""
    visits = int(tree.node[g, child].visits)
    return (
        visits - int(tree.root_kept[g, tree.node[g, child].action])
        if tree.game[g].kept > 0
        else visits
    )


@uncounted_device_function
def halving_action(tree: Tree, g: int, rule: Rule) -> int:
    """Root action that sequential halving visits next: the best of those with as many visits as its
    table says.
    """
    simulation = tree.node[g, 0].visits - 1 - tree.game[g].kept
    wanted = rule.schedule[tree.game[g].schedule, considered_actions(tree, g, rule), simulation]
    if wanted > 0:
        return halving_winner(tree, g, wanted, rule)
    best, highest = NONE, -math.inf
    for action in range(tree.policy.shape[2]):
        if tree.policy[g, 0, action] > 0.0 and tree.root_score[g, action] > highest:
            best, highest = action, tree.root_score[g, action]
    return best if tree.game[g].kept == 0 else better_start(tree, g, best, rule)


@uncounted_kernel
def better_start(tree: Tree, g: int, untried: int, rule: Rule) -> int:
    """The better of `untried`, the best root action not tried yet (or NONE), and those of an
    earlier search.
    """
    tried = halving_winner(tree, g, 0, rule)
    if untried == NONE or tried == NONE:
        return untried if tried == NONE else tried
    q = completed_q(tree, g, 0, rule)
    gain = tree.root_score[g, tried] + q.scale * child_value(tree, g, root_child(tree, g, tried))
    return tried if gain > tree.root_score[g, untried] + q.scale * q.mixed else untried


@uncounted_device_function
def halving_drops(tree: Tree, g: int, rule: Rule) -> bool:
    """Whether sequential halving is about to leave some of the root actions with most visits
    behind.
    """
    simulation = tree.node[g, 0].visits - 1 - tree.game[g].kept
    if tree.game[g].schedule == NONE or simulation < 1:
        return False
    row = rule.schedule[tree.game[g].schedule, considered_actions(tree, g, rule)]
    wanted = row[simulation]
    if row[simulation - 1] == wanted:  # in the middle of a round: each action gets one visit
        return False
    places, ready = 0, 0
    while simulation + places < row.size and row[simulation + places] == wanted:
        places += 1
    child = tree.node[g, 0].first_child
    while child != NONE:
        ready += halving_visits(tree, g, child) == wanted
        child = tree.node[g, child].sibling
    return places < ready


@uncounted_device_function
def halving_winner(tree: Tree, g: int, wanted: int, rule: Rule) -> int:
    """Root action with the highest noise + logit + sigma(Q) among those tried with `wanted` visits
    in it.
    """
    q = completed_q(tree, g, 0, rule)
    best, highest = NONE, -math.inf
    child = tree.node[g, 0].first_child
    while child != NONE:
        if halving_visits(tree, g, child) == wanted:
            score = tree.root_score[g, tree.node[g, child].action] + q.scale * (
                child_value(tree, g, child) - q.high
            )
            if score > highest:
                best, highest = int(tree.node[g, child].action), score
        child = tree.node[g, child].sibling
    return best


@inline
def root_result(tree: Tree, g: int, policy: FloatArray, rule: Rule) -> int:
    """Write softmax(logits + sigma(completed Q)) into `policy` `[A]`; returns the action that
    halving left over.
    """
    q = completed_q(tree, g, 0, rule)
    untried_weight = math.exp(q.scale * (q.mixed - q.high))
    for action in range(policy.size):
        policy[action] = tree.root_policy[g, action] * untried_weight
    most = 0
    child = tree.node[g, 0].first_child
    while child != NONE:
        most = max(most, halving_visits(tree, g, child))
        action = tree.node[g, child].action
        policy[action] = tree.root_policy[g, action] * math.exp(
            q.scale * (child_value(tree, g, child) - q.high)
        )
        child = tree.node[g, child].sibling
    policy /= policy.sum()
    return halving_winner(tree, g, most, rule)


@lru_cache(maxsize=64)
def halving_row(considered: int, simulations: int) -> tuple[int, ...]:
    """For each simulation, the number of visits of the root action that sequential halving chooses
    next.

    It follows the paper's reference implementation: `considered` actions get equal shares of
    visits, the better half stays, and so on down to two.
    """
    if considered <= 1:
        return tuple(range(simulations))
    rounds = math.ceil(math.log2(considered))
    visits, wanted, left = [0] * considered, list[int](), considered
    while len(wanted) < simulations:
        for _ in range(max(1, simulations // (rounds * left))):
            wanted.extend(visits[:left])
            for i in range(left):
                visits[i] += 1
        left = max(2, left // 2)
    return tuple(wanted[:simulations])


def halving_table(considered: int, budgets: tuple[int, ...]) -> NDArray[np.int32]:
    """`halving_row` for each of `budgets` and number of actions, int32 `[budgets, considered + 1,
    simulations]`.
    """
    table = np.zeros((len(budgets), considered + 1, max(budgets)), np.int32)
    for row, budget in enumerate(budgets):
        for actions in range(considered + 1):
            table[row, actions, :budget] = halving_row(actions, budget)
    return table
