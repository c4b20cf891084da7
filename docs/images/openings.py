"""Makes the picture of the README: the first moves of 5x5 as a training comes to know them.

    hexlit train seed=1 +callbacks.keep._target_=lightning.pytorch.callbacks.ModelCheckpoint \
        +callbacks.keep.save_top_k=-1 +callbacks.keep.dirpath=kept '+callbacks.keep.filename="{epoch}"'
    python docs/images/openings.py kept TARGET.svg

Each map has a paper of its own, so that it reads alike on a light and on a dark page.
"""

import sys
from pathlib import Path

import hexlit

EPOCHS = (4, 40, 76)
"""Epochs of training before each map; the last one ends the run."""
SIMULATIONS = 32


def main(folder: str, target: str) -> None:
    """Search the first moves with the networks in `folder`, and write the picture to `target`."""
    maps = []
    for epochs in EPOCHS:
        search = hexlit.Search(f"{folder}/epoch={epochs - 1}.ckpt", simulations=SIMULATIONS)
        maps.append(search.openings(5).picture(title=f"after {epochs} epochs"))
    hexlit.side_by_side(*maps).save(target)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python docs/images/openings.py FOLDER TARGET.svg")
    Path(sys.argv[2]).parent.mkdir(parents=True, exist_ok=True)
    main(*sys.argv[1:])
