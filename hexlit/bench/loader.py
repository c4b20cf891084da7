"""Does the loader keep up? Batches alone, training alone, and how long the one waits for the other."""

from dataclasses import replace
from typing import Any

import numpy as np
from torch.utils.data import DataLoader, Dataset

from hexlit.accelerate.loaders import make_loader
from hexlit.accelerate.profile import DeviceProfile
from hexlit.bench.measure import Effort, Measurement, Setting, measure_rate
from hexlit.bench.optimisation import Endless, Recipe, measure_steps
from hexlit.bench.play import Game
from hexlit.hex.record import GameRecord
from hexlit.nets.tower import HexNet
from hexlit.selfplay.actor import SelfPlay
from hexlit.selfplay.window import ReplayWindow
from hexlit.tasks.hex.data import WindowDataset
from hexlit.training.steps import LOADER_BOUND, verdict

POSITIONS = 2000
STEPS = 64


class UniformEvaluator:
    """Finds every action as good as any other."""

    def evaluate(self, planes: Any, policy: Any, value: Any) -> None:
        """Uniform over legal cells."""
        empty = (planes[:, 0] + planes[:, 1] == 0).reshape(len(planes), -1)
        policy[...] = 0
        policy[:, : empty.shape[1]] = empty / np.maximum(1, empty.sum(1, keepdims=True))
        value[...] = 0


def played_window(game: Game) -> ReplayWindow:
    """A window of games searched without a network."""
    records: list[GameRecord] = []
    actor = SelfPlay(game.selfplay, game.search, size=game.size, games=64, seed=0)
    actor.play(UniformEvaluator(), positions=POSITIONS, on_games=lambda ended, counts: records.extend(ended))
    window = ReplayWindow(size=game.size, swap=False, capacity=10**6)
    window.extend(records)
    return window


def measure_loader(
    net: HexNet, game: Game, recipe: Recipe, effort: Effort, profile: DeviceProfile, data: Dataset[Any] | None = None
) -> list[Measurement]:
    """The loader of self-play's window by itself, then training fed by it, with the share of time that waits for data.

    `data` takes the place of the window's batches.
    """
    if data is None:
        window = played_window(game)
        data = WindowDataset(window.epoch(batch=profile.train_batch, steps=STEPS, seed=0, epoch=0))
    loader = make_loader(data, profile, batch_size=None)
    stream = iter(Endless(loader))

    def load(rounds: int) -> float:
        return float(sum(len(next(stream)[0]) for _ in range(rounds)))

    on = Setting.of(profile, "–")
    what = f"loading, batch {profile.train_batch}, {profile.workers} processes"
    alone = measure_rate(effort, load, what=what, unit="positions/s", on=on, profile=profile)
    fed = measure_steps(net, recipe, effort, profile, data=DataLoader(Endless(loader), batch_size=None))
    share = fed.load_share or 0.0
    ratio = alone.median / fed.median if alone.median and fed.median else 0.0
    if fed.median is None:
        return [alone, fed]
    said = f"{verdict(share)}: {share:.1%} of the time waits for data ({LOADER_BOUND:.0%} is the limit)"
    return [replace(alone, detail=f"{ratio:.1f} times the rate of training"), replace(fed, detail=said)]
