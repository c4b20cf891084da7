"""Choose the fair openings of two moves that matches take, one line a board: its rows, then the
openings.

    python examples/fair_openings.py 11 13 > openings.txt

All openings that differ by more than a turn come in a random order. The network's value alone
leaves out those that are far from even; of the others a search decides. Boards with too few
openings within the limit take the fairest.
"""

import sys

import numpy as np

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.arena.matches import balanced_openings, most_openings
from hexlit.arena.players import PolicyPlayer, SearchPlayer
from hexlit.hex.board import GameBoard
from hexlit.hex.notation import format_moves
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.search.config import SearchConfig
from hexlit.tasks.hex.checkpoint import load_network

NETWORK, SIMULATIONS, COUNT, FAIR, BATCH = "hexlit:large", 400, 200, 0.3, 64


def fair(size: int) -> list[tuple[int, ...]]:
    """The openings of a board of `size` rows."""
    profile = build_profile(AcceleratorConfig(device="cpu"))
    evaluator = NetworkEvaluator(
        load_network(NETWORK).net, size=size, swap=False, batch=BATCH, profile=profile
    )
    openings = balanced_openings(size, most_openings(size, 2), 2, seed=2026, balanced=False)
    cells = np.stack([GameBoard(size, moves=moves).cells for moves in openings])
    black = np.ones(len(cells), np.int8)
    alone = np.abs(PolicyPlayer(evaluator, size=size, batch=BATCH).judge(cells, black).value)
    likely = np.concatenate([np.flatnonzero(alone <= 2 * FAIR), np.argsort(alone, kind="stable")])
    order = list(dict.fromkeys(likely.tolist()))
    search = SearchPlayer(SearchConfig(simulations=SIMULATIONS), evaluator, size=size, batch=BATCH)
    values = dict[int, float]()
    while (
        order
        and sum(value <= FAIR for value in values.values()) < COUNT
        and len(values) < 4 * COUNT
    ):
        block, order = order[:BATCH], order[BATCH:]
        judged = search.judge(cells[block], black[block])
        values |= dict(zip(block, np.abs(judged.value).tolist(), strict=True))
        print(f"{size}: {len(values)} searched", file=sys.stderr, flush=True)
    within = [index for index, value in values.items() if value <= FAIR]
    rest = sorted(set(values) - set(within), key=lambda index: values[index])
    chosen = (within + rest)[:COUNT]
    worst = max(values[index] for index in chosen)
    print(
        f"{size}: {len(chosen)} openings, the least fair {worst:.2f}", file=sys.stderr, flush=True
    )
    return [openings[index] for index in chosen]


for rows in map(int, sys.argv[1:]):
    print(rows, *(format_moves(moves, rows).replace(" ", "") for moves in fair(rows)), flush=True)
