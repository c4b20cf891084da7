"""Stand-ins for the packaged networks: small files with random weights, in a folder of the test."""

from pathlib import Path

import pytest

from hexlit.tasks.hex import packaged
from hexlit.tasks.hex.checkpoint import write_safetensors
from tests.nets.test_evaluator import trained_like

KNOWS_SWAP = {"small": False, "medium": True}
SIZE = {"small": 3, "medium": 8}


def put_networks(monkeypatch: pytest.MonkeyPatch, folder: Path, *names: str) -> None:
    """Let hexlit find the networks `names` in `folder` and no others; each has weights of its own."""
    folder.mkdir(exist_ok=True)
    for seed, name in enumerate(names):
        net = trained_like(seed, channels=8, blocks=[1])
        write_safetensors(net, folder / f"{name}.safetensors", size=SIZE[name], swap=KNOWS_SWAP[name], dtype="float16")
    monkeypatch.setattr(packaged, "FOLDER", folder)
