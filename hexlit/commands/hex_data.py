"""The games that a Hex network learns from, wired: its own, recorded ones, or both."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from hexlit.accelerate.profile import DeviceProfile
from hexlit.commands.caches import cache_folder
from hexlit.commands.train import TrainConfig
from hexlit.tasks.hex.data import SelfPlayDataModule
from hexlit.tasks.hex.games_data import GamesDataModule
from hexlit.training.phases import PhaseClock


class HexData(Protocol):
    """What a training asks of its data, beside what Lightning does."""

    evaluations: int
    """Network evaluations that making the data has taken so far."""

    def prepare(self, meanwhile: Callable[[], None]) -> None:
        """Compile what makes the data, and beside it what `meanwhile` does."""
        ...

    def cpu_seconds(self) -> float:
        """Processor time of processes that make the data."""
        ...

    def figures(self) -> dict[str, float]:
        """Numbers to log after every epoch."""
        ...

    def summary(self) -> dict[str, Any]:
        """For `summary.json`: `games`, `positions` and what else there is to say."""
        ...

    def some_planes(self, count: int) -> np.ndarray[Any, Any]:
        """int8 `[P, 5, n, n]`: up to `count` positions to compare number formats on."""
        ...

    def close(self) -> None:
        """End what makes the data; also after an exception."""
        ...


def make_data(
    config: TrainConfig, profile: DeviceProfile, folder: Path, clock: PhaseClock, deadline: float | None
) -> Any:
    """The data module of a run, a `HexData`; games of self-play are kept in `folder`."""
    if config.data.source == "games":
        return recorded_games(config, profile)
    others = None if config.data.path is None else recorded_games(config, profile).training
    return SelfPlayDataModule(
        config.selfplay,
        config.search,
        config.data,
        config.net,
        size=config.board,
        swap=config.swap,
        seed=config.seed,
        profile=profile,
        folder=folder,
        clock=clock,
        deadline=deadline,
        others=others,
        share=config.data.mix_share,
    )


def recorded_games(config: TrainConfig, profile: DeviceProfile) -> GamesDataModule:
    """The games at `data.path`, split."""
    data = config.data
    assert data.path is not None
    return GamesDataModule(
        path=Path(data.path),
        size=config.board,
        swap=config.swap,
        seed=config.seed,
        profile=profile,
        cache=cache_folder() / "games",
        validation_share=data.validation_share,
        split=data.split,
        split_seed=data.split_seed,
        opening_plies=data.opening_plies,
        max_positions=data.max_positions,
        claimed_results=data.claimed_results,
    )
