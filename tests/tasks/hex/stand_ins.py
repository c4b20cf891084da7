"""Stand-ins for the packaged networks: small files with random weights,
in a folder of the test; and for a session.
"""

from pathlib import Path
from typing import Any

import pytest

from hexlit.accelerate.profile import DeviceProfile
from hexlit.tasks.hex import packaged
from hexlit.tasks.hex.checkpoint import write_safetensors
from hexlit.tasks.hex.config import HexTrainConfig
from hexlit.tasks.hex.selfplay_data import SelfPlayDataModule
from hexlit.tasks.hex.warmup import start_players
from hexlit.training.phases import PhaseClock
from hexlit.training.task import Session
from tests.nets.test_evaluator import trained_like

KNOWS_SWAP = {"small": False, "large": True}
SIZE = {"small": 3, "large": 8}


def put_networks(monkeypatch: pytest.MonkeyPatch, folder: Path, *names: str) -> None:
    """Let hexlit find the networks `names` in `folder` and no others;
    each has weights of its own.
    """
    folder.mkdir(exist_ok=True)
    for seed, name in enumerate(names):
        net = trained_like(seed, channels=8, blocks=[1])
        write_safetensors(
            net,
            folder / f"{name}.safetensors",
            size=SIZE[name],
            swap=KNOWS_SWAP[name],
            dtype="float16",
        )
    monkeypatch.setattr(packaged, "FOLDER", folder)


def session_in(folder: Path, profile: DeviceProfile, clock: PhaseClock | None = None) -> Session:
    """A session of a run in `folder`, without a display."""
    shown: Any = None
    return Session(
        folder, profile, clock or PhaseClock(None), shown, first_epoch=0, trial=False, deadline=None
    )


def selfplay_data(config: HexTrainConfig, session: Session) -> SelfPlayDataModule:
    """The data of a run whose players have just started."""
    return SelfPlayDataModule(config, session, start_players(config, session.profile))
