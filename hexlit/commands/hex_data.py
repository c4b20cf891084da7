"""The training games of a Hex network: its own, recorded ones, or both."""

import logging
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from hexlit.accelerate.profile import DeviceProfile
from hexlit.accelerate.ranks import ranks
from hexlit.files import cache_folder
from hexlit.nets.config import REPLY
from hexlit.tasks.hex.data import SelfPlayDataModule
from hexlit.tasks.hex.data_module import HexDataModule
from hexlit.tasks.hex.games_account import GamesAccount
from hexlit.tasks.hex.games_data import GamesDataModule
from hexlit.tasks.hex.train_config import HexTrainConfig
from hexlit.training.phases import PhaseClock

log = logging.getLogger(__name__)


def make_data(
    config: HexTrainConfig,
    profile: DeviceProfile,
    folder: Path,
    clock: PhaseClock,
    deadline: float | None,
    show: Callable[[GamesAccount], None] = lambda account: None,
) -> HexDataModule:
    """The data of a run; games of self-play are saved in `folder`, and `show` gets the account of recorded ones."""
    recorded = None if config.data.path is None else recorded_games(config, profile)
    if recorded is not None:
        trains_on_games = config.data.source == "games"
        show(recorded.account(validates=trains_on_games))
        if trains_on_games:
            return recorded
    others = None if recorded is None else recorded.training
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


def show_account(console: Console, account: GamesAccount) -> None:
    """Show on `console` which games are used and left out; a warning if most are left out."""
    if not account.mostly_left_out:
        console.print(account.line(), highlight=False, markup=False, soft_wrap=True)
    elif ranks().writes:
        log.warning("most games are left out; %s", account.line())
