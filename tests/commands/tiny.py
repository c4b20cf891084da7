"""A training of seconds: every part of a real one,
on a board of size 3; and a checkpoint without any training.
"""

from dataclasses import asdict
from pathlib import Path

import torch

from hexlit.nets.config import NetConfig
from hexlit.nets.tower import build_net

TINY = [
    *("board=3", "logger=csv", "report=false", "accelerator=cpu", "accelerator.threads=2"),
    *(
        "accelerator.evaluation_batch=8",
        "accelerator.train_batch=32",
        "net.channels=8",
        "net.blocks=[1]",
    ),
    *(
        "net.dropout=0.1",
        "search.simulations=8",
        "selfplay.fast_simulations=4",
        "selfplay.positions=40",
    ),
    *(
        "selfplay.games=8",
        "selfplay.workers=0",
        "data.reuse=2",
        "data.window=70",
        "trainer.max_epochs=2",
    ),
    *("trainer.ema_decay=0", "optimizer.final_lr_share=0.05", "optimizer.decay_share=1"),
    *("evaluation.simulations=8", "evaluation.positions=20", "evaluation.quick_positions=10"),
    *("evaluation.game_positions=20", "evaluation.every_epochs=1", "evaluation.begin_after=0"),
]


def save_untrained(path: Path, *, size: int, swap: bool = False, seed: int = 0) -> Path:
    """The checkpoint of a tiny network as it was born, written to `path`."""
    torch.manual_seed(seed)
    net = NetConfig(channels=8, blocks=[1])
    weights = {f"net.{name}": tensor for name, tensor in build_net(net).state_dict().items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(
        {
            "hyper_parameters": {"net": asdict(net), "size": size, "swap": swap},
            "state_dict": weights,
        },
        path,
    )
    return path
