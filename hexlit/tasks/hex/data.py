"""Self-play as a LightningDataModule: every epoch plays games, keeps them, and trains on a window of the latest."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset

from hexlit.accelerate.profile import DeviceProfile
from hexlit.errors import UsageError
from hexlit.hex.record import GameRecord
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.search.config import SearchConfig
from hexlit.selfplay.actor import SelfPlay, SelfPlayCounts
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.selfplay.store import GameStore
from hexlit.selfplay.window import Batch, ReplayEpoch, ReplayWindow
from hexlit.tasks.hex.config import ReplayConfig
from hexlit.tasks.hex.module import HexModule
from hexlit.training.phases import Phase, PhaseClock


class SelfPlayDataModule(L.LightningDataModule):
    """Plays with the module's current network whenever Lightning asks for an epoch's data.

    The games go to a `GameStore` at once. The games in progress are part of the checkpoint; a resumed run goes on with
    them, and with the same seed on a CPU it plays the games that the interrupted run would have played.
    """

    def __init__(
        self,
        selfplay: SelfPlayConfig,
        search: SearchConfig,
        replay: ReplayConfig,
        *,
        size: int,
        swap: bool,
        seed: int,
        profile: DeviceProfile,
        folder: Path,
        clock: PhaseClock,
        deadline: float | None = None,
    ) -> None:
        """Self-play on boards of `size`, its games kept in `folder`, its time measured by `clock`.

        `deadline` (on `time.monotonic()`) ends self-play early.
        """
        super().__init__()
        self.config = selfplay
        self.replay = replay
        self.size = size
        self.swap = swap
        self.seed = seed
        self.profile = profile
        self.clock = clock
        self.deadline = deadline
        self.actor = SelfPlay(selfplay, search, size=size, games=profile.selfplay_games, seed=seed, swap=swap)
        self.store = GameStore(folder)
        self.window = ReplayWindow(
            size=size, swap=swap, capacity=replay.window, search_value_share=replay.search_value_share
        )
        self.evaluator: NetworkEvaluator | None = None
        self.games = 0
        self.positions = 0
        self.unresigned = 0
        self.false_resigns = 0
        self.on_epoch_played: Callable[[SelfPlayCounts], None] | None = None

    def train_dataloader(self) -> DataLoader[Any]:
        """Play an epoch's games; then batches from the window, as many as the new positions ask for."""
        trainer = self.trainer
        assert trainer is not None
        epoch = trainer.current_epoch
        with self.clock.phase("selfplay", epoch, goal=self.config.positions) as phase:
            counts = self._play(epoch, phase)
        if self.on_epoch_played is not None:
            self.on_epoch_played(counts)
        steps = max(1, math.ceil(counts.positions * self.replay.reuse / self.profile.train_batch))
        batches = self.window.epoch(batch=self.profile.train_batch, steps=steps, seed=self.seed, epoch=epoch)
        # No workers: rebuilding a batch takes a fraction of a millisecond, sending it from a process takes longer.
        return DataLoader(WindowDataset(batches), batch_size=None, pin_memory=self.profile.pin_memory)

    def refreshed_evaluator(self) -> NetworkEvaluator:
        """The evaluator of self-play with the network's current weights."""
        assert self.trainer is not None
        module = self.trainer.lightning_module
        assert isinstance(module, HexModule)
        net = module.net
        if self.evaluator is None:
            self.evaluator = NetworkEvaluator(
                net, size=self.size, swap=self.swap, batch=self.profile.selfplay_games, profile=self.profile
            )
        else:
            self.evaluator.refresh(net)
        return self.evaluator

    def _play(self, epoch: int, phase: Phase) -> SelfPlayCounts:
        evaluator = self.refreshed_evaluator()
        shown = SelfPlayCounts()

        def on_games(records: list[GameRecord], counts: SelfPlayCounts) -> None:
            nonlocal shown
            self.store.append(records)
            self.window.extend(records)
            show(counts)

        def show(counts: SelfPlayCounts) -> None:
            nonlocal shown
            phase.add(
                games=counts.games - shown.games,
                positions=counts.positions - shown.positions,
                evaluations=counts.evaluations - shown.evaluations,
                network_seconds=counts.network_seconds - shown.network_seconds,
            )
            phase.advance(counts.positions)
            shown = SelfPlayCounts(**vars(counts))

        counts = self.actor.play(
            evaluator,
            positions=self.config.positions,
            network_version=epoch,
            on_games=on_games,
            deadline=self.deadline,
        )
        show(counts)
        self.store.flush()
        self.games += counts.games
        self.positions += counts.positions
        self.unresigned += counts.unresigned
        self.false_resigns += counts.false_resigns
        return counts

    def state_dict(self) -> dict[str, Any]:
        """The games in progress and the counts so far, as tensors and numbers."""
        snapshot = {name: torch.from_numpy(array) for name, array in self.actor.snapshot().items()}
        names = ("games", "positions", "unresigned", "false_resigns")
        return {"in_progress": snapshot, **{name: getattr(self, name) for name in names}}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a checkpoint: the games in progress, and the window as it was then."""
        self.actor.restore({name: tensor.numpy() for name, tensor in state_dict["in_progress"].items()})
        for name in ("games", "positions", "unresigned", "false_resigns"):
            setattr(self, name, state_dict[name])
        if len(self.store) < self.games:
            raise UsageError(
                f"{self.store.folder} holds {len(self.store)} games, the checkpoint was made after {self.games}: "
                "restore the missing part files, or start a new run"
            )
        # Games after these were finished by the run that was killed; they are played again, and found in the store.
        records = self.store.records()
        self.window.extend(record for _, record in zip(range(self.games), records, strict=False))


class WindowDataset(Dataset[Batch]):
    """The batches of one epoch, as tensors."""

    def __init__(self, epoch: ReplayEpoch) -> None:
        """The batches of `epoch`."""
        self._epoch = epoch

    def __len__(self) -> int:
        """Number of batches."""
        return len(self._epoch)

    def __getitem__(self, step: int) -> Batch:
        """Batch number `step`."""
        return Batch(*(torch.from_numpy(array) for array in self._epoch[step]))  # type: ignore[arg-type]
