"""Recorded games as a LightningDataModule: their moves, and their winners."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import DataLoader

from hexlit.accelerate.loaders import make_loader
from hexlit.accelerate.profile import DeviceProfile
from hexlit.accelerate.ranks import ranks
from hexlit.errors import UsageError
from hexlit.selfplay.dataset import GamePositions, GameRows
from hexlit.selfplay.splits import split_games
from hexlit.selfplay.store import part_files
from hexlit.tasks.hex.data_module import HexDataModule
from hexlit.tasks.hex.epoch_data import EpochDataset
from hexlit.tasks.hex.games_account import BEYOND, HELD_OUT, GamesAccount


class GamesDataModule(HexDataModule):
    """Trains on the positions of some games of a store and validates on those of the others."""

    def __init__(
        self,
        *,
        path: Path,
        size: int,
        swap: bool,
        seed: int,
        profile: DeviceProfile,
        cache: Path,
        validation_share: float = 0.2,
        split: str = "game",
        split_seed: int = 42,
        opening_plies: int = 2,
        max_positions: int = 500_000,
        claimed_results: bool = False,
    ) -> None:
        """Open the store at `path`, its arrays in `cache`, and split it; see `GamePositions.open` and `split_games`.

        `seed` decides the order of each epoch and the turned positions; `split_seed` decides the games for validation.

        Raises:
            UsageError: there is no training game, or no validation game.
        """
        super().__init__()
        self.positions = GamePositions.open(path, size=size, swap=swap, cache=cache, claimed_results=claimed_results)
        sides = split_games(
            self.positions,
            share=validation_share,
            seed=split_seed,
            by=split,
            opening_plies=opening_plies,
            most=max_positions,
        )
        self.training = GameRows(self.positions, sides.train_rows)
        """The training positions."""
        self.validation = GameRows(self.positions, sides.validation_rows)
        """The positions held out for validation."""
        self.path = path
        self.seed = seed
        self.split = split
        self.held_out: dict[str, Any] = {
            "validation_share": validation_share,
            "split": split,
            "split_seed": split_seed,
            **({"opening_plies": opening_plies} if split == "opening" else {}),
        }
        """Settings that decide about the games for validation."""
        self.profile = profile

    def train_dataloader(self) -> DataLoader[Any]:
        """Every training position once, in an order that depends on the epoch's number."""
        assert self.trainer is not None
        epoch = self.training.shuffled(batch=self.profile.train_batch, seed=self.seed, epoch=self.trainer.current_epoch)
        return make_loader(EpochDataset(epoch, ranks()), self.profile, batch_size=None)

    def val_dataloader(self) -> DataLoader[Any]:
        """Every validation position once, in the order of the games, none turned."""
        epoch = self.validation.in_order(batch=self.profile.evaluation_batch)
        return make_loader(EpochDataset(epoch, ranks()), self.profile, batch_size=None)

    def some_planes(self, count: int) -> NDArray[np.int8]:
        """int8 `[P, 5, n, n]`: up to `count` positions of the validation games, drawn by the seed."""
        rows = np.random.default_rng(self.seed).permutation(self.validation.rows)[:count]
        return self.positions.batch(rows, np.zeros(len(rows), np.bool_)).planes

    def figures(self) -> dict[str, float]:
        """Numbers of games and positions, for the loggers."""
        counts = self.counts()
        names = ("games", "training_positions", "validation_positions")
        return {name: counts[name] for name in names}

    def counts(self) -> dict[str, Any]:
        """Games and positions of both sides, and the games left out of the store, by reason."""
        games = [len(np.unique(self.positions.games_of(side.rows))) for side in (self.training, self.validation)]
        beyond = self.positions.games - sum(games)
        return {
            "games": sum(games),
            "training_games": games[0],
            "validation_games": games[1],
            "training_positions": len(self.training.rows),
            "validation_positions": len(self.validation.rows),
            "left_out": self.positions.left_out | ({BEYOND: beyond} if beyond else {}),
            "split": self.split,
        }

    def account(self, *, validates: bool = True) -> GamesAccount:
        """The games of the store that are used, and those that are left out.

        `validates` is False for a run that mixes the training games into self-play and leaves the others out.
        """
        counts = self.counts()
        held_out = 0 if validates else counts["validation_games"]
        left_out = {**counts["left_out"], HELD_OUT: held_out}
        return GamesAccount(self.path, self.positions.size, counts["games"] - held_out, left_out)

    def state_dict(self) -> dict[str, Any]:
        """The settings that decide about the games for validation."""
        return {"held_out": self.held_out}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a checkpoint, with the same games held out.

        Raises:
            UsageError: the network has been trained on some of the games that would validate it.
        """
        for name, was in state_dict["held_out"].items():
            if self.held_out[name] != was:
                raise UsageError(
                    f"data.{name}={self.held_out[name]}: the run was started with data.{name}={was}; keep it to "
                    "resume, as other games would validate than those held out so far"
                )

    def files(self) -> list[Path]:
        return part_files(self.path)

    def prepare(self) -> None:
        self.some_planes(1)

    def summary(self) -> dict[str, Any]:
        counts = self.counts()
        return {
            "games": counts["games"],
            "positions": counts["training_positions"] + counts["validation_positions"],
            "data": counts,
        }
