"""Several processes, such as the trials of a sweep, that open one store at once."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.selfplay import opens_games
from tests.selfplay.recorded_games import opened, random_games, save

PROCESSES = 3


@pytest.mark.row("D5")
def test_processes_that_start_together_build_the_arrays_once_and_map_the_same_files(tmp_path: Path) -> None:
    """One copy in memory for all, and the same batches."""
    store, cache = save(tmp_path / "store", random_games(200)), tmp_path / "cache"
    command = [sys.executable, opens_games.__file__, str(store), str(cache), str(time.time() + 4)]
    opens = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)]
    found = [json.loads(process.communicate(timeout=120)[0]) for process in opens]
    assert sum(one.pop("built") for one in found) == 1
    assert found == [found[0]] * PROCESSES
    assert found[0]["memmap"]
    assert found[0]["mapped"]
    positions = opened(store)
    assert sorted(os.listdir(cache)) == sorted([".lock", positions.folder.name])  # noqa: PTH208
