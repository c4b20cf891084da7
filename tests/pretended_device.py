"""A device that this machine lacks, pretended on the CPU:
its tensors stay there, its own functions are stand-ins.
"""

from typing import Any

import pytest
import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.accelerators import MPSAccelerator
from torch import nn
from torch.overrides import TorchFunctionMode


class PretendedDevice(TorchFunctionMode):
    """While it is entered, this thread's calls of torch that name a device of `kind` work on the
    CPU.

    Attributes:
        moves: the device of each move of a module in training, in their order.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.moves: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.device:
            return func(*args, **(kwargs or {}))
        kwargs = {name: self.here(value) for name, value in (kwargs or {}).items()}
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
        return func(*map(self.here, args), **kwargs)

    def here(self, value: Any) -> Any:
        if isinstance(value, torch.device | str) and str(value).partition(":")[0] == self.kind:
            return torch.device("cpu")
        return value


class CloseEvent:
    """An event of mps as it behaves when the work between two of them is short."""

    def __init__(self, enable_timing: bool = False) -> None:
        pass

    def record(self) -> None:
        pass

    def elapsed_time(self, end: Any) -> float:
        raise RuntimeError("End event 2 was not recorded after start event 1")


def pretend_cuda(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stand-ins for the functions of `torch.cuda` that evaluation calls;
    returns what becomes current, in its order.
    """
    events: list[str] = []

    class Current:
        def __init__(self, device: torch.device) -> None:
            self.device = device

        def __enter__(self) -> None:
            events.append(f"enter {self.device}")

        def __exit__(self, *error: object) -> None:
            events.append(f"leave {self.device}")

    class Stream:
        def __init__(self, device: torch.device | None = None) -> None:
            self.device = device

        def __enter__(self) -> None:
            events.append(f"stream of {self.device}")

        def __exit__(self, *error: object) -> None:
            pass

        def wait_stream(self, other: Any) -> None:
            pass

        def synchronize(self) -> None:
            pass

    monkeypatch.setattr(torch.cuda, "device", Current)
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: stream)
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    return events


def pretend_mps(monkeypatch: pytest.MonkeyPatch) -> PretendedDevice:
    """Let this machine seem to have an Apple GPU; enter the result where it is used."""
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "is_built", lambda: True)
    monkeypatch.setattr("platform.processor", lambda: "arm")
    monkeypatch.setattr(MPSAccelerator, "is_available", staticmethod(lambda: True))
    monkeypatch.setattr(
        "lightning.fabric.accelerators.mps._get_all_available_mps_gpus", lambda: [0]
    )
    monkeypatch.setattr("torch.mps.event.Event", CloseEvent)
    stand_ins: dict[str, int | None] = {
        "synchronize": None,
        "empty_cache": None,
        "driver_allocated_memory": 2**20,
        "current_allocated_memory": 2**20,
        "recommended_max_memory": 2**33,
        "set_per_process_memory_fraction": None,
    }
    for name, value in stand_ins.items():
        monkeypatch.setattr(torch.mps, name, lambda *arguments, value=value: value)
    device = PretendedDevice("mps")

    def moved(function: Any, name: str | None) -> Any:
        def move(module: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
            where = kwargs.get("device", args[0] if args else None) if name is None else name
            if isinstance(module, LightningModule) and isinstance(where, str | torch.device):
                device.moves.append(str(where).partition(":")[0])
            result: nn.Module = function(module, *args, **kwargs)
            return result

        return move

    monkeypatch.setattr(nn.Module, "to", moved(nn.Module.to, None))
    monkeypatch.setattr(nn.Module, "cpu", moved(nn.Module.cpu, "cpu"))
    return device
