"""The group `hydra/sweeper/sampler`: the settings of Optuna's samplers. Nothing heavy is imported here.

Hydra's own plugin has the same names and defaults. `optuna.samplers` documents what each sampler does.
"""

from dataclasses import dataclass
from typing import Any

from hexlit.settings import one_of


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
