"""A network that is recomputed for its gradients learns what it learns without, in less memory."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from hexlit.nets.config import NetConfig
from hexlit.nets.tower import HexNet, build_net
from tests.nets.test_tower import planes_of


def pair_of(**fields: object) -> tuple[HexNet, HexNet]:
    """The same network twice: plain, and with checkpointing."""
    torch.manual_seed(0)
    config = NetConfig(**{"channels": 16, "blocks": [2, 2]} | fields)  # type: ignore[arg-type]
    plain, checkpointed = build_net(config), build_net(config)
    for block in plain.blocks:
        nn.init.constant_(block.layers[-1].norm.weight, 0.5)  # type: ignore[union-attr, index]
    checkpointed.load_state_dict(plain.state_dict())
    checkpointed.checkpointing = True
    return plain, checkpointed


def step(net: HexNet, planes: Tensor, autocast: bool = False) -> None:
    """Forward and backward, with the same random draws whatever came before."""
    torch.manual_seed(1)
    with torch.autocast(planes.device.type, torch.bfloat16, enabled=autocast):
        output = net(planes)
    (output.policy_logits.float().square().mean() + output.value_logit.float().mean()).backward()


def assert_equal(plain: HexNet, checkpointed: HexNet, atol: float) -> None:
    for (name, one), other in zip(plain.named_parameters(), checkpointed.parameters(), strict=True):
        assert one.grad is not None
        assert other.grad is not None
        assert torch.allclose(one.grad, other.grad, rtol=0, atol=atol), name
    buffers = dict(checkpointed.named_buffers())
    for name, buffer in plain.named_buffers():
        assert torch.allclose(buffer, buffers.pop(name), rtol=0, atol=atol), name
    assert not buffers


@pytest.mark.parametrize(("autocast", "atol"), [(False, 1e-6), (True, 1e-3)])
@pytest.mark.parametrize(
    "fields", [{}, {"block": "bottleneck"}, {"attention": "self"}, {"norm": "boards"}], ids=str
)
def test_gradients_and_running_statistics_equal_those_of_the_plain_network(
    fields: dict[str, object], autocast: bool, atol: float
) -> None:
    plain, checkpointed = pair_of(**fields)
    for size in (3, 7):  # the second pass would add up what the first got wrong
        for net in (plain, checkpointed):
            step(net, planes_of(8, size), autocast)
    assert_equal(plain, checkpointed, atol)
    if "norm" not in fields:
        assert checkpointed.stem.norm.num_batches_tracked == 2


def test_dropout_within_a_block_and_in_the_heads_repeats() -> None:
    plain, checkpointed = pair_of(dropout=0.5)
    for net in (plain, checkpointed):
        for block in net.blocks:
            block.activation = nn.Sequential(nn.ReLU(), nn.Dropout(0.5))
        step(net, planes_of(8, 5))
    assert_equal(plain, checkpointed, 1e-6)


def test_compiled_network_has_the_gradients_of_the_plain_one() -> None:
    plain, checkpointed = pair_of()
    checkpointed.compile(backend="aot_eager")
    for net in (plain, checkpointed):
        step(net, planes_of(8, 5))
    assert_equal(plain, checkpointed, 1e-6)


def kept_bytes(net: nn.Module, forward: Callable[[], object]) -> int:
    """Bytes of storage that autograd keeps for the backward pass,
    weights and buffers not counted.
    """
    known = {tensor.untyped_storage().data_ptr() for tensor in [*net.parameters(), *net.buffers()]}
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = forward()
    del result
    return sum(kept.values())


@pytest.mark.parametrize(
    "fields", [{}, {"block": "bottleneck"}, {"attention": "se"}, {"attention": "self"}], ids=str
)
def test_far_fewer_activations_are_kept(fields: dict[str, object]) -> None:
    """On any backend, as it counts what autograd keeps."""
    plain, checkpointed = pair_of(blocks=[6], channels=64, **fields)
    planes = planes_of(8, 7)
    assert kept_bytes(checkpointed, lambda: checkpointed(planes)) < 0.4 * kept_bytes(
        plain, lambda: plain(planes)
    )


@pytest.mark.gpu
@pytest.mark.parametrize("attention", ["none", "self"])
def test_cuda_needs_less_memory_at_its_peak_for_equal_gradients(attention: str) -> None:
    plain, checkpointed = pair_of(blocks=[6], channels=64, attention=attention)
    planes = planes_of(256, 11).cuda()
    peaks = []
    with torch.backends.cudnn.flags(deterministic=True, allow_tf32=False):
        for net in (plain.cuda(), checkpointed.cuda()):
            step(net, planes)  # the libraries take their workspaces
            net.zero_grad()
            torch.cuda.synchronize()
            before = torch.cuda.memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            step(net, planes)
            torch.cuda.synchronize()
            peaks.append(torch.cuda.max_memory_allocated() - before)
    assert peaks[1] < 0.6 * peaks[0]
    assert_equal(plain, checkpointed, 1e-5)
