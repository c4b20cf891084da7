"""PUCT: the selection rule, root noise and policy of AlphaZero (Silver et al. 2018)."""

import math
from typing import NamedTuple

import numpy as np

from hexlit.hex.arrays import FloatArray
from hexlit.hex.jit import inline, uncounted_device_function
from hexlit.hex.rng import gamma, mix
from hexlit.search.config import PuctConfig
from hexlit.search.tree import NONE, Tree, child_value, find_next_action

DRAWS_MOVE = True


class Rule(NamedTuple):
    """The settings of `PuctConfig` in the form that compiled code takes."""

    c_init: float
    c_base: float
    fpu_reduction: float
    noise_share: float
    noise_total: float


def compiled(config: PuctConfig, budgets: tuple[int, ...]) -> Rule:
    """The rule of `config`, for any `budgets`."""
    return Rule(**vars(config))


@uncounted_device_function
def choose(tree: Tree, g: int, node: int, rule: Rule) -> int:
    """Child with the highest Q + U, or NONE for the best untried action."""
    visits = tree.node[g, node].visits
    exploration = rule.c_init + math.log((visits + rule.c_base + 1.0) / rule.c_base)
    exploration *= math.sqrt(visits)
    best, highest, tried = NONE, -math.inf, 0.0
    child = tree.node[g, node].first_child
    while child != NONE:
        prior = tree.node[g, child].prior
        tried += prior
        score = child_value(tree, g, child) + exploration * prior / (1 + tree.node[g, child].visits)
        if score > highest:
            best, highest = child, score
        child = tree.node[g, child].sibling
    action = tree.node[g, node].next_action
    if action != NONE:
        untried = tree.node[g, node].value_sum / visits - rule.fpu_reduction * math.sqrt(tried)
        if untried + exploration * tree.policy[g, node, action] > highest:
            return NONE
    return best


@uncounted_device_function
def _add_dirichlet_noise(tree: Tree, g: int, rule: Rule) -> None:
    """Mix Dirichlet noise into the priors of the root, weighted by the search's noise scale."""
    policy = tree.policy[g, 0]
    share = min(1.0, rule.noise_share * tree.game[g].noise)
    legal = 0
    for action in range(policy.size):
        legal += policy[action] > 0.0
    total = 0.0
    for action in range(policy.size):
        if policy[action] > 0.0:
            total += gamma(mix(tree.game[g].key + np.uint64(action)), rule.noise_total / legal)
    if total == 0.0:  # every draw of a Dirichlet with tiny parameters can vanish
        return
    for action in range(policy.size):
        if policy[action] > 0.0:
            noise = gamma(
                mix(tree.game[g].key + np.uint64(action)), rule.noise_total / legal
            )  # as above: no array
            policy[action] = (1.0 - share) * policy[action] + share * noise / total
    find_next_action(tree, g, 0)


@inline
def prepare_root(tree: Tree, g: int, rule: Rule) -> None:
    """Add the noise of the search to the priors of the root."""
    if rule.noise_share * tree.game[g].noise > 0.0:
        _add_dirichlet_noise(tree, g, rule)


@inline
def root_result(tree: Tree, g: int, policy: FloatArray, rule: Rule) -> int:
    """Write each root action's share of the visits into `policy` `[A]`; returns the action visited
    most.
    """
    for action in range(policy.size):
        policy[action] = 0.0
    total = tree.node[g, 0].visits - 1
    best, most = NONE, 0
    child = tree.node[g, 0].first_child
    while child != NONE:
        visits = tree.node[g, child].visits
        policy[tree.node[g, child].action] = visits / total
        if visits > most:
            best, most = tree.node[g, child].action, visits
        child = tree.node[g, child].sibling
    return best
