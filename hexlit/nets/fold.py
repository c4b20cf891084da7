"""A copy of the network that is only evaluated: batch norm folded away, in the number format of its device."""

import torch
from torch import Tensor, nn

from hexlit.nets.blocks import ConvNorm
from hexlit.nets.tower import HexNet, build_net, playing_state


def folded_twin(net: HexNet, device: torch.device, dtype: torch.dtype, channels_last: bool) -> HexNet:
    """A network on `device` in `dtype` that answers as `net` does in evaluation. `net` is not changed.

    It has no auxiliary heads.
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
    """Copy the current weights of `net` into its `twin`, in place, so that a captured or compiled twin stays valid."""
    twin.load_state_dict(_folded_state(net))


def _folded_state(net: HexNet) -> dict[str, Tensor]:
    state = {name: parameter.detach() for name, parameter in net.named_parameters()}
    for name, layer in net.named_modules():
        if isinstance(layer, ConvNorm):
            del state[f"{name}.norm.weight"], state[f"{name}.norm.bias"]
            state[f"{name}.conv.weight"], state[f"{name}.conv.bias"] = layer.folded()
    return playing_state(state)
