"""A search rule for `hexlit train search=ucb`."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from hexlit.search.config import SearchConfig
from hexlit.search.rules.puct import root_result as root_result  # shares of the visits
from hexlit.search.tree import NONE, Tree, child_value
from hexlit.settings import Settings, number

DRAWS_MOVE = True


@dataclass
class Ucb(Settings, section="search.ucb"):
    """An upper confidence bound with priors, as PUCB (Rosin 2011)."""

    c: float = number(0.8, "[0, inf)")
    """Exploration constant."""


@dataclass
class Config(SearchConfig):
    """The search with this rule."""

    algorithm: str = "ucb"
    ucb: Ucb = field(default_factory=Ucb)


class Rule(NamedTuple):
    """The settings in compiled code."""

    c: float


def compiled(settings: Ucb, budgets: tuple[int, ...]) -> Rule:
    """The rule of `settings`."""
    return Rule(settings.c)


def choose(tree: Tree, g: int, node: int, rule: Rule) -> int:
    """The child with the highest bound; NONE for the best untried move, worth as much as its node."""
    parent = tree.node[g, node]
    best, highest = NONE, -math.inf
    if parent.next_action != NONE:
        prior = tree.policy[g, node, parent.next_action]
        highest = parent.value_sum / parent.visits + rule.c * math.sqrt(parent.visits) * prior
    child = parent.first_child
    while child != NONE:
        move = tree.node[g, child]
        bound = rule.c * move.prior * math.sqrt(parent.visits / (1 + move.visits))
        if child_value(tree, g, child) + bound > highest:
            best, highest = child, child_value(tree, g, child) + bound
        child = move.sibling
    return best
