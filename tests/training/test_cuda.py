"""Training on a CUDA device: `pytest -m gpu`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.bench.config import BenchConfig
from hexlit.bench.measure import Subject
from hexlit.bench.training import batches_of, loss_after
from hexlit.nets.config import NetConfig
from hexlit.nets.evaluator import random_planes
from hexlit.nets.tower import build_net
from hexlit.tasks.hex.config import HexTrainConfig
from hexlit.tasks.hex.module import HexModule
from hexlit.training.config import OptimizerConfig
from hexlit.training.usage import StepClock
from tests.training.trainers import quiet_trainer

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
SIZE = 7
OPTIMIZER = OptimizerConfig(lr=0.01, warmup_steps=0, schedule="constant")


def fit(
    folder: Path, steps: int = 40, examples: int = 256, **fields: Any
) -> tuple[HexModule, Mapping[str, Any], float]:
    """A module after `steps` steps on a few batches,
    its row of steps.csv, and its loss in float32 on the CPU.
    """
    settings: dict[str, Any] = {"device": "cuda", "train_batch": examples}
    profile = build_profile(AcceleratorConfig(**settings | fields))
    profile.apply()
    torch.manual_seed(0)
    net = NetConfig(channels=32, blocks=[2])
    module = HexModule(HexTrainConfig(board=SIZE, net=net, optimizer=OPTIMIZER), profile)
    clock = module.clock = StepClock(folder / "steps.csv", profile.device)
    module.prepare()
    batches = batches_of(SIZE, examples)
    on_card: dict[str, Any] = {
        "accelerator": "gpu",
        "devices": profile.devices,
        "precision": profile.precision,
    }
    trainer = quiet_trainer(steps // len(batches), callbacks=[clock], **on_card)
    trainer.fit(module, DataLoader(batches, batch_size=None, pin_memory=profile.pin_memory))  # type: ignore[arg-type]
    module.to("cpu").eval()
    with torch.no_grad():
        loss = sum(
            float(module.losses(module.output(batch), batch)["loss"]) for batch in batches
        ) / len(batches)
    return module, clock.table.rows[-1], loss


def test_logits_of_cpu_and_cuda_agree_within_a_thousandth_in_float32() -> None:
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(0)
    net = build_net(NetConfig()).eval()
    planes = torch.from_numpy(random_planes(64, 11)).float()
    with torch.no_grad():
        expected, found = net(planes), net.to("cuda")(planes.to("cuda"))
    torch.testing.assert_close(found.policy_logits.cpu(), expected.policy_logits, atol=1e-3, rtol=0)
    torch.testing.assert_close(found.value_logit.cpu(), expected.value_logit, atol=1e-3, rtol=0)


def test_the_error_of_a_product_rises_with_tf32() -> None:
    generator = torch.Generator().manual_seed(0)
    left, right = (torch.randn(1000, 1000, generator=generator) for _ in range(2))
    expected = left.double() @ right.double()
    errors = []
    for matmul in ("highest", "high"):
        build_profile(AcceleratorConfig(device="cuda", matmul_precision=matmul)).apply()
        product = (left.to("cuda") @ right.to("cuda")).cpu().double()
        errors.append(float((product - expected).abs().max()))
    assert errors[1] > 5 * errors[0]


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_steps_as_graphs_end_as_steps_by_operators(tmp_path: Path, precision: str) -> None:
    """The same weights but for the order of sums."""
    ends = []
    for graphs in (True, False):
        module, _, loss = fit(tmp_path, precision=precision, graphs=graphs)
        ends.append(loss)
        assert int(module.skipped_steps) == 0
    assert ends[0] == pytest.approx(ends[1], rel=0.01)


def test_every_precision_ends_near_float32(tmp_path: Path) -> None:
    """Within 2% of the loss."""
    plain = fit(tmp_path, precision="32-true")[2]
    for precision in ("bf16-mixed", "16-mixed"):
        assert fit(tmp_path, precision=precision)[2] == pytest.approx(plain, rel=0.02)


def test_compiled_training_ends_near_plain_training(tmp_path: Path) -> None:
    plain = fit(tmp_path, precision="32-true")[2]
    assert fit(tmp_path, precision="32-true", compile=True)[2] == pytest.approx(plain, rel=0.02)


def test_an_epoch_has_transfer_time_peak_memory_and_parts_that_add_up(tmp_path: Path) -> None:
    """The parts are times of the device."""
    _, row, _ = fit(tmp_path)
    assert float(row["transfer_seconds"]) > 0
    assert int(row["peak_device_bytes"]) > 10**6
    parts = sum(
        float(row[f"{part}_seconds"])
        for part in ("load", "transfer", "forward", "loss", "backward", "update")
    )
    assert parts == pytest.approx(float(row["wall_seconds"]), rel=0.05)


def test_real_full_memory_halves_the_micro_batch(tmp_path: Path) -> None:
    """With a cap that the whole batch does not fit under.
    On Hopper cuBLAS takes 32 MiB of it for itself.
    """
    torch.cuda.empty_cache()
    try:
        module, row, _ = fit(tmp_path, steps=8, examples=4096, memory_cap=0.25, precision="32-true")
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert module.micro_batch < 4096
    assert float(row["examples"]) == 8 * 4096


def test_a_few_steps_on_cpu_and_cuda_come_to_the_same_loss() -> None:
    torch.manual_seed(0)
    net, config = (
        build_net(NetConfig(channels=32, blocks=[2])),
        BenchConfig(board=SIZE, optimizer=OPTIMIZER),
    )
    profiles = [
        build_profile(AcceleratorConfig(device=device, precision="32-true"))
        for device in ("cpu", "cuda")
    ]
    losses = [
        loss_after(Subject(net, config, profile), profile, batches_of(SIZE, 64))
        for profile in profiles
    ]
    assert losses[1] == pytest.approx(losses[0], rel=0.01)
