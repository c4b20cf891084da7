"""Self-play as a LightningDataModule: every epoch plays games, saves them, and trains on a window of the latest."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.loaders import make_loader
from hexlit.accelerate.profile import DeviceProfile
from hexlit.accelerate.ranks import ranks
from hexlit.accelerate.together import from_writer, gathered
from hexlit.cluster.config import RayConfig
from hexlit.hex.encoding import blank_planes
from hexlit.hex.record import GameRecord
from hexlit.nets.config import NetConfig
from hexlit.search.config import SearchConfig
from hexlit.selfplay.actor import SelfPlayCounts
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.selfplay.dataset import GameRows
from hexlit.selfplay.reanalysis import NewTargets, PastPositions, chosen_positions
from hexlit.selfplay.rounds import Begun, RoundState, SelfPlayRounds
from hexlit.selfplay.store import GameStore
from hexlit.selfplay.window import ReplayWindow
from hexlit.tasks.hex.config import DataConfig
from hexlit.tasks.hex.data_module import HexDataModule
from hexlit.tasks.hex.epoch_data import EpochDataset
from hexlit.tasks.hex.host import Weights, weights_of
from hexlit.tasks.hex.players import make_players
from hexlit.training.phases import Phase, PhaseClock

SHOWN_GAMES = 16
"""Number of latest games kept for display."""

COUNTS = ("games", "positions", "evaluations", "unresigned", "false_resigns")


class SelfPlayDataModule(HexDataModule):
    """Plays with the module's current network whenever Lightning asks for an epoch's data.

    With several ranks, each plays its share of the games, and all learn from all. Games of the first rank go to a
    `GameStore` at once, the others' when all have played. The games in progress are part of the checkpoint, and a
    resumed run continues them. With the same seed on a CPU it plays the same games as the interrupted run would.

    Processes of their own may play (`selfplay.ahead`). They play for the next epoch while the network trains on this
    one's games. Their weights are those of the epoch's beginning: one epoch older than otherwise, or
    `selfplay.versions_behind` epochs.
    """

    def __init__(
        self,
        selfplay: SelfPlayConfig,
        search: SearchConfig,
        replay: DataConfig,
        net: NetConfig,
        *,
        size: int,
        swap: bool,
        seed: int,
        profile: DeviceProfile,
        folder: Path,
        clock: PhaseClock,
        deadline: float | None = None,
        others: GameRows | None = None,
        share: float = 0.0,
        replies: bool = False,
        cluster: RayConfig | None = None,
        accelerator: AcceleratorConfig | None = None,
    ) -> None:
        """Self-play on boards of `size`, with games saved in `folder` and time measured by `clock`.

        `deadline` (on `time.monotonic()`) ends self-play early. A `share` of every batch comes from `others`, recorded
        games; the number of batches does not change. With `replies` the batches hold reply targets. Games are played on
        `cluster`, if it is given; each of its hosts follows `accelerator` as far as it can. None: games are played
        here.
        """
        super().__init__()
        self.config = selfplay
        self.replay = replay
        self.seed = seed
        self.profile = profile
        self.clock = clock
        self.place = ranks()
        self.players = make_players(
            selfplay,
            search,
            net,
            size=size,
            swap=swap,
            seed=seed,
            profile=profile,
            place=self.place,
            cluster=cluster,
            accelerator=accelerator,
        )
        self.memory_share = self.players.memory_share
        self.store = GameStore(folder) if self.place.writes else None
        self.rounds = SelfPlayRounds(
            self.players.player,
            self.store,
            positions=selfplay.positions,
            ahead=self.players.placement.ahead,
            deadline=deadline,
            gather=gathered,
        )
        self.window = ReplayWindow(
            size=size,
            swap=swap,
            capacity=replay.window,
            search_value_share=replay.search_value_share,
            search_value_decay=replay.search_value_decay,
            surprise_share=replay.surprise_share,
            replies=replies,
        )
        self.others = others
        self.share = share
        self.games = 0
        self.positions = 0
        self.evaluations = 0
        self.unresigned = 0
        self.false_resigns = 0
        self._latest = SelfPlayCounts()
        self._behind: list[int] = []
        self._records: list[GameRecord] = []

    def train_dataloader(self) -> DataLoader[Any]:
        """Play an epoch's games; then batches from the window, in proportion to the new positions."""
        assert self.trainer is not None
        epoch = self.trainer.current_epoch
        if self.trainer.should_stop or epoch >= (self.trainer.max_epochs or 10**9):
            batches = self.window.epoch(batch=1, steps=1, seed=0, epoch=0)
            return DataLoader(EpochDataset(batches, self.place), batch_size=None)
        with self.clock.phase("selfplay", epoch, goal=self.config.positions / self.place.size) as phase:
            counts = self._play(epoch, phase)
        if epoch + 1 < (self.trainer.max_epochs or 10**9):
            self.rounds.set_off(self._weights(), epoch, self._past(epoch + 1))
        # Whole games exceed the number by a varying amount.
        new = min(counts.positions + counts.renewed, self.config.positions)
        steps = max(1, math.ceil(new * self.replay.reuse / self.profile.train_batch))
        batches = self.window.epoch(
            batch=self.profile.train_batch,
            steps=steps,
            seed=self.seed,
            epoch=epoch,
            others=self.others,
            share=self.share,
        )
        return make_loader(EpochDataset(batches, self.place), self.profile, batch_size=None)

    def prepare(self) -> None:
        self.players.player.prepare()

    def cpu_seconds(self) -> float:
        return self.players.player.cpu_seconds()

    def summary(self) -> dict[str, Any]:
        return {
            "games": self.games,
            "positions": self.positions,
            "resignations": {"played_on": self.unresigned, "would_have_been_wrong": self.false_resigns},
            "players": self.players.summary(),
        }

    def close(self) -> None:
        self.rounds.close()

    def some_planes(self, count: int) -> np.ndarray[Any, Any]:
        count = min(count, len(self.window))
        if not count:
            return blank_planes(0, self.window.size)
        return self.window.epoch(batch=count, steps=1, seed=self.seed, epoch=0)[0].planes

    def some_games(self, count: int) -> list[GameRecord]:
        return self._records[-count:]

    def files(self) -> list[Path]:
        return [] if self.store is None else self.store.parts()

    def figures(self) -> dict[str, float]:
        """Figures of self-play so far, and of the latest epoch, for the loggers.

        `versions_behind` counts epochs of training from the beginning of a game until the network first learned from
        that game: the mean over the epoch's games, and the most. Later moves of a game come from newer networks.
        """
        counts = self._latest
        renewed = {"renewed": counts.renewed} if self.config.reanalyse_share else {}
        behind = self._behind
        late = {"versions_behind": fmean(behind), "versions_behind_max": max(behind)} if behind else {}
        return {
            "games": self.games,
            "positions": self.positions,
            "window": len(self.window),
            "moves_a_game": counts.moves / max(1, counts.games),
            "games_per_second": counts.games / max(1e-9, counts.seconds),
            "recalled_share": counts.recalled / max(1, counts.recalled + counts.evaluations),
            "false_resign_share": self.false_resigns / max(1, self.unresigned),
            **late,
            **renewed,
        }

    def _play(self, epoch: int, phase: Phase) -> SelfPlayCounts:
        shown = SelfPlayCounts()

        def show(counts: SelfPlayCounts) -> None:
            nonlocal shown
            names = ("games", "positions", "evaluations", "network_seconds")
            phase.add(**{name: getattr(counts, name) - getattr(shown, name) for name in names})
            phase.work_seconds = counts.seconds
            phase.advance(counts.positions + counts.renewed)
            shown = replace(counts)

        records, counts = self.rounds.play(self._weights(), epoch, show, self._past(epoch), self.window.renew)
        self.window.extend(records)
        self._records = list(records)[-SHOWN_GAMES:] or self._records
        self._behind = [epoch - record.network_version for record in records]
        self.games += counts.games
        self.positions += counts.positions
        self.evaluations += counts.evaluations
        self.unresigned += counts.unresigned
        self.false_resigns += counts.false_resigns
        self._latest = counts
        return counts

    def _past(self, epoch: int) -> PastPositions | None:
        """The positions that the round for `epoch` searches again, from the window; a resumed run finds the same."""
        most = round(self.config.reanalyse_share * self.config.positions)
        return chosen_positions(self.window.records, most, seed=self.seed, round=epoch) if most else None

    def _weights(self) -> Weights:
        assert self.trainer is not None
        return weights_of(self.trainer.lightning_module.net_in_use)  # type: ignore[arg-type]  # of a TrainedModule

    def state_dict(self) -> dict[str, Any]:
        """The games in progress, those of the window, and the counts so far, as tensors and numbers.

        The store holds the games. Only the targets that reanalysis has renewed since then are here.
        """
        in_progress, begun = self.rounds.state()
        renewed = self.window.renewed()
        return {
            "in_progress": [_tensors(part) for part in in_progress],
            "ahead": [{"weights": _tensors(one.weights), "network_version": one.network_version} for one in begun],
            "window": torch.tensor(self.window.game_ids, dtype=torch.int64),
            "renewed": None if renewed is None else _tensors(renewed._asdict()),
            **{name: getattr(self, name) for name in COUNTS},
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a checkpoint: the games in progress, and its window.

        Games that have ended since then are in the store already; they are played again and not saved twice.
        """
        ahead = state_dict["ahead"] or []
        rounds = [ahead] if isinstance(ahead, dict) else ahead  # older checkpoints have at most one
        in_progress = [_arrays(part) for part in state_dict["in_progress"]]
        begun = [Begun(_arrays(one["weights"]), one["network_version"]) for one in rounds]
        self.rounds.restore(RoundState(in_progress, begun))
        for name in COUNTS:
            setattr(self, name, state_dict.get(name, 0))  # older checkpoints lack evaluations
        kept = [] if self.store is None else self.store.find(state_dict["window"].tolist())
        self.window.extend(from_writer(kept))
        if state_dict.get("renewed") is not None:  # older checkpoints have no reanalysis
            self.window.renew(NewTargets(**_arrays(state_dict["renewed"])))

    def teardown(self, stage: str) -> None:
        self.close()


def _tensors(arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _arrays(tensors: Mapping[str, torch.Tensor]) -> dict[str, np.ndarray[Any, Any]]:
    return {name: tensor.numpy() for name, tensor in tensors.items()}
