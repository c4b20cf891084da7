"""Makes the picture of the README: a searched 7x7 position, and beside it the map of its openings.

    python docs/images/make.py CHECKPOINT TARGET.svg

CHECKPOINT is a network of Hex: a run's folder or a file. Each half has a paper of its own, so that it reads alike on a
light and on a dark page.
"""

import re
import sys
from pathlib import Path

import hexlit
from hexlit.api.pictures import Picture

MOVES = "a6 d4 c5 e3"
SIMULATIONS = 400
GAP = 16
"""Pixels between the halves."""


def main(checkpoint: str, target: str) -> None:
    """Search with the network in `checkpoint`, and write the picture to `target`."""
    search = hexlit.Search(checkpoint, simulations=SIMULATIONS)
    searched = search.run(hexlit.Board(7, moves=MOVES))._repr_svg_()
    openings = search.openings(7).picture(title=f"Black's first move, {SIMULATIONS} simulations").svg
    side_by_side([searched, openings]).save(target)


def side_by_side(pictures: list[str]) -> Picture:
    """SVG documents in one row, as one document."""
    inner, left, height = [], 0.0, 0.0
    for picture in pictures:
        width, high = (float(length) for length in re.findall(r"viewBox='0 0 ([0-9.]+) ([0-9.]+)'", picture)[0])
        inner.append(picture.replace("<svg ", f"<svg x='{left:.1f}' ", 1))
        left, height = left + width + GAP, max(height, high)
    size = f"viewBox='0 0 {left - GAP:.1f} {height:.1f}' width='{left - GAP:.0f}' height='{height:.0f}'"
    return Picture(f"<svg xmlns='http://www.w3.org/2000/svg' {size}>\n{''.join(inner)}</svg>\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python docs/images/make.py CHECKPOINT TARGET.svg")
    Path(sys.argv[2]).parent.mkdir(parents=True, exist_ok=True)
    main(*sys.argv[1:])
