"""The rule of a search, called from compiled code.

Kernels take the rule's settings as an argument. Its type is the class `Rule` of the rule's module
(see `hexlit.search.rules`), so each rule has machine code of its own, in which its functions are
compiled into the kernel: nothing is looked up while a search runs.
"""

import importlib
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from numba.core import types
from numba.extending import overload

from hexlit.errors import UsageError
from hexlit.hex.arrays import FloatArray
from hexlit.hex.jit import IN_KERNELS, inline, uncounted_device_function
from hexlit.search.config import ALGORITHMS, SearchConfig
from hexlit.search.tree import NONE, Params, Tree, add_child
from hexlit.settings import SEARCH_GROUP, check_word, loaded

F = TypeVar("F", bound=Callable[..., Any])


PARTS = ("Config", "Rule", "compiled", "choose", "root_result", "DRAWS_MOVE")
"""Names that the module of a rule of another package has."""


def rule_module(name: str) -> Any:
    """The module of the rule `name`, of hexlit or of another package.

    Raises:
        UsageError: no installed package brings the rule, or its module lacks a part.
    """
    if name in ALGORITHMS:
        return importlib.import_module(f"hexlit.search.rules.{name}")
    check_word("search.algorithm", name, ALGORITHMS, SEARCH_GROUP)
    module = loaded(SEARCH_GROUP, name, "search.algorithm")
    missing = [part for part in PARTS if not hasattr(module, part)]
    if missing:
        raise UsageError(f"search.algorithm={name}: its module has no {', '.join(missing)}")
    return module


def compiled_params(config: SearchConfig, *, budgets: tuple[int, ...], swap: bool) -> Params:
    """The settings of `config`, for searches of `budgets` simulations and games with or without the
    swap rule.

    A search names its budget by the index in `budgets`, see `schedule` in
    `hexlit.search.tree.GAME`.

    Raises:
        UsageError: as `rule_module`.
    """
    name = config.algorithm
    module = rule_module(name)
    # A configuration made for another rule has no settings of one from another package.
    settings = getattr(config, name) if hasattr(config, name) else getattr(module.Config(), name)
    # Numba names machine code by the names of types. Rules with fields alike, loaded from disk into
    # one process, would otherwise share the code of the first.
    module.Rule.__name__ = f"Rule of {name}"
    rule = module.compiled(settings, budgets)
    return Params(rule, root_batch=config.root_batch, swap=swap, draws_move=module.DRAWS_MOVE)


def plans_ahead(params: Params) -> bool:
    """Whether the root's visits follow a plan for a known number of simulations."""
    return hasattr(_module_of(type(params.rule)), "with_budget")


def with_budget(params: Params, simulations: int) -> Params:
    """`params` for searches whose one budget is `simulations`."""
    rule = _module_of(type(params.rule)).with_budget(params.rule, simulations)
    return params._replace(rule=rule)


def _module_of(rule: type) -> Any:
    return sys.modules[rule.__module__]


def _of_rule(stub: F) -> F:
    """Compile calls of `stub` as calls of the rule's function of that name.

    The rule is the last argument. Where its module has no such function, `stub` itself is compiled.
    """

    def function(*arguments: types.Type) -> Callable[..., Any]:
        rule: Any = arguments[-1]
        module = _module_of(rule.instance_class)
        found = getattr(module, stub.__name__, stub)
        return getattr(found, "py_func", found)  # of a compiled one

    overload(stub, jit_options=IN_KERNELS, strict=False)(function)
    return stub


@_of_rule
def choose(tree: Tree, g: int, node: int, rule: Any) -> int:
    """Child of `node` to go to; NONE for the best action not tried yet."""
    raise NotImplementedError


@_of_rule
def prepare_root(tree: Tree, g: int, rule: Any) -> None:
    """Write scores or noise at a fresh root, before any action is tried."""


@_of_rule
def root_result(tree: Tree, g: int, policy: FloatArray, rule: Any) -> int:
    """Write the policy of the search into `policy` `[A]`, in the mover's frame; returns its best
    action.
    """
    raise NotImplementedError


@_of_rule
def needs_all_values(tree: Tree, g: int, rule: Any) -> bool:
    """Whether the next choice at the root must wait for the values of all waiting leaves."""
    return False


@uncounted_device_function
def chosen_child(tree: Tree, g: int, node: int, params: Params) -> int:
    """Child of `node` to go to: a child tried before, or a new one for the best action not tried
    yet.
    """
    child = choose(tree, g, node, params.rule)
    if child == NONE:
        action = tree.node[g, node].next_action
        if action == NONE:
            raise UsageError(
                "search.algorithm: choose returned NONE at a node without an untried action (NaN?)"
            )
        return add_child(tree, g, node, action)
    return child


@inline
def store_root(tree: Tree, g: int, params: Params) -> None:
    """Store the priors of the root, before any action is tried, and add the noise of the search."""
    for action in range(tree.policy.shape[2]):
        tree.root_policy[g, action] = tree.policy[g, 0, action]
    prepare_root(tree, g, params.rule)
