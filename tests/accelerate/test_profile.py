"""A run's settings on each device."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf

from hexlit.accelerate import device as device_module
from hexlit.accelerate import precision, profile
from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.precision import inference_dtype, training_precision
from hexlit.accelerate.profile import DeviceProfile, build_profile, every_profile, restored_settings
from hexlit.accelerate.ranks import Ranks, ranks
from hexlit.errors import UsageError
from hexlit.tasks.classify.config import DEVICE_DEFAULTS
from hexlit.training.distributed import device_arguments

CPU, CUDA, MPS = torch.device("cpu"), torch.device("cuda:0"), torch.device("mps")


def profile_on(
    device: torch.device, monkeypatch: pytest.MonkeyPatch, **fields: object
) -> DeviceProfile:
    monkeypatch.setattr(profile, "choose_device", lambda requested, *rank, **how: device)
    return build_profile(AcceleratorConfig(**fields))  # type: ignore[arg-type]


@pytest.fixture(params=[True, False], ids=["bf16", "no bf16"])
def has_bf16(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    found: bool = request.param
    monkeypatch.setattr(precision, "cpu_prefers_bf16", lambda: found)
    monkeypatch.setattr(precision, "cuda_has_bf16", lambda device: found)
    return found


@pytest.mark.parametrize(("device", "pins"), [(CPU, False), (MPS, False), (CUDA, True)])
def test_only_cuda_pins_memory(
    device: torch.device, pins: bool, has_bf16: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert profile_on(device, monkeypatch).pin_memory is pins


def test_auto_precision_follows_what_the_device_computes_in(has_bf16: bool) -> None:
    assert training_precision("auto", CPU) == ("bf16-mixed" if has_bf16 else "32-true")
    assert training_precision("auto", CUDA) == ("bf16-mixed" if has_bf16 else "16-mixed")
    assert training_precision("auto", MPS) == "32-true"
    assert inference_dtype("auto", CPU) == (torch.bfloat16 if has_bf16 else torch.float32)
    assert inference_dtype("auto", CUDA) == (torch.bfloat16 if has_bf16 else torch.float16)
    assert inference_dtype("auto", MPS) == torch.float32


def test_precision_that_the_device_lacks_is_refused_up_front(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(precision, "cuda_has_bf16", lambda device: False)
    with pytest.raises(UsageError, match="accelerator.precision=16-mixed: the cpu"):
        training_precision("16-mixed", CPU)
    with pytest.raises(UsageError, match="accelerator.precision=bf16-mixed: cuda:0 has no bf16"):
        training_precision("bf16-mixed", CUDA)
    with pytest.raises(UsageError, match="accelerator.inference_precision=fp16: the cpu"):
        inference_dtype("fp16", CPU)
    with pytest.raises(
        UsageError, match="accelerator.inference_precision=bf16: cuda:0 has no bf16"
    ):
        inference_dtype("bf16", CUDA)


@pytest.mark.parametrize(
    ("path", "device"), [("fused", CUDA), ("winograd", CUDA), ("graph", CPU), ("graph", MPS)]
)
def test_inference_path_of_another_device_is_refused(
    path: str, device: torch.device, has_bf16: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=f"accelerator.inference={path}: only"):
        profile_on(device, monkeypatch, inference=path)


@pytest.mark.parametrize("threads", [1, 2, 6, 64])
def test_processes_share_the_threads(
    threads: int, has_bf16: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = profile_on(CPU, monkeypatch, threads=threads)
    assert made.share(0) == made.share(1) == made
    assert made.share(2).threads == max(1, threads // 2)
    assert made.share(1000).threads == 1
    assert made.share(1, next_to_training=True).threads == max(1, threads - 1)
    assert made.share(8, next_to_training=True).threads == made.share(8).threads


@pytest.mark.parametrize(("seconds", "preferred"), [(2.0, False), (0.97, True), (0.5, True)])
def test_bf16_is_taken_where_a_product_is_as_fast_in_it(
    seconds: float, preferred: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AVX512-BF16 without AMX is slower than float32 on some processors:
    `auto` measures, and keeps to it.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(precision, "cpu_has_bf16", lambda: True)
    monkeypatch.setattr(precision, "seconds_of_formats", lambda: {"bf16": seconds, "fp32": 1.0})
    assert precision.cpu_prefers_bf16() is preferred
    monkeypatch.setattr(
        precision, "seconds_of_formats", lambda: {"bf16": 1.0, "fp32": 1.0 if preferred else 9.0}
    )
    assert precision.cpu_prefers_bf16() is preferred


def test_what_an_nvidia_card_gets_by_default(
    has_bf16: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older card trains in float16."""
    made = profile_on(CUDA, monkeypatch)
    precision = "bf16-mixed" if has_bf16 else "16-mixed"
    assert (made.device.type, made.precision, made.devices) == ("cuda", precision, [0])
    assert {made, replace(made)} == {made}  # the bench measures equal ones once
    assert (made.pin_memory, made.channels_last, made.compile, made.inference) == (
        True,
        True,
        False,
        "graph",
    )
    assert made.memory_cap is None


