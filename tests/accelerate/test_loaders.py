"""DataLoaders as a device profile asks for them."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.loaders import make_loader
from hexlit.accelerate.profile import DeviceProfile, build_profile
from hexlit.tasks.classify.config import DEVICE_DEFAULTS
from tests.accelerate.numbers import Numbers
from tests.accelerate.test_profile import CPU, CUDA, profile_on


def made(
    monkeypatch: pytest.MonkeyPatch, device: torch.device = CPU, **fields: Any
) -> DeviceProfile:
    monkeypatch.setattr("hexlit.accelerate.precision.cuda_has_bf16", lambda device: True)
    return profile_on(device, monkeypatch, **fields)


def test_nothing_is_prefetched_without_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch refuses a prefetch factor there."""
    loader = make_loader(Numbers(), made(monkeypatch, workers=0, prefetch=4))
    assert (loader.num_workers, loader.prefetch_factor, loader.persistent_workers) == (
        0,
        None,
        False,
    )


def test_processes_prefetch_persist_and_are_spawned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork would carry a live CUDA into the process."""
    loader = make_loader(Numbers(), made(monkeypatch, CUDA, workers=3))
    assert (loader.num_workers, loader.pin_memory) == (3, True)
    assert (loader.prefetch_factor, loader.persistent_workers) == (2, True)
    assert loader.multiprocessing_context.get_start_method() == "spawn"
    loader = make_loader(Numbers(), made(monkeypatch, CUDA, workers=1, prefetch=5))
    assert loader.prefetch_factor == 5


def test_samples_are_the_same_for_any_number_of_processes_which_live_on_between_epochs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And no process is left over."""
    found: dict[int, list[list[int]]] = {}
    for workers in (0, 2):
        loader = make_loader(
            Numbers(), made(monkeypatch, workers=workers), batch_size=4, shuffle=True
        )
        epochs = [torch.cat(list(loader)) for _ in range(2)]
        found[workers] = [epoch[:, 0].tolist() for epoch in epochs]
        pids = [set(epoch[:, 1].tolist()) for epoch in epochs]
        assert pids[0] == pids[1]
        assert (os.getpid() in pids[0]) == (workers == 0)
        del loader
    assert found[0] == found[2]
    assert found[0][0] != found[0][1]
    for pid in pids[0]:
        status = Path(f"/proc/{pid}/status")
        if status.parent.parent.exists():
            assert not status.exists() or "zombie" in status.read_text()


DEVICES = {"mps": torch.device("mps"), "cuda": CUDA, "cpu": CPU}


def defaults(device: str, monkeypatch: pytest.MonkeyPatch, **fields: Any) -> DeviceProfile:
    """The profile of the task of texts."""
    made(monkeypatch, DEVICES[device])
    monkeypatch.setattr("hexlit.accelerate.precision.cpu_prefers_bf16", lambda: False)
    return build_profile(AcceleratorConfig(**fields), DEVICE_DEFAULTS)


def test_inside_a_notebook_there_are_no_workers_unless_they_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    assert defaults("mps", monkeypatch).workers == 0
    assert defaults("mps", monkeypatch, workers=3).workers == 3
    terminal = SimpleNamespace(get_ipython=lambda: SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", terminal)
    assert defaults("mps", monkeypatch).workers == 4
