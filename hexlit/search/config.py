"""Settings of the tree search."""

from dataclasses import dataclass, field

from hexlit.errors import UsageError
from hexlit.settings import SEARCH_GROUP, Settings, number, one_of

BOARDS = "[2, 19]"
"""Rows of the boards that networks and search take."""

ALGORITHMS = ("gumbel", "puct")

MOST_SIMULATIONS = 32767
"""Simulations of a move are recorded in 16 bits."""

MOST_LEAVES = 1024
"""More could hardly be kept apart in one tree."""


@dataclass
class GumbelConfig(Settings, section="search.gumbel"):
    """Gumbel AlphaZero (Danihelka et al. 2022, "Policy improvement by planning with Gumbel")."""

    considered: int = number(16, "[1, inf)")
    """Most root moves that enter sequential halving."""
    value_scale: float = number(0.2, "(0, inf)")
    """c_scale of the paper: weight of the completed Q values against the logits."""
    visit_offset: float = number(50.0, "[0, inf)")
    """c_visit of the paper: visits added to those of the most visited move in that weight."""
    rescale: bool = False
    """Scale the Q values of a node to [0, 1] by their own minimum and maximum, for games with an
    unknown range. False scales by the fixed range [-1, 1], so that equal values stay equal.
    """


@dataclass
class PuctConfig(Settings, section="search.puct"):
    """PUCT as in AlphaZero (Silver et al. 2018, "A general reinforcement learning algorithm ...")."""

    c_init: float = number(1.25, "(0, inf)")
    """Exploration constant at few visits."""
    c_base: float = number(19652.0, "(0, inf)")
    """Number of visits that make the exploration constant grow by log 2."""
    fpu_reduction: float = number(0.2, "(-inf, inf)")
    """An untried move counts as its parent's value less this, times the root of the prior mass
    tried already.
    """
    noise_share: float = number(0.25, "[0, 1)")
    """Share of Dirichlet noise in the root's priors during self-play, at temperature 1; in
    proportion at others.
    """
    noise_total: float = number(10.0, "(0, inf)")
    """Sum of the Dirichlet's parameters, spread evenly over the legal moves."""


@dataclass
class SearchConfig(Settings, section="search"):
    """The rule of the search and its budget."""

    algorithm: str = one_of(ALGORITHMS, "gumbel", group=SEARCH_GROUP)
    """Rule of the search; its settings are the section of the same name."""
    simulations: int = number(32, f"[1, {MOST_SIMULATIONS}]")
    """Simulations for a move that is searched in full: visits of the root's children in the end."""
    gumbel: GumbelConfig = field(default_factory=GumbelConfig)
    puct: PuctConfig = field(default_factory=PuctConfig)
    leaves: int = number(1, f"[1, {MOST_LEAVES}]")
    """Most leaves of one tree that are evaluated together; virtual loss keeps them apart."""
    root_batch: bool = False
    """Only leaves under different root moves are evaluated together."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.root_batch and self.leaves == 1:
            raise UsageError(
                "search.root_batch=true: search.leaves=1 leaves nothing to batch; set search.leaves"
            )
