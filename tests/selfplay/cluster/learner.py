"""A learner that plays rounds on a cluster, as a process of its own: it is killed and started again
by the storm.

`python -m tests.selfplay.cluster.learner FOLDER ADDRESS`: after each epoch it writes its state, as
a run writes its checkpoint, and continues from there when it is started again. It ends some epochs
after the file `enough` has appeared.
"""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from hexlit.cluster.config import RayConfig
from hexlit.files import replacing
from hexlit.search.config import SearchConfig
from hexlit.selfplay.actor import GamesSettings
from hexlit.selfplay.cluster import RayPool
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.selfplay.rounds import Begun, RoundState, SelfPlayRounds
from hexlit.selfplay.store import GameStore
from hexlit.selfplay.workers import PlayerSettings, SelfPlayer
from tests.selfplay.hosts import KeyedHost, PatientHost

PARTS = 3
POSITIONS = 180
CONFIG = SelfPlayConfig(fast_simulations=4, opening_plies=4)
SETTINGS = GamesSettings(CONFIG, SearchConfig(simulations=16), size=5, games=12, seed=4)
PLACE = PlayerSettings(SETTINGS, KeyedHost)
SLOW_PLACE = PlayerSettings(SETTINGS, partial(PatientHost, 0.005))
"""The same games. Workers wait most of the time, and leave the processors to those that start."""


def weights_of(epoch: int) -> bytes:
    return f"after epoch {epoch}".encode()


def learn(player: SelfPlayer, folder: Path, enough: Callable[[int], bool]) -> int:
    """Play epochs until `enough(epoch)` sets off no further one; the state after each is on disk
    before the next.

    Returns the number of epochs.
    """
    rounds = SelfPlayRounds(player, GameStore(folder / "games"), positions=POSITIONS, ahead=True)
    epoch = 0
    state = folder / "state.npz"
    if state.exists():
        with np.load(state) as saved:
            told = json.loads(str(saved["told"]))
            arrays = {name: saved[name] for name in saved.files if name != "told"}
        epoch = told["epochs"]
        in_progress = [
            {
                name.split("/")[1]: array
                for name, array in arrays.items()
                if name.startswith(f"{part}/")
            }
            for part in range(PARTS)
        ]
        version = told["begun"]
        begun = None if version is None else Begun(weights_of(version), version)
        rounds.restore(RoundState(in_progress, begun))
    while True:
        records, counts = rounds.play(weights_of(epoch), epoch, lambda counts: None)
        assert counts.games == len(records)
        ending = enough(epoch)
        if not ending:
            rounds.start_async(weights_of(epoch), epoch)
        in_progress, begun = rounds.state()
        epoch += 1
        arrays = {
            f"{part}/{name}": array
            for part, one in enumerate(in_progress)
            for name, array in one.items()
        }
        told = {"epochs": epoch, "begun": begun and begun.network_version}
        with replacing(state) as temporary, temporary.open("wb") as file:
            np.savez(file, told=json.dumps(told), **arrays)
        print(f"{epoch} epochs, {len(records)} games in the last one", flush=True)
        if ending and not begun:
            break
    rounds.close()
    return epoch


if __name__ == "__main__":
    place, address = Path(sys.argv[1]), sys.argv[2]
    config = RayConfig(address=address, cpus=1, retries=1000, wait=None)
    learn(RayPool(SLOW_PLACE, PARTS, config), place, lambda epoch: (place / "enough").exists())
