"""Self-play as a LightningDataModule: every epoch plays games, saves them, and trains on a window
of the latest.
"""

import math
from collections import Counter
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from hexlit.accelerate.collectives import all_gather, broadcast
from hexlit.accelerate.loaders import make_loader
from hexlit.accelerate.ranks import ranks
from hexlit.hex.encoding import blank_planes
from hexlit.hex.record import GameRecord
from hexlit.selfplay.actor import SelfPlayCounts
from hexlit.selfplay.dataset import GameRows
from hexlit.selfplay.placement import Players, Weights, as_arrays, as_tensors, weights_of
from hexlit.selfplay.rounds import Begun, RoundState, SelfPlayRounds
from hexlit.selfplay.store import GameStore
from hexlit.selfplay.targets import load_targets
from hexlit.selfplay.window import ReplayWindow, brier_score
from hexlit.tasks.hex.config import HexTrainConfig
from hexlit.tasks.hex.data import HexDataModule
from hexlit.tasks.hex.epoch_data import EpochDataset
from hexlit.training.phases import Phase
from hexlit.training.task import Session

SHOWN_GAMES = 16
"""Number of latest games kept for display."""

UNITS = ("games", "positions", "evaluations")
"""Units of the phase of self-play."""

COUNTS = ("games", "positions", "unresigned", "false_resigns")
"""Counts of the whole run, kept in its checkpoints."""


