"""Settings of the tree search."""

from dataclasses import dataclass, field
from math import inf

from hexlit.choices import check_words, one_of
from hexlit.errors import UsageError

ALGORITHMS = ("gumbel", "puct")

MOST_SIMULATIONS = 32767
"""Simulations of a move are recorded in 16 bits."""

MOST_LEAVES = 1024
"""More could hardly be kept apart in one tree."""


@dataclass
class GumbelConfig:
    """Gumbel AlphaZero (Danihelka et al. 2022, "Policy improvement by planning with Gumbel")."""

    considered: int = 16
    """Most root moves that enter sequential halving."""
    value_scale: float = 0.1
    """c_scale of the paper: weight of the completed Q values beside the logits."""
    visit_offset: float = 50.0
    """c_visit of the paper: visits added to those of the most visited move in that weight."""
    rescale: bool = False
    """Scale the Q values of a node to [0, 1] by their own minimum and maximum, for games with an unknown range. False
    scales by the fixed range [-1, 1], so that equal values stay equal."""

    def __post_init__(self) -> None:
        if self.considered < 1:
            raise UsageError(f"search.gumbel.considered={self.considered}: at least 1 root move must be considered")
        if not (0 < self.value_scale < inf and 0 <= self.visit_offset < inf):
            raise UsageError(
                f"search.gumbel.value_scale={self.value_scale}, visit_offset={self.visit_offset}: "
                "the scale must be above 0, the offset 0 or more"
            )


@dataclass
class PuctConfig:
    """PUCT as in AlphaZero (Silver et al. 2018, "A general reinforcement learning algorithm ...")."""

    c_init: float = 1.25
    """Exploration constant at few visits."""
    c_base: float = 19652.0
    """Number of visits that make the exploration constant grow by log 2."""
    fpu_reduction: float = 0.2
    """An untried move counts as its parent's value less this, times the root of the prior mass tried already."""
    noise_share: float = 0.25
    """Share of Dirichlet noise in the root's priors during self-play."""
    noise_total: float = 10.0
    """Sum of the Dirichlet's parameters, spread evenly over the legal moves."""

    def __post_init__(self) -> None:
        if not (0 < self.c_init < inf and 0 < self.c_base < inf):
            raise UsageError(f"search.puct.c_init={self.c_init}, c_base={self.c_base}: both must be above 0")
        if not abs(self.fpu_reduction) < inf:
            raise UsageError(f"search.puct.fpu_reduction={self.fpu_reduction}: a finite number is needed")
        if not (0 <= self.noise_share < 1 and 0 < self.noise_total < inf):
            raise UsageError(
                f"search.puct.noise_share={self.noise_share}, noise_total={self.noise_total}: "
                "the share lies in [0, 1), the total above 0"
            )


@dataclass
class SearchConfig:
    """The search algorithm and its budget."""

    algorithm: str = one_of(ALGORITHMS, "gumbel")
    """Algorithm; its settings are the section of the same name."""
    simulations: int = 32
    """Simulations for a move that is searched in full: visits of the root's children in the end."""
    gumbel: GumbelConfig = field(default_factory=GumbelConfig)
    puct: PuctConfig = field(default_factory=PuctConfig)
    leaves: int = 1
    """Most leaves of one tree that are evaluated together; virtual loss keeps them apart."""
    root_batch: bool = False
    """Only leaves under different root moves are evaluated together."""

    def __post_init__(self) -> None:
        check_words(self, "search")
        if not 1 <= self.simulations <= MOST_SIMULATIONS:
            raise UsageError(f"search.simulations={self.simulations}: a number from 1 to {MOST_SIMULATIONS} is needed")
        if not 1 <= self.leaves <= MOST_LEAVES:
            raise UsageError(f"search.leaves={self.leaves}: a number from 1 to {MOST_LEAVES} is needed")
        if self.root_batch and self.leaves == 1:
            raise UsageError(
                "search.root_batch=true: search.leaves=1 leaves nothing to batch; set it to the root moves that share "
                "a call of the evaluator"
            )
