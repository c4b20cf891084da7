"""Samplers and pruners: the settings of the group `hydra/sweeper/sampler`, and how both are built.

Hydra's own plugin has the same names and defaults. `optuna.samplers` documents what each sampler does. Nothing heavy
is imported here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, OmegaConf

from hexlit.errors import UsageError
from hexlit.settings import one_of
from hexlit.tuning.space import grid_of

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial

_NO_LONGER = ("consider_prior", "prior_weight", "consider_magic_clip", "consider_endpoints", "n_ehvi_candidates")
"""Settings that Hydra's plugin has and today's samplers decide themselves."""


@dataclass
class TPE:
    """Tree-structured Parzen estimator (Bergstra et al. 2011), for one objective or several."""

    _target_: str = "optuna.samplers.TPESampler"
    seed: int | None = None
    """Seed of the draws. Null: the `seed` of the run."""
    consider_prior: bool | None = None
    """Without effect: the sampler decides. Hydra's own plugin has it."""
    prior_weight: float | None = None
    """Without effect, as `consider_prior`."""
    consider_magic_clip: bool | None = None
    """Without effect, as `consider_prior`."""
    consider_endpoints: bool | None = None
    """Without effect, as `consider_prior`."""
    n_startup_trials: int = 10
    """Trials with random settings before the estimator begins."""
    n_ei_candidates: int = 24
    """Candidates of each choice; the one with the largest expected improvement is taken."""
    multivariate: bool | None = None
    """Whether parameters are drawn together, with their dependencies. Null: only with a single objective."""
    group: bool | None = None
    """Whether parameters that occur together are drawn together, where trials differ in their parameters. It needs
    `multivariate=true`. Null: no."""
    constant_liar: bool | None = None
    """Whether to keep away from the settings of the trials that still run. Null: yes."""
    warn_independent_sampling: bool | None = None
    """Whether a parameter that is drawn by itself gets a warning. Null: yes."""


@dataclass
class MultiObjectiveTPE(TPE):
    """The older name of TPE for several objectives."""

    n_ehvi_candidates: int | None = None
    """Without effect, as `consider_prior`."""


@dataclass
class RandomSearch:
    """Independent uniform draws."""

    _target_: str = "optuna.samplers.RandomSampler"
    seed: int | None = None
    """Seed of the draws. Null: the `seed` of the run."""


@dataclass
class CMAES:
    """Covariance matrix adaptation (Hansen 2016), for numbers."""

    _target_: str = "optuna.samplers.CmaEsSampler"
    seed: int | None = None
    """Seed of the draws. Null: the `seed` of the run."""
    x0: dict[str, Any] | None = None
    """Settings to start from. Null: the middle of every range."""
    sigma0: float | None = None
    """Standard deviation at the start. Null: a sixth of the smallest range."""
    n_startup_trials: int | None = None
    """Trials by the independent sampler before the adaptation begins. Null: 1."""
    independent_sampler: Any = None
    """Sampler of words and other parameters that are no numbers, by `_target_`. Null: random draws."""
    warn_independent_sampling: bool | None = None
    """Whether a parameter of the independent sampler gets a warning. Null: yes."""
    consider_pruned_trials: bool | None = None
    """Whether pruned trials count too, by their last value. It suits hyperband, and not median. Null: no."""
    restart_strategy: Any = None
    """Without effect: today's Optuna never restarts."""
    popsize: int | None = None
    """Trials of a generation. Null: by the number of parameters."""
    inc_popsize: int | None = None
    """Without effect, as `restart_strategy`."""
    use_separable_cma: bool | None = None
    """Whether the covariance matrix is diagonal: fewer trials suffice, but dependencies are not learned. Null: no."""
    with_margin: bool | None = None
    """Whether a margin keeps whole numbers and steps from settling on a single value. Null: no."""
    lr_adapt: bool | None = None
    """Whether the learning rate adapts, for noisy objectives or several optima. Null: no."""
    source_trials: Any = None
    """Trials of a similar study to start from; a Python program may give them. Null: none."""


