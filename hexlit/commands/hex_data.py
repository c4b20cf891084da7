"""The training games of a Hex network: its own, recorded ones, or both."""

from pathlib import Path

from hexlit.accelerate.profile import DeviceProfile
from hexlit.files import cache_folder
from hexlit.nets.config import REPLY
from hexlit.tasks.hex.data import SelfPlayDataModule
from hexlit.tasks.hex.data_module import HexDataModule
from hexlit.tasks.hex.games_data import GamesDataModule
from hexlit.tasks.hex.train_config import HexTrainConfig
from hexlit.training.phases import PhaseClock


def make_data(
    config: HexTrainConfig, profile: DeviceProfile, folder: Path, clock: PhaseClock, deadline: float | None
) -> HexDataModule:
    """The data of a run; games of self-play are saved in `folder`."""
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
        replies=REPLY in config.auxiliary,
        cluster=config.ray if config.selfplay.where == "ray" else None,
        accelerator=config.hardware,
    )


def recorded_games(config: HexTrainConfig, profile: DeviceProfile) -> GamesDataModule:
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
