"""Search every first stone with the packaged networks; writes the values that come along.

    python examples/first_stones.py

By them players open and swap, see `hexlit.arena.first_stones`. Values are for Black, in hundredths.
"""

import json
import sys

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.arena.first_stones import FirstStones
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.tasks.hex.checkpoint import load_network
from hexlit.tasks.hex.packaged import FIRST_STONES, largest_board, packaged_by_board

SMALLEST = 2


def values_of(name: str) -> dict[str, list[int]]:
    """Rows of each board of the network -> the value of each cell in hundredths, row by row."""
    net = load_network(name).net
    profile = build_profile(AcceleratorConfig(device="cpu"))
    stones = FirstStones(
        lambda size, swap, batch: NetworkEvaluator(
            net, size=size, swap=swap, batch=batch, profile=profile
        )
    )
    boards = {}
    for size in range(SMALLEST, largest_board(name) + 1):
        for found in stones.all_values(size):
            print(f"\r{name} {size}: {len(found)} ", end="", file=sys.stderr, flush=True)
        values = stones.found(size)
        boards[str(size)] = [round(100 * values[cell]) for cell in range(size * size)]
    return boards


if __name__ == "__main__":
    lines = [
        f'"{name}": {json.dumps(values_of(name), separators=(",", ":"))}'
        for name in packaged_by_board()
    ]
    FIRST_STONES.write_text("{" + ",\n".join(lines) + "}\n")
