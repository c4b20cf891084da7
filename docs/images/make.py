"""Makes the picture of the README: a searched 7x7 position, and beside it the map of its openings.

    python docs/images/make.py CHECKPOINT TARGET.svg

CHECKPOINT is a network of Hex: a run's folder or a file. Each half has a paper of its own, so that
it reads alike on a light and on a dark page.
"""

import sys
from pathlib import Path

import hexlit

MOVES = "a6 d4 c5 e3"
SIMULATIONS = 400


def main(checkpoint: str, target: str) -> None:
    """Search with the network in `checkpoint`, and write the picture to `target`."""
    search = hexlit.Search(checkpoint, simulations=SIMULATIONS)
    searched = search.run(hexlit.Board(7, moves=MOVES))
    openings = search.openings(7).picture(title=f"Black's first move, {SIMULATIONS} simulations")
    hexlit.side_by_side(searched, openings).save(target)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python docs/images/make.py CHECKPOINT TARGET.svg")
    Path(sys.argv[2]).parent.mkdir(parents=True, exist_ok=True)
    main(*sys.argv[1:])
