"""The one place that tells Gumbel's search from PUCT: all others ask here.

An algorithm is a rule to choose a child, the preparation of a fresh root, and the result read at the root. The rules
themselves are in `gumbel.py` and `puct.py`.
"""

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.jit import inline, uncounted_device_function
from hexlit.search.config import SearchConfig
from hexlit.search.gumbel import draw_root_scores, gumbel_child, halving_action, halving_drops, halving_table
from hexlit.search.gumbel import improved_policy as gumbel_policy
from hexlit.search.puct import add_dirichlet_noise, puct_child, visit_policy
from hexlit.search.tree import NONE, Params, Tree, add_child


def compiled_params(config: SearchConfig, *, budgets: tuple[int, ...], swap: bool) -> Params:
    """The settings of `config`, for searches of `budgets` simulations and games with or without the swap rule.

    A search names its budget by the index in `budgets`, see `schedule` in `hexlit.search.tree.GAME`.
    """
    gumbel, puct = config.gumbel, config.puct
    return Params(
        gumbel=config.algorithm == "gumbel",
        considered=gumbel.considered,
        value_scale=float(gumbel.value_scale),
        visit_offset=float(gumbel.visit_offset),
        rescale=gumbel.rescale,
        c_init=float(puct.c_init),
        c_base=float(puct.c_base),
        fpu_reduction=float(puct.fpu_reduction),
        noise_share=float(puct.noise_share),
        noise_total=float(puct.noise_total),
        swap=swap,
        schedule=halving_table(gumbel.considered, budgets),
    )


def with_budget(params: Params, simulations: int) -> Params:
    """`params` for searches whose one budget is `simulations`."""
    return params._replace(schedule=halving_table(params.considered, (simulations,)))


def plans_ahead(params: Params) -> bool:
    """Whether the root's visits follow a plan for a known number of simulations."""
    return params.gumbel


@uncounted_device_function
def choose(tree: Tree, g: int, node: int, params: Params) -> int:
    """Child of `node` to go to: a child tried before, or a new one for the best action not tried yet."""
    if not params.gumbel:
        child = puct_child(tree, g, node, params)
    elif node != 0 or tree.game[g].schedule == NONE:
        child = gumbel_child(tree, g, node, params)
    else:
        action = halving_action(tree, g, params)
        if tree.policy[g, 0, action] > 0.0:
            return add_child(tree, g, 0, action)
        child = tree.node[g, 0].first_child
        while tree.node[g, child].action != action:
            child = tree.node[g, child].sibling
    if child == NONE:
        return add_child(tree, g, node, tree.node[g, node].next_action)
    return child


@inline
def needs_all_values(tree: Tree, g: int, params: Params) -> bool:
    """Whether the next choice at the root must wait for the values of all waiting leaves."""
    return bool(params.gumbel and halving_drops(tree, g, params))


@inline
def prepare_root(tree: Tree, g: int, params: Params) -> None:
    """Store the priors of the root, before any action is tried, and add the noise of the search."""
    for action in range(tree.policy.shape[2]):
        tree.root_policy[g, action] = tree.policy[g, 0, action]
    if params.gumbel:
        draw_root_scores(tree, g)
    elif params.noise_share * tree.game[g].noise > 0.0:
        add_dirichlet_noise(tree, g, params)


@inline
def root_result(tree: Tree, g: int, params: Params, policy: NDArray[np.float32]) -> int:
    """Write the policy of the search into `policy` `[A]`, in the mover's frame; returns its best action."""
    return gumbel_policy(tree, g, params, policy) if params.gumbel else visit_policy(tree, g, policy)


@inline
def leaves_draw_to_player(params: Params) -> bool:
    """Whether a player that explores must draw its move from the policy.

    In sequential halving the noise, scaled by the temperature, has made the draw already.
    """
    return not params.gumbel
