"""Files that a user or a client names are regular,
have a limit, and take no more memory than they have bytes.
"""

import json
import os
import struct
import zipfile
from pathlib import Path

import pytest
import torch

from hexlit.arena.position import read_first_game
from hexlit.errors import UsageError
from hexlit.files import read_json, read_plain_yaml, read_regular
from hexlit.hex.records.formats import read_file
from hexlit.nets.config import NetConfig
from hexlit.reporting.run_files import read_run
from hexlit.tasks.hex.checkpoint import FORMAT, read_safetensors
from hexlit.training.checkpoints import read_checkpoint


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")  # a reader would wait for ever
    return tmp_path / "pipe"


def test_a_device_and_a_pipe_are_refused(pipe: Path) -> None:
    for path in (pipe, Path("/dev/zero"), pipe.parent):
        with pytest.raises(UsageError, match=f"^{path}: must be a regular file"):
            read_regular(path)
        with pytest.raises(UsageError, match="must be a regular file"):
            read_first_game(path)
        with pytest.raises(UsageError, match="must be a regular file"):
            next(read_file(path))
        assert read_json(path) == {}


def test_a_larger_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"12345")
    assert read_regular(tmp_path / "large", 5) == b"12345"
    with pytest.raises(UsageError, match="large: must have at most 4 bytes"):
        read_regular(tmp_path / "large", 4)


def test_yaml_that_grows_when_it_is_read_is_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60))]
    (tmp_path / "bomb.yaml").write_text("\n".join(lines))
    with pytest.raises(UsageError, match="aliases"):
        read_plain_yaml(tmp_path / "bomb.yaml")


def test_a_report_reads_no_device(tmp_path: Path) -> None:
    for name in ("summary.json", "metrics.csv", "phases.csv"):
        (tmp_path / name).symlink_to("/dev/zero")
    run = read_run(tmp_path)
    assert run.summary == {}
    assert run.metrics == {}


def test_a_packed_checkpoint_is_refused(tmp_path: Path) -> None:
    torch.save({"zeros": torch.zeros(1000)}, tmp_path / "plain.ckpt")
    assert len(read_checkpoint(tmp_path / "plain.ckpt")["zeros"]) == 1000
    with zipfile.ZipFile(tmp_path / "plain.ckpt") as plain:
        parts = {name: plain.read(name) for name in plain.namelist()}
    with zipfile.ZipFile(tmp_path / "packed.ckpt", "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    with pytest.raises(UsageError, match="may be larger than the file"):
        read_checkpoint(tmp_path / "packed.ckpt")


def test_weights_of_another_network_take_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = vars(NetConfig(channels=2**14, blocks=[900]))  # nearly two trillion weights
    metadata = {"format": FORMAT, "net": json.dumps(net), "size": "5", "swap": "0"}
    header = {
        "__metadata__": metadata,
        "w": {"dtype": "F32", "shape": [1 << 30], "data_offsets": [0, 4 << 30]},
    }
    text = json.dumps(header).encode()
    with (tmp_path / "forged.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + (4 << 30))  # zeros that are nowhere on the disk
    read: list[object] = []
    monkeypatch.setattr("hexlit.tasks.hex.checkpoint.digest_of", read.append)
    with pytest.raises(UsageError, match="the network that it describes has other weights"):
        read_safetensors(tmp_path / "forged.safetensors")
    assert read == []


def test_a_network_of_too_many_blocks_is_refused() -> None:
    with pytest.raises(UsageError, match="at most 1000 blocks"):
        NetConfig(blocks=[600, 600])
