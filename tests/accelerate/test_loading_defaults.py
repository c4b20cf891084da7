"""A task's defaults for each device, the user's settings instead, and the lines of a run about them."""

import sys
from types import SimpleNamespace

import pytest
import torch

from hexlit.accelerate import precision, profile
from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.loaders import loading_lines
from hexlit.accelerate.profile import DeviceProfile, build_profile
from hexlit.errors import UsageError
from hexlit.tasks.classify.config import DEVICE_DEFAULTS

DEVICES = {"mps": torch.device("mps"), "cuda": torch.device("cuda:0"), "cpu": torch.device("cpu")}


def made(device: str, monkeypatch: pytest.MonkeyPatch, **fields: object) -> DeviceProfile:
    monkeypatch.setattr(profile, "choose_device", lambda requested, *rank, **how: DEVICES[device])
    monkeypatch.setattr(precision, "cpu_prefers_bf16", lambda: False)
    monkeypatch.setattr(precision, "cuda_has_bf16", lambda device: True)
    return build_profile(AcceleratorConfig(**fields), DEVICE_DEFAULTS)  # type: ignore[arg-type]


@pytest.mark.row("B2")
@pytest.mark.parametrize("device", DEVICES)
def test_an_override_wins_on_every_device(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = made(device, monkeypatch, train_batch=8, evaluation_batch=9, workers=1)
    assert (found.train_batch, found.evaluation_batch, found.workers) == (8, 9, 1)


@pytest.mark.row("B1")
def test_inside_a_notebook_there_are_no_workers_unless_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    assert made("mps", monkeypatch).workers == 0
    assert made("mps", monkeypatch, workers=3).workers == 3
    terminal = SimpleNamespace(get_ipython=lambda: SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", terminal)
    assert made("mps", monkeypatch).workers == 4


def test_persistent_workers_need_workers_those_of_the_task_included(monkeypatch: pytest.MonkeyPatch) -> None:
    assert made("mps", monkeypatch, persistent_workers=True).persistent_workers
    with pytest.raises(UsageError, match="accelerator.persistent_workers=true: there are no loading processes"):
        made("cpu", monkeypatch, persistent_workers=True)


@pytest.mark.row("B5")
def test_a_run_says_its_device_and_how_it_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\n".join(loading_lines(made("mps", monkeypatch))) == (
        "Device: mps\n"
        "DataLoader Configuration for MPS:\n"
        "  Training Batch Size: 64\n"
        "  Evaluation Batch Size: 64\n"
        "  Number of Workers: 4\n"
        "  Pin Memory: False"
    )
    assert "  Pin Memory: True" in loading_lines(made("cuda", monkeypatch))
