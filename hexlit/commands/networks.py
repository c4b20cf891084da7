"""Networks for the players and judges of commands. torch is imported only when one is loaded."""

import logging
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.tasks.hex.packaged import fitting_network, largest_board

if TYPE_CHECKING:
    from hexlit.accelerate.profile import DeviceProfile
    from hexlit.arena.thinker import MakeEvaluator
    from hexlit.nets.evaluator import NetworkEvaluator
    from hexlit.tasks.hex.checkpoint import LoadedNetwork

log = logging.getLogger(__name__)


def applied_profile(accelerator: AcceleratorConfig) -> "DeviceProfile":
    """The profile of this machine's device, in force from now on."""
    from hexlit.accelerate.profile import build_profile

    profile = build_profile(accelerator)
    profile.apply()
    return profile


class Evaluators:
    """A network's evaluators on one board, by number of positions a call; each is built once."""

    def __init__(self, loaded: "LoadedNetwork", size: int, profile: "DeviceProfile") -> None:
        self.loaded = loaded
        self.size = size
        self.profile = profile
        self._built: dict[int, NetworkEvaluator] = {}

    def __call__(self, batch: int) -> "NetworkEvaluator":
        """The evaluator of `batch` positions a call."""
        from hexlit.nets.evaluator import NetworkEvaluator

        if batch not in self._built:
            self._built[batch] = NetworkEvaluator(
                self.loaded.net, size=self.size, swap=self.loaded.swap, batch=batch, profile=self.profile
            )
        return self._built[batch]


def load_evaluators(
    sources: Iterable[str], accelerator: AcceleratorConfig, *, board: int | None
) -> dict[str, Evaluators]:
    """The networks of `sources`, loaded once each; `board` None is the board of the first one.

    Raises:
        UsageError: the accelerator does not support its settings, or a checkpoint cannot be read.
    """
    from hexlit.tasks.hex.checkpoint import load_network

    profile = applied_profile(accelerator)
    loaded = {source: load_network(source) for source in dict.fromkeys(sources)}
    size = board or next(iter(loaded.values())).size
    return {source: Evaluators(network, size, profile) for source, network in loaded.items()}


class NetworkJudge(NamedTuple):
    """A network for players who move one game at a time, or several for boards of different sizes."""

    make_evaluator: "MakeEvaluator"
    size: int
    """Rows of the board that suits it best."""
    knows_swap: Callable[[int], bool]
    """Rows of the board -> whether the network for it was trained with the swap rule."""


def network_judge(checkpoint: str | None, board: int, accelerator: AcceleratorConfig) -> NetworkJudge:
    """The network of `checkpoint` for every board; None is the packaged network that fits each, `board` rows first.

    Raises:
        UsageError: the checkpoint cannot be read.
    """
    from hexlit.nets.evaluator import NetworkEvaluator
    from hexlit.tasks.hex.checkpoint import load_network

    profile, loaded = applied_profile(accelerator), cache(load_network)

    @cache  # so that the warning comes once for a board
    def network_for(rows: int) -> "LoadedNetwork":
        name = checkpoint or fitting_network(rows)
        assert name is not None, "the caller has looked"
        if checkpoint is None and rows > largest_board(name):
            log.warning("%s plays on %d rows; it is meant for boards of up to %d", name, rows, largest_board(name))
        return loaded(name)

    def make(size: int, swap: bool, batch: int) -> NetworkEvaluator:
        return NetworkEvaluator(network_for(size).net, size=size, swap=swap, batch=batch, profile=profile)

    size = board if checkpoint is None else network_for(board).size
    network_for(size)
    return NetworkJudge(make, size, lambda rows: network_for(rows).swap)
