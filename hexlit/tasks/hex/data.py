"""Training data of a Hex network: the interface of every source of games, and recorded games."""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import lightning as L
import numpy as np
from torch.utils.data import DataLoader

from hexlit.accelerate.loaders import make_loader
from hexlit.accelerate.profile import DeviceProfile
from hexlit.accelerate.ranks import ranks
from hexlit.files import cache_folder
from hexlit.hex.arrays import Int8Array
from hexlit.hex.record import GameRecord
from hexlit.selfplay.dataset import GamePositions, GameRows, split_games
from hexlit.selfplay.flat_games import (
    NO_MOVE,
    NO_WINNER,
    OTHER_SIZE,
    UNFINISHED,
    ReadOptions,
)
from hexlit.selfplay.store import part_files
from hexlit.selfplay.targets import load_targets
from hexlit.tasks.hex.config import HexTrainConfig
from hexlit.tasks.hex.epoch_data import EpochDataset
from hexlit.tasks.supervised import check_unchanged

BEYOND = "games beyond data.max_positions"
"""Reason of games that are left out because a run takes no more positions."""

HELD_OUT = "games held out for validation"
"""Reason of games that self-play leaves out of its mix."""

_REASONS = (OTHER_SIZE, UNFINISHED, NO_WINNER, NO_MOVE, BEYOND, HELD_OUT)


class HexDataModule(L.LightningDataModule):
    """Training positions, and the facts about them for a run."""

    memory_share: float = 1.0
    """The learner's share of its device's memory cap; processes that make the data there have the
    rest.
    """

    other_processes: int = 0
    """Processes that make the data while the network trains."""

    size: int
    """Rows of the boards that the network learns from at this time."""

    evaluations: Mapping[int, int] = MappingProxyType({})
    """Positions that the network evaluated for making the data, by rows of their board."""

    def prepare(self) -> None:
        """Compile the code that makes the data, or load it."""

    def cpu_seconds(self) -> float:
        """Processor time of other processes that make the data."""
        return 0.0

    @abstractmethod
    def figures(self) -> dict[str, float]:
        """Numbers to log after every epoch."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """Entries for `summary.json`: `games`, `positions` and other facts."""

    @abstractmethod
    def some_planes(self, count: int) -> Int8Array:
        """int8 `[P, 5, n, n]`: up to `count` positions, drawn by the seed; empty if there are none."""

    def some_games(self, count: int) -> list[GameRecord]:
        """Up to `count` of the latest games; empty if no games are played."""
        return []

    @abstractmethod
    def files(self) -> list[Path]:
        """The files of the games' store."""

    def close(self) -> None:
        """End the processes that make the data; called after an exception too."""


class GamesDataModule(HexDataModule):
    """Trains on the positions of some games of a store and validates on those of the others."""

    def __init__(
        self, config: HexTrainConfig, profile: DeviceProfile, cache: Path | None = None
    ) -> None:
        """Open the store at `data.path`, its arrays in the folder `cache`, and split it as
        `config.data` says.

        `config.seed` decides the order of each epoch and the turned positions.

        Raises:
            UsageError: there is no training game, or no validation game.
        """
        super().__init__()
        data = config.data
        self.size = config.board
        assert data.path is not None
        self.path = Path(data.path)
        cache = cache or cache_folder() / "games"
        options = ReadOptions(
            config.board,
            config.swap,
            data.claimed_results,
            data.targets,
            data.search_value_share,
            load_targets(config.targets),
        )
        self.positions = GamePositions.open(self.path, options, cache)
        chosen: dict[str, Any] = {
            "share": data.validation_share,
            "seed": data.split_seed,
            "by": data.split,
        }
        sides = split_games(
            self.positions, opening_plies=data.opening_plies, most=data.max_positions, **chosen
        )
        self.training = GameRows(self.positions, sides.train_rows)
        """The training positions."""
        self.validation = GameRows(self.positions, sides.validation_rows)
        """The positions held out for validation."""
        self.seed = config.seed
        names = (
            "validation_share",
            "split",
            "split_seed",
            *(("opening_plies",) if data.split == "opening" else ()),
        )
        self.held_out = {name: getattr(data, name) for name in names}
        """Settings that decide about the games for validation."""
        self.profile = profile

    def train_dataloader(self) -> DataLoader[Any]:
        """Every training position once, in an order that depends on the epoch's number."""
        assert self.trainer is not None
        epoch = self.training.shuffled(
            batch=self.profile.train_batch, seed=self.seed, epoch=self.trainer.current_epoch
        )
        return make_loader(EpochDataset(epoch, ranks()), self.profile, batch_size=None)

    def val_dataloader(self) -> DataLoader[Any]:
        """Every validation position once, in the order of the games, none turned."""
        epoch = self.validation.in_order(batch=self.profile.evaluation_batch)
        return make_loader(EpochDataset(epoch, ranks()), self.profile, batch_size=None)

    def some_planes(self, count: int) -> Int8Array:
        """int8 `[P, 5, n, n]`: up to `count` positions of the validation games, drawn by the seed."""
        rows = np.random.default_rng(self.seed).permutation(self.validation.rows)[:count]
        return self.positions.batch(rows, np.zeros(len(rows), np.bool_)).planes

    def figures(self) -> dict[str, float]:
        """Numbers of games and positions, for the loggers."""
        return {
            name: self.counts()[name]
            for name in ("games", "training_positions", "validation_positions")
        }

    def counts(self) -> dict[str, Any]:
        """Games and positions of both sides, and the games left out of the store, by reason."""
        train = self.training.rows
        validation = self.validation.rows
        games = [len(np.unique(self.positions.games_of(rows))) for rows in (train, validation)]
        beyond = self.positions.games - sum(games)
        return {
            "games": sum(games),
            **dict(zip(("training_games", "validation_games"), games, strict=True)),
            "training_positions": len(train),
            "validation_positions": len(validation),
            "left_out": self.positions.left_out | ({BEYOND: beyond} if beyond else {}),
            "split": self.held_out["split"],
        }

    def account(self, *, validates: bool = True) -> tuple[str, bool]:
        """A line on the games of the store that are used and left out; and whether most are left
        out, seldom meant.

        `validates` is False for a run that mixes the training games into self-play and leaves the
        others out.
        """
        counts = self.counts()
        held_out = 0 if validates else counts["validation_games"]
        left_out = {**counts["left_out"], HELD_OUT: held_out}
        games = sorted(((left_out.get(reason, 0), reason) for reason in _REASONS), reverse=True)
        used = counts["games"] - held_out
        whole = used + sum(count for count, _ in games)
        reasons = ", ".join(f"{count:,} {reason}" for count, reason in games if count)
        rest = f"; left out: {reasons}" if reasons else ""
        rows = [self.training.rows, *([self.validation.rows] if validates else [])]
        targets = self.positions.targets_in_words(np.concatenate(rows))
        return (
            f"data.path={self.path}: {used:,} of {whole:,} games are used, by {targets}{rest}",
            2 * used < whole,
        )

    def state_dict(self) -> dict[str, Any]:
        """The settings that decide about the games for validation."""
        return {"held_out": self.held_out}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a checkpoint, with the same games held out.

        Raises:
            UsageError: the network has been trained on some of the games that would validate it.
        """
        check_unchanged(state_dict["held_out"], self.held_out)

    def files(self) -> list[Path]:
        return part_files(self.path)

    def prepare(self) -> None:
        self.some_planes(1)

    def summary(self) -> dict[str, Any]:
        counts = self.counts()
        positions = counts["training_positions"] + counts["validation_positions"]
        return {"games": counts["games"], "positions": positions, "data": counts}
