"""A copy of the network that is only evaluated: batch norm folded away, in the number format of its device."""

import torch
from torch import Tensor, nn

from hexlit.nets.blocks import ConvNorm
from hexlit.nets.tower import HexNet, build_net, playing_state


def folded_twin(net: HexNet, device: torch.device, dtype: torch.dtype, channels_last: bool) -> HexNet:
    """A network on `device` in `dtype` that answers as `net` does in evaluation. `net` is not changed.

    It has no auxiliary heads. Only batch norm of a `ConvNorm` is folded; that of another package's block stays.
    """
    twin = build_net(net.config).eval().requires_grad_(False)
    for layer in twin.modules():
        if isinstance(layer, ConvNorm):
            layer.conv.bias = nn.Parameter(torch.zeros(layer.conv.out_channels), requires_grad=False)
            layer.norm = nn.Identity()  # type: ignore[assignment]
    twin.to(device, dtype)
    if channels_last:
        twin.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    copy_folded(net, twin)
    return twin


def copy_folded(net: HexNet, twin: HexNet) -> None:
    """Copy the current weights and buffers of `net` into its `twin`.

    This is in place, so that a captured or compiled twin stays valid.
    """
    twin.load_state_dict(_folded_state(net))


def _folded_state(net: HexNet) -> dict[str, Tensor]:
    state: dict[str, Tensor] = net.state_dict()
    for name, layer in net.named_modules():
        if isinstance(layer, ConvNorm):
            for norms in layer.norm.state_dict():
                del state[f"{name}.norm.{norms}"]
            state[f"{name}.conv.weight"], state[f"{name}.conv.bias"] = layer.folded()
    return playing_state(state)
