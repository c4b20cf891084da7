"""Samplers and pruners, built from the groups `hydra/sweeper/sampler` and `hydra/sweeper/pruner` in `conf/`.

Hydra's own plugin has the same names and defaults. `optuna.samplers` documents what each sampler does. Nothing heavy
is imported here.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, OmegaConf

from hexlit.errors import UsageError
from hexlit.tuning.space import grid_of

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial


def plain(config: Any) -> Any:
    """`config` as plain dicts, lists and values, interpolations resolved."""
    return OmegaConf.to_container(config, resolve=True) if OmegaConf.is_config(config) else config


def build_sampler(
    config: Any, space: Mapping[str, "BaseDistribution"], *, seed: int | None, trials_before: int = 0
) -> "BaseSampler":
    """The sampler that the node `config` describes, for the search `space`.

    `seed` is used where the node has none. A resumed study, with `trials_before` trials, gets new draws.

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
        return _grid_sampler(grid_of(dict(space)), settings.get("seed"))
    sampler: BaseSampler = _instantiate(settings, "sampler")
    return sampler


def _grid_sampler(grid: Mapping[str, list[Any]], seed: int | None) -> "BaseSampler":
    from optuna.samplers import GridSampler

    from hexlit.tuning.study import RETRY_OF, originals

    class PositionalGrid(GridSampler):
        """A grid shared by processes: a trial takes the first point that no trial before it has.

        The sweep watches for the end, since a sampler cannot stop a study that runs in other processes.
        """

        def before_trial(self, study: "Study", trial: "FrozenTrial") -> None:
            trials = study.get_trials(deepcopy=False)
            by_number = {one.number: one for one in trials}
            own = trial
            while RETRY_OF in own.user_attrs:
                own = by_number[own.user_attrs[RETRY_OF]]
            taken: set[int] = set()
            point = 0
            for one in originals(trials):
                if one.number <= own.number:
                    free = next((number for number in range(len(self._all_grids)) if number not in taken), 0)
                    point = one.system_attrs.get("grid_id", free)
                    taken.add(point)
            study._storage.set_trial_system_attr(trial._trial_id, "search_space", self._search_space)
            study._storage.set_trial_system_attr(trial._trial_id, "grid_id", point)

        def after_trial(self, *_: Any) -> None:
            """Do nothing."""

    return PositionalGrid(grid, seed=seed)


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
        raise UsageError(f"hydra.sweeper.{what}={node}: choose one of the group, hydra/sweeper/{what}=NAME")
    return node


def _instantiate(node: Mapping[str, Any], what: str) -> Any:
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate

    try:
        return instantiate(DictConfig(dict(node)))
    except InstantiationException as error:
        reason = str(error.__cause__ or error).splitlines()[0]
        raise UsageError(f"hydra.sweeper.{what}: {node['_target_']} cannot be made ({reason})") from error
