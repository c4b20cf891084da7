"""Networks that judge for players who move one game at a time: one checkpoint, or the packaged networks by board."""

import logging
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.tasks.hex.packaged import fitting_network, largest_board

if TYPE_CHECKING:  # torch is imported only when a network is loaded
    from hexlit.accelerate.profile import DeviceProfile
    from hexlit.arena.thinker import MakeEvaluator
    from hexlit.nets.evaluator import NetworkEvaluator
    from hexlit.tasks.hex.checkpoint import LoadedNetwork

log = logging.getLogger(__name__)


class NetworkJudge(NamedTuple):
    """A network that is loaded, or several for boards of different sizes."""

    make_evaluator: "MakeEvaluator"
    size: int
    """Rows of the board that suits it best."""
    knows_swap: Callable[[int], bool]
    """Rows of the board -> whether the network for it was trained with the swap rule."""


def judge_by_network(checkpoint: str, accelerator: AcceleratorConfig, ahead: int | None) -> NetworkJudge:
    """The network of `checkpoint` for every board; its kernels for `ahead` positions a call are compiled at once.

    Raises:
        UsageError: the checkpoint cannot be read.
    """
    from hexlit.tasks.hex.checkpoint import load_network

    profile = _applied(accelerator)
    loaded = load_network(checkpoint)
    if ahead is not None:
        _compile_ahead(loaded, loaded.size, ahead, profile)
    return NetworkJudge(_maker(lambda size: loaded, profile), loaded.size, lambda size: loaded.swap)


def judge_by_packaged(size: int, accelerator: AcceleratorConfig, ahead: int | None) -> NetworkJudge:
    """For every board the packaged network that fits it; there has to be one.

    Args:
        size: rows of the first board.
        accelerator: the device and its settings.
        ahead: positions a call, to compile kernels for the first board at once; None compiles later.
    """
    from hexlit.tasks.hex.checkpoint import load_network

    profile = _applied(accelerator)
    loaded = cache(load_network)

    @cache  # so that the warning comes once for a board
    def network_for(rows: int) -> "LoadedNetwork":
        name = fitting_network(rows)
        assert name is not None, "the caller has looked"
        if rows > largest_board(name):
            log.warning("%s plays on %d rows; it is meant for boards of up to %d", name, rows, largest_board(name))
        return loaded(name)

    first = network_for(size)
    if ahead is not None:
        _compile_ahead(first, size, ahead, profile)
    return NetworkJudge(_maker(network_for, profile), size, lambda rows: network_for(rows).swap)


def _applied(accelerator: AcceleratorConfig) -> "DeviceProfile":
    from hexlit.accelerate.profile import build_profile

    profile = build_profile(accelerator)
    profile.apply()
    return profile


def _compile_ahead(loaded: "LoadedNetwork", size: int, batch: int, profile: "DeviceProfile") -> None:
    from hexlit.nets.choice import compile_ahead

    compile_ahead(loaded.net, size, batch, profile)


def _maker(network_for: "Callable[[int], LoadedNetwork]", profile: "DeviceProfile") -> "MakeEvaluator":
    from hexlit.nets.evaluator import NetworkEvaluator

    def make(size: int, swap: bool, batch: int) -> "NetworkEvaluator":
        return NetworkEvaluator(network_for(size).net, size=size, swap=swap, batch=batch, profile=profile)

    return make
