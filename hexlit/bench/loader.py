"""The loader's speed: batches alone, training alone, and the time that training waits for batches."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from torch.utils.data import DataLoader, Dataset

from hexlit.accelerate.loaders import make_loader
from hexlit.bench.measure import Measurement, Outcome, Subject, beside, measure_rate
from hexlit.bench.training import endless, measure_steps, positions_trainee
from hexlit.hex.engine import empty_stones
from hexlit.hex.geometry import geometry
from hexlit.hex.playout import random_games
from hexlit.hex.record import Ending, GameRecord
from hexlit.search.evaluator import UniformEvaluator
from hexlit.selfplay.actor import GamesSettings, SelfPlay
from hexlit.selfplay.dataset import GamePositions, GameRows
from hexlit.selfplay.store import GameStore
from hexlit.selfplay.window import ReplayWindow, WindowSettings
from hexlit.tasks.hex.epoch_data import EpochDataset
from hexlit.training.usage import LOADER_BOUND, verdict

POSITIONS = 2000
STEPS = 64
GAMES = 2000
"""Number of recorded games. They are random, so longer than others, and take longer to replay."""


def played_window(subject: Subject) -> ReplayWindow:
    """A window of games searched without a network."""
    config = subject.config
    records: list[GameRecord] = []
    actor = SelfPlay(GamesSettings(config.selfplay, config.search, config.board, games=64, seed=0))
    actor.play(UniformEvaluator(), positions=POSITIONS, on_games=lambda ended, counts: records.extend(ended))
    window = ReplayWindow(config.board, False, WindowSettings(10**6))
    window.extend(records)
    return window


def recorded_games(size: int, folder: Path) -> GameRows:
    """All positions of random games, saved in a store in `folder` and mapped from there."""
    moves, lengths = np.zeros((GAMES, size * size), np.int16), np.zeros(GAMES, np.int16)
    random_games(GAMES, 0, geometry(size), moves, empty_stones(1, size), lengths)
    store = GameStore(folder / "games")
    played = [
        GameRecord(game, size, False, moves[game, :length], 1 if length % 2 else -1, Ending.CONNECTED)
        for game, length in enumerate(lengths.tolist())
    ]
    store.append(played)
    store.close()
    positions = GamePositions.open(store.folder, size=size, swap=False, cache=folder / "cache")
    return GameRows(positions, np.arange(len(positions)))


def measure_loaders(subject: Subject) -> Outcome:
    """The loader of self-play's window, and that of recorded games."""
    lines = measure_window(subject)
    return Outcome([*lines, measure_games(subject, lines[-1])])


def measure_games(subject: Subject, fed: Measurement) -> Measurement:
    """The loader of recorded games by itself, beside the training rate of `fed`."""
    with TemporaryDirectory() as folder:
        rows = recorded_games(subject.config.board, Path(folder))
        data = EpochDataset(rows.shuffled(batch=subject.profile.train_batch, seed=0, epoch=0))
        loader = make_loader(data, subject.profile, batch_size=None)
        return _alone(subject, "loading recorded games", loader, fed)


def measure_window(subject: Subject, data: Dataset[Any] | None = None) -> list[Measurement]:
    """The loader of self-play's window alone, then training with it, and the share of time that waits for data.

    `data` replaces the window's batches.
    """
    profile = subject.profile
    if data is None:
        window = played_window(subject)
        data = EpochDataset(window.epoch(batch=profile.train_batch, steps=STEPS, seed=0, epoch=0))
    loader = make_loader(data, profile, batch_size=None)
    fed = measure_steps(positions_trainee(subject, loader), subject.config, profile)
    alone = _alone(subject, "loading", loader, fed)
    if fed.median is None:
        return [alone, fed]
    share = fed.load_share or 0.0
    message = f"{verdict(share)}: {share:.1%} of the time waits for data ({LOADER_BOUND:.0%} is the limit)"
    return [alone, replace(fed, detail=message)]


def _alone(subject: Subject, what: str, loader: DataLoader[Any], fed: Measurement) -> Measurement:
    profile, stream = subject.profile, endless(loader)

    def load(rounds: int) -> float:
        return float(sum(len(next(stream)[0]) for _ in range(rounds)))

    what = f"{what}, batch {profile.train_batch}, {profile.workers} processes"
    line = measure_rate(subject.config, load, what, "positions/s", profile)
    return beside(line, fed.median, "{ratio:.1f} times the rate of training")
