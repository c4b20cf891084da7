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
