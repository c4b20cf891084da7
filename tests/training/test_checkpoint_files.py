"""Checkpoints: an old one stays until the new one stands,
and one that is damaged is never trained on.
"""

import os
import random
import signal
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hexlit.errors import UsageError
from hexlit.training.checkpoints import WholeCheckpoints, read_checkpoint
from tests.commands.preloaded import run_apart

# Saves one checkpoint, then another over it, and kills itself wherever the second one is written.
KILLED = """
import os, pathlib, signal, sys
import torch
from hexlit.training.checkpoints import WholeCheckpoints
path = pathlib.Path(sys.argv[1])
files = WholeCheckpoints()
files.save_checkpoint({"epoch": 0, "weights": torch.zeros(100_000)}, path)
write = pathlib.Path.write_bytes
def torn(self, content):
    write(self, bytes(content)[:1000])
    os.kill(os.getpid(), signal.SIGKILL)
pathlib.Path.write_bytes = torn
files.save_checkpoint({"epoch": 1, "weights": torch.ones(100_000)}, path)
"""


def content(epoch: int) -> dict[str, Any]:
    return {"epoch": epoch, "hyper_parameters": {"a": 1}, "weights": torch.arange(5000.0) + epoch}


def save(folder: Path, name: str, epoch: int) -> Path:
    path = folder / "checkpoints" / name
    WholeCheckpoints().save_checkpoint(content(epoch), path)
    return path


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 0x10
    path.write_bytes(data)


@pytest.mark.skipif(os.name != "posix", reason="processes are killed by signals")
def test_a_kill_while_one_is_written_leaves_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "last.ckpt"
    killed = run_apart(KILLED, str(path))
    assert killed.returncode == -signal.SIGKILL
    assert WholeCheckpoints().load_checkpoint(path)["epoch"] == 0


def test_whichever_byte_is_flipped_the_file_is_refused_or_reads_the_same(tmp_path: Path) -> None:
    path = save(tmp_path, "last.ckpt", 0)
    whole, chance, refused = path.read_bytes(), random.Random(1), 0
    for _ in range(100):
        path.write_bytes(whole)
        flip(path, chance.randrange(len(whole)))
        try:
            found = WholeCheckpoints().load_checkpoint(path)
        except UsageError:
            refused += 1
        else:  # a date, or a gap between two parts
            assert torch.equal(found.pop("weights"), content(0)["weights"])
            assert found == {"epoch": 0, "hyper_parameters": {"a": 1}}
    assert refused > 80


@pytest.mark.parametrize("size", [0, 12_000])
def test_a_torn_file_is_refused_in_one_line(size: int, tmp_path: Path) -> None:
    path = save(tmp_path, "last.ckpt", 0)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(
        UsageError, match=r"checkpoint=.*last\.ckpt: not a whole checkpoint"
    ) as refused:
        read_checkpoint(path, "checkpoint")
    assert "\n" not in str(refused.value)


def with_attribute(owner: Any) -> Any:
    owner.mine = np.int64(3)
    return owner


STRANGE = {
    "array's scalar": np.int64(3),
    "subclass of float": np.float64(3),
    "inside": [({1: {"a": np.int64(3)}},)],
    "key": {np.int64(3): 0},
    "of a tensor": with_attribute(torch.ones(2)),
    "of a dict": with_attribute(OrderedDict()),
}


@pytest.mark.parametrize("where", STRANGE)
def test_what_could_not_be_read_again_is_not_written(where: str, tmp_path: Path) -> None:
    """The checkpoint before stays, and the message is a plain line."""
    path = save(tmp_path, "last.ckpt", 0)
    strange = content(1) | {"callbacks": {"mine": {"count": STRANGE[where]}}}
    with pytest.raises(
        UsageError, match=r"last\.ckpt: not written; .* an object of numpy"
    ) as refused:
        WholeCheckpoints().save_checkpoint(strange, path)
    assert str(refused.value).isprintable()
    assert read_checkpoint(path)["epoch"] == 0
    torch.save(strange, path)
    with pytest.raises(
        UsageError, match=r"checkpoint=.*last\.ckpt: a checkpoint holds tensors and plain"
    ) as refused:
        read_checkpoint(path, "checkpoint")
    assert str(refused.value).isprintable()


def test_what_torch_reads_is_written_too(tmp_path: Path) -> None:
    """Though it is neither a tensor nor plain."""
    path = tmp_path / "last.ckpt"
    state = {
        "weights": torch.nn.Parameter(torch.ones(1)),
        "shape": torch.Size([2]),
        "type": torch.float16,
        "counts": Counter("aab"),
    }
    WholeCheckpoints().save_checkpoint({"callbacks": state}, path)
    assert read_checkpoint(path)["callbacks"] == state
