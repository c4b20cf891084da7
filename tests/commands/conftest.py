"""What every test of a command starts with."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_handlers() -> Iterator[None]:
    """Hydra gives the root logger a file in the folder of each run."""
    before = logging.root.handlers[:]
    yield
    logging.root.handlers[:] = before


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command writes without being told where is no file of the project."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def common_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions that are solved once for all tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A network that knows nothing."""
    from tests.commands.tiny import save_untrained  # here: not every command needs torch

    return save_untrained(tmp_path / "net.ckpt", size=3)
