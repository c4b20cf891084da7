"""Checkpoints of small networks that were never trained."""

from dataclasses import asdict
from pathlib import Path

import torch

from hexlit.nets.config import NetConfig
from hexlit.nets.tower import build_net


def write_checkpoint(path: Path, *, seed: int, size: int = 5, swap: bool = False) -> Path:
    """A checkpoint as a training writes it, with random weights; returns `path`."""
    torch.manual_seed(seed)
    config = NetConfig(channels=8, blocks=[1])
    weights = {f"net.{name}": value for name, value in build_net(config).state_dict().items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"state_dict": weights, "hyper_parameters": {"net": asdict(config), "size": size, "swap": swap}}, path)
    return path
