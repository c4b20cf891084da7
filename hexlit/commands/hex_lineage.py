"""Lineage of a network, as artifacts: its training games, and its first checkpoint."""

import re
from pathlib import Path

from hexlit.selfplay.store import part_files
from hexlit.tasks.hex.checkpoint import network_file
from hexlit.tasks.hex.data_module import HexDataModule
from hexlit.tasks.hex.train_config import HexTrainConfig
from hexlit.tracking.identity import Identity
from hexlit.tracking.tracked_run import Files
from hexlit.training.tracked_files import checkpoint_files

GAMES = "games"


def used_games(config: HexTrainConfig, data: HexDataModule, identity: Identity) -> list[Files]:
    """The games of `data` and recorded ones, named by their places, and `init_from`.

    Games of self-play belong to the run `identity`; a store of recorded games has one name for all runs.
    """
    files = []
    if config.data.source != GAMES:
        counted = {name: count for name, count in data.summary().items() if name in ("games", "positions")}
        facts = {"board": config.board, "swap": config.swap, "source": config.data.source, **counted}
        files.append(Files(identity.artifact(GAMES), GAMES, data.files(), metadata=facts, reference=True))
    if config.data.path is not None:
        store = Path(config.data.path).resolve()
        name = re.sub(r"[^\w.-]+", "-", store.name)
        files.append(Files(f"{GAMES}-{name}", GAMES, part_files(store), metadata={"path": str(store)}, reference=True))
    if config.init_from is not None:
        files.append(checkpoint_files(network_file(config.init_from, "init_from")))
    return files
