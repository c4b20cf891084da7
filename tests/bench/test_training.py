"""Training steps, batch sizes, loaders and devices, measured on a network of seconds."""

import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import Dataset

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import DeviceProfile, build_profile
from hexlit.bench import forward, training
from hexlit.bench.config import BenchConfig
from hexlit.bench.forward import Way, measure_forward, measure_ways, ways_at
from hexlit.bench.measure import Measurement, Subject
from hexlit.bench.training import (
    advice,
    batches_of,
    best_batch,
    compare_devices,
    loss_after,
    measure_batches,
    measure_window,
    window_batches,
)
from hexlit.errors import UsageError
from hexlit.nets.config import NetConfig
from hexlit.nets.tower import HexNet, build_net
from hexlit.reporting.bench import grid_of
from hexlit.search.config import SearchConfig
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.tasks.hex.epoch_data import EpochDataset, PositionBatch
from hexlit.tasks.hex.module import HexModule
from hexlit.training.config import OptimizerConfig

SIZE = 3
CONFIG = BenchConfig(
    board=SIZE,
    repeats=2,
    seconds=0.01,
    compiled=False,
    optimizer=OptimizerConfig(warmup_steps=0),
    search=SearchConfig(simulations=8),
    selfplay=SelfPlayConfig(workers=0),
)


@pytest.fixture
def net() -> HexNet:
    torch.manual_seed(0)
    return build_net(
        NetConfig(channels=8, blocks=[1], policy_channels=4, value_channels=4, value_hidden=8)
    )


@pytest.fixture
def profile() -> DeviceProfile:
    fields: dict[str, Any] = {"precision": "32-true", "train_batch": 16, "evaluation_batch": 8}
    return build_profile(AcceleratorConfig(device="cpu", threads=2, **fields))


@pytest.fixture
def subject(net: HexNet, profile: DeviceProfile) -> Subject:
    return Subject(net, CONFIG, profile)


def line(rate: float | None, precision: str = "32-true", **fields: Any) -> Measurement:
    return Measurement(
        "training 6x64", "positions/s", "cpu", 2, precision, rate, rate, rate, 0.1, **fields
    )


def full_above(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that holds `limit` positions at once."""
    forward = HexModule.output

    def output(module: HexModule, batch: PositionBatch) -> Any:
        if len(batch[0]) > limit:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(module, batch)

    monkeypatch.setattr(HexModule, "output", output)


def test_the_search_for_a_batch_survives_full_memory(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Larger batches than the first that does not fit are not tried."""
    full_above(16, monkeypatch)
    monkeypatch.setattr(training, "SIZES", (8, 16, 32, 64))
    found = measure_batches(subject)
    assert [one.fits for one in found.lines] == [True, True, False]
    assert re.fullmatch(r"batch (8|16) is the smallest within 5% .*", found.findings[0])


def test_the_smallest_batch_within_5_percent_of_the_best_is_taken() -> None:
    """Unless it takes more memory than there may be, or does not fit."""
    rates = {
        32: line(50.0),
        64: line(96.0),
        128: line(100.0),
        256: line(99.0),
        512: line(200.0, fits=False),
    }
    assert best_batch(rates, None) == 64
    rates[64] = line(94.9)
    assert best_batch(rates, None) == 128
    rates[128] = line(100.0, peak_bytes=3 * 2**30)
    assert best_batch(rates, 2.0) == 64
    with pytest.raises(UsageError, match="what=batch: memory holds none of the batches 32, 64"):
        best_batch({32: line(None), 64: line(9.0, fits=False)}, None)


class Slowed(Dataset[Any]):
    """A data set whose batches take half a second longer."""

    def __init__(self, data: EpochDataset) -> None:
        self.data = data

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.5)
        return self.data[index]


@pytest.mark.slow  # a loader that is slow takes its time
def test_a_slow_loader_flips_the_verdict(profile: DeviceProfile) -> None:
    """By a network that has much to compute."""
    net = build_net(NetConfig(channels=64, blocks=[4]))
    many = Subject(net, CONFIG, replace(profile, train_batch=256))
    quick = measure_window(many, window_batches(many))
    slow = measure_window(many, Slowed(window_batches(many, steps=8)))
    assert quick.load_share is not None
    assert slow.load_share is not None
    assert slow.load_share > quick.load_share
    assert quick.detail.startswith("compute-bound")
    assert slow.detail.startswith("loader-bound")