@dataclass
class NSGAII:
    """Genetic search for several objectives (Deb et al. 2002)."""

    _target_: str = "optuna.samplers.NSGAIISampler"
    seed: int | None = None
    """Seed of the draws. Null: the `seed` of the run."""
    population_size: int = 50
    """Trials of a generation."""
    mutation_prob: float | None = None
    """Chance that a parameter is drawn again instead of inherited. Null: 1 / number of parameters."""
    crossover: Any = None
    """Way of mixing the numbers of two parents, a class of `optuna.samplers.nsgaii` by `_target_`. Null: uniform."""
    crossover_prob: float = 0.9
    """Chance that a trial mixes two parents; otherwise it begins as a copy of one."""
    swapping_prob: float = 0.5
    """Chance that a parameter comes from the second parent."""
    constraints_func: Any = None
    """Function of a trial that says how far it breaks each constraint; a Python program may give it. Null: none."""


@dataclass
class NSGAIII(NSGAII):
    """Genetic search for many objectives (Deb and Jain 2014)."""

    _target_: str = "optuna.samplers.NSGAIIISampler"
    dividing_parameter: int = 3
    """Parts that each axis of the objectives is divided into; reference points lie on this grid."""


@dataclass
class QMC:
    """A quasi-random sequence, which covers a space more evenly than random draws (Sobol or Halton)."""

    _target_: str = "optuna.samplers.QMCSampler"
    seed: int | None = None
    """Seed of the scrambling. Null: the `seed` of the run."""
    qmc_type: str = one_of(("sobol", "halton"), "sobol")
    """Sequence. Sobol's covers the space best with 2, 4, 8, 16, ... trials."""
    scramble: bool = True
    """Whether the sequence is randomised."""
    independent_sampler: Any = None
    """Sampler of the first trial and of words, by `_target_`. Null: random draws."""
    warn_asynchronous_seeding: bool = False
    """Whether scrambling without a seed gets a warning."""
    warn_independent_sampling: bool | None = None
    """Whether a parameter of the independent sampler gets a warning. Null: yes."""


@dataclass
class GaussianProcess:
    """Bayesian optimisation with a Gaussian process, for few and expensive trials."""

    _target_: str = "optuna.samplers.GPSampler"
    seed: int | None = None
    """Seed of the draws. Null: the `seed` of the run."""
    n_startup_trials: int = 10
    """Trials by the independent sampler before the process is fitted."""
    deterministic_objective: bool = False
    """Whether the objective has no noise."""
    independent_sampler: Any = None
    """Sampler of the first trials, and of parameters that not all trials have, by `_target_`. Null: random draws."""
    warn_independent_sampling: bool | None = None
    """Whether a parameter of the independent sampler gets a warning. Null: yes."""


@dataclass
class Grid:
    """Every combination of the discrete parameters, once."""

    _target_: str = "optuna.samplers.GridSampler"
    _partial_: bool = True
    seed: int | None = None
    """Seed of the order. Null: the `seed` of the run."""


SAMPLERS = {
    "tpe": TPE,
    "motpe": MultiObjectiveTPE,
    "random": RandomSearch,
    "cmaes": CMAES,
    "nsgaii": NSGAII,
    "nsgaiii": NSGAIII,
    "qmc": QMC,
    "gp": GaussianProcess,
    "grid": Grid,
}
"""Entries of the group `hydra/sweeper/sampler`."""


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
    settings = {name: value for name, value in node.items() if value is not None and name not in _NO_LONGER}
    start = node.get("seed") if node.get("seed") is not None else seed
    if "seed" in node and start is not None:
        # These keep their place in their sequence, which depends on the seed, in the study.
        goes_on = node["_target_"].endswith((".QMCSampler", ".GridSampler"))
        settings["seed"] = start if goes_on else (start + trials_before) % 2**32
    if node["_target_"] == Grid._target_:
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
