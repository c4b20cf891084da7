"""A learner that plays rounds on a cluster, as a process of its own: it is killed and started again by the storm.

`python learner.py FOLDER ADDRESS EPOCHS AHEAD`: after each epoch it writes its state, as a run writes its checkpoint,
and goes on from there when it is started again.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from hexlit.files import replacing, write_json_atomic
from hexlit.search.config import SearchConfig
from hexlit.selfplay.cluster.config import RayConfig
from hexlit.selfplay.cluster.players import RayPlayers
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.selfplay.player import Player, Workplace
from hexlit.selfplay.rounds import Begun, RoundState, SelfPlayRounds
from hexlit.selfplay.store import GameStore
from tests.selfplay.hosts import KeyedHost

PARTS = 3
POSITIONS = 300
SETTINGS: dict[str, Any] = {
    "config": SelfPlayConfig(fast_simulations=8, opening_plies=4),
    "search": SearchConfig(simulations=64),
    "size": 5,
    "seed": 4,
    "games": 12,
}
PLACE = Workplace(SETTINGS, KeyedHost)


def weights_of(epoch: int) -> bytes:
    return f"after epoch {epoch}".encode()


def learn(player: Player, folder: Path, epochs: int, ahead: int) -> None:
    """Play the epochs that are left; the state after each is on disk before the next begins."""
    rounds = SelfPlayRounds(player, GameStore(folder / "games"), positions=POSITIONS, ahead=ahead)
    first = 0
    state = folder / "state.npz"
    if state.exists():
        with np.load(state) as saved:
            told = json.loads(str(saved["told"]))
            arrays = {name: saved[name] for name in saved.files if name != "told"}
        first = told["epoch"] + 1
        in_progress = [
            {name.split("/")[1]: array for name, array in arrays.items() if name.startswith(f"{part}/")}
            for part in range(PARTS)
        ]
        rounds.restore(RoundState(in_progress, [Begun(weights_of(epoch), epoch) for epoch in told["begun"]]))
    for epoch in range(first, epochs):
        while epoch == epochs - 4 and (folder / "hold").exists():  # the storm is not over
            time.sleep(0.1)
        records, counts = rounds.play(weights_of(epoch), epoch, lambda counts: None)
        assert counts.games == len(records)
        if epoch + 1 < epochs:
            rounds.set_off(weights_of(epoch), epoch)
        in_progress, begun = rounds.state()
        arrays = {f"{part}/{name}": array for part, one in enumerate(in_progress) for name, array in one.items()}
        told = {"epoch": epoch, "begun": [one.network_version for one in begun]}
        with replacing(state) as temporary, temporary.open("wb") as file:
            np.savez(file, told=json.dumps(told), **arrays)
        write_json_atomic(folder / "epochs" / f"{epoch}.json", [record.game_id for record in records])
        print(f"epoch {epoch}", flush=True)
    rounds.close()


if __name__ == "__main__":
    place, address, last, rounds_ahead = sys.argv[1:]
    config = RayConfig(address=address, cpus=1, deaths=1000, wait=None)
    learn(RayPlayers(PLACE, PARTS, config), Path(place), int(last), int(rounds_ahead))