def test_advice_is_given_where_mixed_precision_does_not_help_or_compiling_does() -> None:
    assert (
        advice([line(100.0), line(150.0, "bf16-mixed"), line(160.0, "bf16-mixed compiled")]) == []
    )
    (slower,) = advice([line(100.0), line(80.0, "bf16-mixed")])
    assert "accelerator.precision=32-true" in slower
    (compiled,) = advice([line(100.0), line(150.0, "16-mixed"), line(300.0, "16-mixed compiled")])
    assert "accelerator.compile=true" in compiled


def test_two_devices_do_the_same_work(subject: Subject) -> None:
    """The cpu stands in for the other device, so their losses are equal."""
    profile = subject.profile
    found = compare_devices(subject, [profile, replace(profile, train_batch=profile.train_batch)])
    assert [re.sub(r"[\d.]+", "N", said) for said in found.findings[:2]] == [
        f"{kind}: cpu at N times the rate of the cpu" for kind in ("forward", "training")
    ]
    assert found.findings[2] == found.findings[3]
    alone = compare_devices(subject, [profile])
    assert "no accelerator" in alone.findings[-1]


def test_the_compared_loss_depends_on_the_weights_and_the_batches_only(subject: Subject) -> None:
    found = [loss_after(subject, subject.profile, batches_of(SIZE, 16)) for _ in range(2)]
    assert found[0] == found[1]
    assert loss_after(subject, subject.profile, batches_of(SIZE, 32)) != found[0]
    assert len(batches_of(SIZE, 4)) == training.BATCHES


def test_forward_lines_say_how_near_they_are_to_the_fastest_and_to_float32(
    subject: Subject,
) -> None:
    without_fused = replace(subject, net=build_net(replace(subject.net.config, activation="silu")))
    ways = [Way("eager", torch.float32), Way("fused", torch.float32)]
    plain, missing = measure_ways(without_fused, ways, 8)
    assert plain.median is not None
    assert plain.detail.startswith("100% of the fastest; same move 100.0%")
    assert missing.median is None
    assert missing.detail.startswith("not here: eager float32 takes its place")
    assert plain.batch == 8
    assert plain.refresh_milliseconds is not None


def test_every_backend_has_a_row_and_an_absent_one_its_reason(
    subject: Subject, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(forward, "BATCHES", (1, 4))
    monkeypatch.setattr(forward, "JUDGED_CALLS", 1)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        found = measure_forward(replace(subject, profile=replace(subject.profile, threads=1)))
    finally:
        torch.set_num_threads(before)
    lines, grid = found.lines, grid_of(found.lines)
    assert grid is not None
    paths = ("eager", "fused", "winograd")
    assert [row[0] for row in grid.rows] == [
        f"{path} {dtype}" for dtype in ("float32", "bfloat16") for path in paths
    ]
    assert [column.heading for column in grid.columns] == [
        "backend",
        "batch 1",
        "batch 4",
        "refresh, ms",
        "",
    ]
    assert {line.batch for line in lines} == {1, 4}
    absent = {line.precision: line.detail for line in lines if line.median is None}
    assert absent["winograd bfloat16"]
    assert {len(row) for row in grid.rows} == {5}
    assert all(
        sentence.startswith("accelerator.inference=auto takes ") for sentence in found.findings
    )
    assert "batch 1" in found.findings[0]


def test_only_the_smallest_and_the_largest_batch_are_compiled() -> None:
    ways = [Way("eager", torch.float32), Way("compile", torch.float32)]
    for batch, compiled in ((1, ways), (8, ways[:1]), (64, ways)):
        assert ways_at(batch, (1, 8, 64), ways, compiled=True) == compiled
    assert ways_at(64, (1, 8, 64), ways, compiled=False) == ways[:1]
