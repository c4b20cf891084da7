"""A network from the settings and the weights that a file keeps."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from hexlit.nets.config import BLOCKS, NetConfig
from hexlit.nets.outside_blocks import BlockError, require_package
from hexlit.nets.tower import HexNet, build_net


def saved_net(settings: Mapping[str, Any], state: Mapping[str, Tensor]) -> HexNet:
    """The network of the `NetConfig` with `settings`, in evaluation mode, with the weights `state` of play.

    Raises:
        BlockError: the package of its block is missing, or has other weights by now.
        Exception: anything else where these are no settings and weights of a network.
    """
    own = settings.get("block", BLOCKS[0]) in BLOCKS
    if not own:
        require_package(settings["block"])
    net = build_net(NetConfig(**settings))
    try:
        net.load_state_dict(state)
    except RuntimeError as error:
        if own:
            raise
        raise BlockError(f"the installed block {settings['block']} has other weights than the file") from error
    return net.eval()
