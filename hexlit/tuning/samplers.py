"""Samplers and pruners, built from the groups `hydra/sweeper/sampler` and `hydra/sweeper/pruner` in
`conf/`.

Hydra's plugin has the same names and defaults. `optuna.samplers` documents what each sampler
does. Nothing heavy is imported here.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, OmegaConf

from hexlit.errors import UsageError
from hexlit.tuning.space import grid_of

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler


def plain(config: Any) -> Any:
    """`config` as plain dicts, lists and values, interpolations resolved."""
    return OmegaConf.to_container(config, resolve=True) if OmegaConf.is_config(config) else config


def build_sampler(
    config: Any,
    space: Mapping[str, "BaseDistribution"],
    *,
    seed: int | None,
    trials_before: int = 0,
) -> "BaseSampler":
    """The sampler that the node `config` describes, for the search `space`.

    `seed` is used where the node has none. A resumed study, with `trials_before` trials, gets new
    draws.

    Raises:
        UsageError: it cannot be built; names the key and the reason.
    """
    node = dict(_node(config, "sampler"))
    node.pop("_partial_", None)
    settings = {name: value for name, value in node.items() if value is not None}
    start = node.get("seed") if node.get("seed") is not None else seed
    if "seed" in node and start is not None:
        # These keep their place in their sequence, which depends on the seed, in the study.
        goes_on = node["_target_"].endswith((".QMCSampler", ".GridSampler"))
        settings["seed"] = start if goes_on else (start + trials_before) % 2**32
    if node["_target_"].endswith(".GridSampler"):
        from hexlit.tuning.shared_trials import grid_sampler

        return grid_sampler(grid_of(space), settings.get("seed"))
    sampler: BaseSampler = _instantiate(settings, "sampler")
    return sampler


def build_pruner(config: Any) -> "BasePruner":
    """The pruner that the node `config` describes; one that never prunes for None or an empty node.

    Raises:
        UsageError: it cannot be built; names the key and the reason.
    """
    from optuna.pruners import NopPruner

    if not plain(config):
        return NopPruner()
    pruner: BasePruner = _instantiate(_node(config, "pruner"), "pruner")
    return pruner


def _node(config: Any, what: str) -> dict[str, Any]:
    node = plain(config)
    if not isinstance(node, dict) or not node.get("_target_"):
        raise UsageError(
            f"hydra.sweeper.{what}={node}: choose one of the group, hydra/sweeper/{what}=NAME"
        )
    return node


def _instantiate(node: Mapping[str, Any], what: str) -> Any:
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate

    try:
        return instantiate(DictConfig(dict(node)))
    except InstantiationException as error:
        reason = str(error.__cause__ or error).splitlines()[0]
        raise UsageError(
            f"hydra.sweeper.{what}: {node['_target_']} cannot be made ({reason})"
        ) from error
