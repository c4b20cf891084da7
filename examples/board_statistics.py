"""Give a network of several boards the statistics of batch norm of each board.

    python examples/board_statistics.py CHECKPOINT TARGET.safetensors

For networks that were trained with `net.norm=batch`: they play by one running mean over the latest
boards, see docs/results/larger-boards.md. Boards of `SIZES` get statistics of their own, from games
of the policy against itself; the others keep that mean. Weights stay as they are.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from hexlit.accelerate.batch_norm import SizedBatchNorm2d
from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.arena.players import Network
from hexlit.arena.positions import GameSource, play_games
from hexlit.hex.arrays import Int8Array
from hexlit.hex.encoding import encode
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.tower import HexNet, build_net
from hexlit.tasks.hex.checkpoint import load_network, write_safetensors

SIZES = range(10, 14)
"""Boards on which values of `hexlit:large` fit the results of games better by their own."""
GAMES = 256
BATCHES, BATCH = 8, 256


def planes_of(net: HexNet, size: int) -> Int8Array:
    """Positions of games of the policy, `[B, 5, size, size]`, at random plies."""
    profile = build_profile(AcceleratorConfig(device="cpu"))
    network = Network(
        lambda batch: NetworkEvaluator(net, size=size, swap=False, batch=batch, profile=profile),
        size,
        swap=False,
    )
    judge = network.player(None, GAMES, temperature=1.0).judge
    source = GameSource("policy", simulations=0, playouts=0, error=0.0, judge=judge)
    random = np.random.default_rng(size)
    games = play_games(source, size, GAMES, random)
    cells = np.zeros((BATCHES * BATCH, size * size), np.int8)
    to_move = np.zeros(len(cells), np.int8)
    for row in range(len(cells)):
        moves = games[row % GAMES]
        ply = int(random.integers(len(moves)))
        cells[row, moves[:ply:2]] = 1
        cells[row, moves[1:ply:2]] = -1
        to_move[row] = -1 if ply % 2 else 1
    return encode(cells, to_move)


def with_statistics(net: HexNet) -> HexNet:
    """The network with statistics for each of `SIZES`; larger boards have those of the largest."""
    result = build_net(replace(net.config, norm="boards"))
    result.load_state_dict(net.state_dict(), strict=False)
    result.train()
    norms = []
    for name, layer in result.named_modules():
        if isinstance(layer, SizedBatchNorm2d):
            norms.append(layer)
            layer.means[:] = net.get_buffer(f"{name}.running_mean")
            layer.variances[:] = net.get_buffer(f"{name}.running_var")
            layer.trained[: min(SIZES)] = True
    for size in SIZES:
        print(f"{size}×{size}", file=sys.stderr, flush=True)
        planes = torch.from_numpy(planes_of(net, size)).float()
        for number, batch in enumerate(planes.view(BATCHES, BATCH, *planes.shape[1:]), 1):
            for norm in norms:
                norm.momentum = 1 / number  # the mean of all batches
            with torch.no_grad():
                result(batch)
    return result.eval()


if __name__ == "__main__":
    name, target = sys.argv[1:]
    loaded = load_network(name)
    write_safetensors(
        with_statistics(loaded.net),
        Path(target),
        size=loaded.size,
        swap=loaded.swap,
        dtype="float16",
    )
