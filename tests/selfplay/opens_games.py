"""Opens a store of games as a process of its own,
and prints what it saw: started by test_dataset.py.
"""

import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from hexlit.selfplay import dataset
from hexlit.selfplay.dataset import GamePositions, GameRows
from hexlit.selfplay.flat_games import ReadOptions, read_flat_games


def main(store: Path, cache: Path, start: float) -> None:
    """Wait until `start` (seconds of `time.time`),
    so that several of these ask at once; building takes a while.
    """
    built = 0

    def slowly(*arguments: Any, **settings: Any) -> Any:
        nonlocal built
        built += 1
        time.sleep(0.5)
        return read_flat_games(*arguments, **settings)

    setattr(dataset, "read_flat_games", slowly)  # noqa: B010
    time.sleep(max(0.0, start - time.time()))
    positions = GamePositions.open(store, ReadOptions(4, False), cache)
    arrays = hashlib.sha256(b"".join(array.tobytes() for array in positions.flat)).hexdigest()
    batches = hashlib.sha256()
    epoch = GameRows(positions, np.arange(len(positions))).shuffled(batch=32, seed=3, epoch=1)
    for step in range(len(epoch)):
        batch = epoch[step]
        for array in (batch.planes, batch.policy, batch.value):
            batches.update(array.tobytes())
    maps = Path("/proc/self/maps")
    print(
        json.dumps(
            {
                "built": built,
                "arrays": arrays,
                "batches": batches.hexdigest(),
                "memmap": all(isinstance(array.base, np.memmap) for array in positions.flat),
                "mapped": str(positions.folder / "moves.npy") in maps.read_text()
                if maps.exists()
                else True,
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]))