class SelfPlayDataModule(HexDataModule):
    """Plays with the module's current network whenever Lightning asks for an epoch's data.

    With several ranks, each plays its share of the games, and all learn from all. Games of the
    first rank go to a `GameStore` at once, the others' when all have played. The games in progress
    are part of the checkpoint, and a resumed run continues them. With the same seed on a CPU it
    plays the same games as the interrupted run would.

    Other processes may play (`selfplay.ahead`). They play for the next epoch while the
    network trains on this one's games. Their weights are those of the epoch's beginning: one epoch
    older than otherwise.
    """

    def __init__(
        self,
        config: HexTrainConfig,
        session: Session,
        players: Players,
        others: GameRows | None = None,
    ) -> None:
        """Games of `config` by `players`, saved in the folder of `session`.

        A share `data.mix_share` of every batch comes from `others`, recorded games; the number of
        batches stays.
        """
        super().__init__()
        self.config = config.selfplay
        self.replay = replay = config.data
        self.board_of = partial(self.config.board_of, board=config.board)
        self.seed = config.seed
        self.profile = session.profile
        self.clock = session.clock
        self.ranks = ranks()
        self.players = players
        self.memory_share = self.players.memory_share
        self.other_processes = self.players.placement.workers if self.players.placement.ahead else 0
        self.store = GameStore(session.folder / "games") if self.ranks.writes else None
        self.rounds = SelfPlayRounds(
            self.players.player,
            self.store,
            positions=self.config.positions,
            ahead=self.players.placement.ahead,
            deadline=session.deadline,
            gather=all_gather,
            board_of=self.board_of,
        )
        self.size = config.board
        boards = *self.config.smaller_boards, config.board
        targets = load_targets(config.targets)
        self.windows = {}
        for size in boards:
            self.windows[size] = ReplayWindow(
                size, config.swap, replay.window, replay.search_value_share, targets
            )
        self.evaluations: dict[int, int] = dict.fromkeys(self.windows, 0)
        self.others = others
        self.totals = dict.fromkeys(COUNTS, 0)
        self._latest = SelfPlayCounts()
        self._brier = 1.0
        self._behind: list[int] = []
        self._records: list[GameRecord] = []

    @property
    def window(self) -> ReplayWindow:
        """The games on the board of this epoch."""
        return self.windows[self.size]

    def train_dataloader(self) -> DataLoader[Any]:
        """Play an epoch's games; then batches from the window, in proportion to the new positions."""
        assert self.trainer is not None
        epoch = self.trainer.current_epoch
        last = self.trainer.max_epochs or math.inf
        if self.trainer.should_stop or epoch >= last:  # Lightning asks once more, and reads nothing
            window = max(self.windows.values(), key=len)
            batches = window.epoch(batch=1, steps=1, seed=0, epoch=0)
            return DataLoader(EpochDataset(batches, self.ranks), batch_size=None)
        games_until = last - self.replay.replay_epochs
        if epoch < games_until:
            self.size = self.board_of(epoch)
            with self.clock.phase(
                "selfplay", epoch, goal=self.config.positions / self.ranks.size
            ) as phase:
                counts = self._play(epoch, phase)
            # Whole games exceed the number by a varying amount.
            new = min(counts.positions, self.config.positions)
        else:
            self._take_games_again()
            new = self.config.positions
        if self.players.placement.ahead and epoch + 1 < games_until:
            self.rounds.start_async(self._weights(), epoch)
        steps = max(1, math.ceil(new * self.replay.reuse / self.profile.train_batch))
        mixed: dict[str, Any] = {"others": self.others, "share": self.replay.mix_share}
        batches = self.window.epoch(
            batch=self.profile.train_batch, steps=steps, seed=self.seed, epoch=epoch, **mixed
        )
        return make_loader(EpochDataset(batches, self.ranks), self.profile, batch_size=None)

    def prepare(self) -> None:
        self.players.player.prepare()

    def cpu_seconds(self) -> float:
        return self.players.player.cpu_seconds()

    def summary(self) -> dict[str, Any]:
        games, positions, unresigned, false_resigns = self.totals.values()
        resignations = {"played_on": unresigned, "would_have_been_wrong": false_resigns}
        placement = self.players.placement
        players = {
            "processes": placement.workers,
            "devices": [self.players.device],
            "versions_behind": int(placement.ahead),
        }
        return {
            "games": games,
            "positions": positions,
            "resignations": resignations,
            "players": players,
        }

    def close(self) -> None:
        self.rounds.close()

    def some_planes(self, count: int) -> np.ndarray[Any, Any]:
        size, window = list(self.windows.items())[-1]  # of the board of the run
        count = min(count, len(window))
        if count == 0:
            return blank_planes(0, size)
        epoch = window.epoch(batch=count, steps=1, seed=self.seed, epoch=0)
        return epoch[0].planes

    def some_games(self, count: int) -> list[GameRecord]:
        return self._records[-count:]

    def files(self) -> list[Path]:
        return [] if self.store is None else self.store.parts()

    def figures(self) -> dict[str, float]:
        """Figures of self-play so far, and of the latest epoch, for the loggers.

        `versions_behind` counts epochs of training from the beginning of a game until the network
        first learned from that game: the mean over the epoch's games, and the most. Later moves of
        a game come from newer networks.
        """
        counts = self._latest
        behind = self._behind
        late = (
            {"versions_behind": fmean(behind), "versions_behind_max": max(behind)} if behind else {}
        )
        return {
            "board": self.size,
            "games": self.totals["games"],
            "positions": self.totals["positions"],
            "window": len(self.window),
            "brier": self._brier,
            "moves_a_game": counts.moves / max(1, counts.games),
            "games_per_second": counts.games / max(1e-9, counts.seconds),
            "recalled_share": counts.recalled / max(1, counts.recalled + counts.evaluations),
            "false_resign_share": self.totals["false_resigns"] / max(1, self.totals["unresigned"]),
            **late,
        }

    def _play(self, epoch: int, phase: Phase) -> SelfPlayCounts:
        def show(counts: SelfPlayCounts) -> None:
            phase.counts = Counter({unit: getattr(counts, unit) for unit in UNITS})
            phase.network_seconds = counts.network_seconds
            phase.work_seconds = counts.seconds
            phase.advance(counts.positions)

        records, counts = self.rounds.play(self._weights(), epoch, show)
        self.window.extend(records)
        self._records = list(records)[-SHOWN_GAMES:] or self._records
        self._behind = [epoch - record.network_version for record in records]
        self.totals = {name: total + getattr(counts, name) for name, total in self.totals.items()}
        self.evaluations[self.size] += counts.evaluations
        self._latest = counts
        self._brier = brier_score(records)
        return counts

    def _take_games_again(self) -> None:
        """Fill the window of the run's board with all of its games, unless it has them."""
        self._latest = SelfPlayCounts()
        self._behind = []
        *_, (self.size, window) = self.windows.items()
        if window.capacity < math.inf:
            records = []
            if self.store is not None:
                records = [record for record in self.store.records() if record.size == self.size]
            # The games of several workers end in any order; learning must not depend on it.
            records.sort(key=lambda record: record.game_id)
            self.windows[self.size] = ReplayWindow(
                self.size, window.swap, math.inf, window.search_value_share, window.targets
            )
            self.window.extend(broadcast(records))

    def _weights(self) -> Weights:
        assert self.trainer is not None
        return weights_of(self.trainer.lightning_module.net_in_use)  # type: ignore[arg-type]  # of a TrainedModule

    def state_dict(self) -> dict[str, Any]:
        """The games in progress, the ids of those of the window, and the counts so far, as tensors
        and numbers.
        """
        game_ids: list[int] = []
        for window in self.windows.values():
            game_ids += window.game_ids
        in_progress, begun = self.rounds.state()
        ahead = []
        if begun is not None:
            weights = as_tensors(begun.weights)
            ahead = [{"weights": weights, "network_version": begun.network_version}]
        return {
            "in_progress": [as_tensors(part) for part in in_progress],
            "ahead": ahead,
            "window": torch.tensor(game_ids, dtype=torch.int64),
            "boards": self.evaluations,
            **self.totals,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a checkpoint: the games in progress, and its window.

        Games that have ended since then are in the store already; they are played again and not
        saved twice.
        """
        in_progress = [as_arrays(part) for part in state_dict["in_progress"]]
        begun = None
        for round_ahead in state_dict["ahead"]:  # at most one
            begun = Begun(as_arrays(round_ahead["weights"]), round_ahead["network_version"])
        self.rounds.restore(RoundState(in_progress, begun))
        self.totals = {name: state_dict[name] for name in COUNTS}
        records = [] if self.store is None else self.store.find(state_dict["window"].tolist())
        records = broadcast(records)
        for size, window in self.windows.items():
            window.extend(record for record in records if record.size == size)
        self.evaluations |= state_dict["boards"]
