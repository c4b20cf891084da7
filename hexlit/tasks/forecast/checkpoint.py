"""Reading a forecaster back from a checkpoint of Lightning."""

import zipfile
from dataclasses import dataclass
from pathlib import Path

import torch

from hexlit.errors import UsageError
from hexlit.tasks.forecast.config import ForecastNetConfig
from hexlit.tasks.forecast.nets import ForecastNet, WindowShape, build_net
from hexlit.tasks.forecast.spec import WindowSpec
from hexlit.training.checkpoint import check_whole, checkpoint_file, weights_in_use


@dataclass(frozen=True)
class LoadedForecaster:
    """A network in evaluation mode on the CPU, and the facts about its data."""

    net: ForecastNet
    spec: WindowSpec


def load_forecaster(path: Path, key: str = "checkpoint") -> LoadedForecaster:
    """The forecaster of the checkpoint `path`, with averaged weights if it has them.

    `path` may be the folder of a run: its best checkpoint, else its last. Messages name the setting `key`.

    Raises:
        UsageError: there is no such file, or it is no checkpoint of a forecaster.
    """
    path = checkpoint_file(path, key)
    if not path.is_file():
        raise UsageError(f"{key}={path}: there is no such file; a run keeps its own in checkpoints/last.ckpt")
    if not zipfile.is_zipfile(path):
        raise UsageError(f"{key}={path}: not a checkpoint of a forecaster (not an archive of torch)")
    check_whole(path, key)
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        settings = saved["hyper_parameters"]
        spec = WindowSpec(**settings["spec"])
        net = build_net(ForecastNetConfig(**settings["net"]), WindowShape.of(spec))
        net.load_state_dict(weights_in_use(saved["state_dict"]))
    except Exception as error:  # a broken file can make torch raise anything
        raise UsageError(f"{key}={path}: not a checkpoint of a forecaster ({type(error).__name__})") from error
    return LoadedForecaster(net.eval(), spec)
