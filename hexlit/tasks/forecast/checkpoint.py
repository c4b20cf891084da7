"""Reading a forecaster back from a checkpoint of Lightning."""

import zipfile
from dataclasses import dataclass
from pathlib import Path

import torch

from hexlit.errors import UsageError
from hexlit.tasks.forecast.config import ForecastNetConfig
from hexlit.tasks.forecast.nets import ForecastNet, WindowShape, build_net
from hexlit.tasks.forecast.spec import WindowSpec


@dataclass(frozen=True)
class LoadedForecaster:
    """A network in evaluation mode on the CPU, and what it has to know of its data."""

    net: ForecastNet
    spec: WindowSpec


def load_forecaster(path: Path, key: str = "checkpoint") -> LoadedForecaster:
    """The forecaster of the checkpoint `path`, its averaged weights where it has them.

    `path` may be the folder of a run: its best checkpoint, else its last. Messages call it by the setting `key`.

    Raises:
        UsageError: there is no such file, or it is no checkpoint of a forecaster.
    """
    if path.is_dir():
        kept = [path / "checkpoints" / name for name in ("best.ckpt", "last.ckpt")]
        found = [file for file in kept if file.is_file()]
        if not found:
            raise UsageError(f"{key}={path}: this folder has no checkpoints/best.ckpt or checkpoints/last.ckpt")
        path = found[0]
    if not path.is_file():
        raise UsageError(f"{key}={path}: there is no such file; a run keeps its own in checkpoints/last.ckpt")
    if not zipfile.is_zipfile(path):
        raise UsageError(f"{key}={path}: not a checkpoint of a forecaster (not an archive of torch)")
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        settings = saved["hyper_parameters"]
        spec = WindowSpec(**settings["spec"])
        net = build_net(ForecastNetConfig(**settings["net"]), WindowShape.of(spec))
        averaged = "average.module."
        prefix = averaged if any(name.startswith(averaged) for name in saved["state_dict"]) else "net."
        weights = {k.removeprefix(prefix): v for k, v in saved["state_dict"].items() if k.startswith(prefix)}
        net.load_state_dict(weights)
    except Exception as error:  # a broken file can make torch raise anything
        raise UsageError(f"{key}={path}: not a checkpoint of a forecaster ({type(error).__name__})") from error
    return LoadedForecaster(net.eval(), spec)
