"""The settings of a resumed run: whole, its own, and never another run's by accident."""

from pathlib import Path

import pytest
from omegaconf import OmegaConf

from hexlit.commands.run_folder import read_overrides, resumed_arguments
from hexlit.errors import UsageError


def run_folder(tmp_path: Path, overrides: bytes) -> Path:
    (tmp_path / ".hydra").mkdir()
    (tmp_path / ".hydra" / "overrides.yaml").write_bytes(overrides)
    return tmp_path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    said = ["board=5", "name='a b'", "~x", "+k=[1,2]"]
    folder = run_folder(tmp_path, OmegaConf.to_yaml(OmegaConf.create(said)).encode())
    assert read_overrides(folder) == said
    assert resumed_arguments([f"resume={folder}", "seed=2"])[: len(said) + 1] == [*said, "seed=2"]


@pytest.mark.parametrize(
    "content", [b"", b"\x00\xff\xfe\x80", b"!!python/name:os.system []\n", b"- 5\n", b"[" * 5000]
)
def test_empty_torn_binary_and_tagged_settings_are_refused_in_one_line(
    content: bytes, tmp_path: Path
) -> None:
    folder = run_folder(tmp_path, content)
    with pytest.raises(UsageError, match=r"overrides\.yaml: not a list of overrides") as refused:
        resumed_arguments([f"resume={folder}"])
    assert "\n" not in str(refused.value)