def test_a_cap_is_set_when_the_profile_is_applied(
    has_bf16: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    caps: list[tuple[torch.device, float]] = []
    monkeypatch.setattr(profile, "set_memory_cap", lambda device, gib: caps.append((device, gib)))
    current: list[torch.device] = []
    monkeypatch.setattr(torch.cuda, "set_device", current.append)
    threads = torch.get_num_threads()
    capped = profile_on(CUDA, monkeypatch, memory_cap=6.0, threads=threads)
    capped.apply()
    capped.with_memory_share(0.25).apply()  # a process that others share the device with
    profile_on(CUDA, monkeypatch, threads=threads).with_memory_share(0.5).apply()
    assert caps == [(CUDA, 6.0), (CUDA, 1.5)]
    assert current == [CUDA] * 3
    torch.backends.cudnn.benchmark = False
    with pytest.raises(UsageError, match=r"accelerator.memory_cap=6.0: only cuda and mps"):
        profile_on(CPU, monkeypatch, memory_cap=6.0)


def test_the_layout_that_mps_computes_wrongly_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(UsageError, match=r"^accelerator\.channels_last=true: mps computes wrong"):
        profile_on(MPS, monkeypatch, channels_last=True)
    assert profile_on(CPU, monkeypatch, channels_last=True).channels_last


@pytest.mark.parametrize("device", [CPU, CUDA, MPS], ids=str)
def test_the_config_of_a_device_says_what_auto_comes_to_there(
    device: torch.device, has_bf16: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`accelerator=auto` and the group of the device it finds are the same run."""
    conf = Path(__file__).parents[2] / "conf" / "accelerator"
    fields = OmegaConf.to_container(OmegaConf.load(conf / f"{device.type}.yaml"))
    assert isinstance(fields, dict)
    assert fields.pop("device") == device.type
    settings = {str(key): value for key, value in fields.items()}
    assert profile_on(device, monkeypatch, **settings) == profile_on(device, monkeypatch)


def test_a_rank_has_its_device_and_its_share_of_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in Ranks(1, 2, 1, 2).environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(profile, "usable_cores", lambda: 6)
    made = build_profile(AcceleratorConfig(device="cpu"))
    assert (made.devices, made.threads) == (2, 3)
    monkeypatch.setattr(precision, "cuda_has_bf16", lambda device: True)
    tried: list[torch.device] = []
    monkeypatch.setattr(device_module, "why_missing", lambda device: "")

    def trial_failure(device: torch.device) -> str:
        tried.append(device)
        return ""

    monkeypatch.setattr(device_module, "trial_failure", trial_failure)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    made = build_profile(AcceleratorConfig(device="cuda"))
    assert (made.device, made.devices) == (torch.device("cuda:1"), [0, 1])
    assert build_profile(AcceleratorConfig(device="auto")).device == torch.device("cuda:1")
    assert set(tried) == {torch.device("cuda:1")}, (
        "another card would hold a context of this process"
    )
    with pytest.raises(UsageError, match="accelerator.devices=4: 2 processes were started here"):
        build_profile(AcceleratorConfig(device="cpu", devices=4))


@pytest.mark.parametrize("rank", [0, 1])
def test_a_task_of_srun_takes_the_one_card_that_it_sees(
    rank: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`srun --gpus-per-task` shows each task its own card.
    Others share a machine, and one card is too few for two.
    """
    monkeypatch.setattr(precision, "cuda_has_bf16", lambda device: True)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(device_module, "trial_failure", lambda device: "")
    for name, number in {
        "SLURM_STEP_NUM_TASKS": 2,
        "SLURM_PROCID": rank,
        "SLURM_LOCALID": rank,
    }.items():
        monkeypatch.setenv(name, str(number))
    made = build_profile(AcceleratorConfig(device="cuda"))
    assert (made.device, made.devices) == (torch.device("cuda:0"), [0])
    arguments = device_arguments(made, ranks())
    assert (arguments["devices"], arguments["num_nodes"]) == ([0], 2)
    monkeypatch.delenv("SLURM_STEP_NUM_TASKS")
    for name, value in Ranks(1, 2, 1, 2).environment().items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=r"this machine has 1 CUDA device\(s\)"):
        build_profile(AcceleratorConfig(device="cuda"))


def test_every_type_of_device_has_a_profile_on_any_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    found = every_profile(AcceleratorConfig(), DEVICE_DEFAULTS)
    profiles = {kind: one for kind, (one, _) in found.items()}
    assert {kind: (one.train_batch, one.workers) for kind, one in profiles.items()} == {
        "mps": (64, 4),
        "cuda": (32, 2),
        "cpu": (16, 0),
    }
    assert {kind: one.device.type for kind, one in profiles.items()} == {
        kind: kind for kind in profiles
    }
    assert (profiles["cuda"].precision, profiles["mps"].precision) == ("bf16-mixed", "32-true")
    assert (profiles["cuda"].pin_memory, profiles["mps"].pin_memory) == (True, False)
    assert profiles["cpu"] == build_profile(AcceleratorConfig(device="cpu"), DEVICE_DEFAULTS)
    assert not found["cpu"][1]
    assert all(kind in found[kind][1] for kind in ("cuda", "mps"))


def settings() -> dict[str, object]:
    return {
        "threads": torch.get_num_threads(),
        "products": torch.get_float32_matmul_precision(),
        "convolutions": torch.backends.cudnn.allow_tf32,
        "benchmark": torch.backends.cudnn.benchmark,
        "fixed": torch.backends.cudnn.deterministic,
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }


def test_what_a_profile_sets_is_put_back_also_after_an_error() -> None:
    before = settings()
    chosen = AcceleratorConfig(
        device="cpu", threads=1, matmul_precision="medium", deterministic=True
    )

    def fail() -> None:
        with restored_settings():
            build_profile(chosen).apply()
            assert settings() != before
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert settings() == before
