"""Who plays the games of a run, by device and on other machines;
playing beside the training; how late games come.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from hexlit.accelerate import profile
from hexlit.accelerate.ranks import Ranks
from hexlit.hex.record import GameRecord
from hexlit.nets.tower import build_net
from hexlit.selfplay import placement
from hexlit.selfplay.placement import HostMaker
from hexlit.selfplay.workers import LocalPlayer, PlayerSettings, SelfPlayer, WorkerPool
from hexlit.tasks.hex.selfplay_data import SelfPlayDataModule
from hexlit.training.phases import PhaseClock
from tests.selfplay.hosts import AnyHost
from tests.tasks.hex.stand_ins import selfplay_data, session_in
from tests.tasks.hex.test_selfplay_data import profile_of, recipe

SMALL = [
    "board=3",
    "search.simulations=4",
    "selfplay.fast_simulations=2",
    "selfplay.positions=40",
    "selfplay.games=8",
]
SMALL += ["net.channels=4", "net.blocks=[1]", "accelerator.evaluation_batch=8", "data.window=200"]
UNITS = ("games", "positions", "evaluations")
EPOCHS = 4


class Stub:
    """A player that only notes what it is to play."""

    def __init__(self, place: PlayerSettings, workers: int) -> None:
        self.places = place.cut(workers)

    def close(self) -> None:
        pass

    prepare = play = start_async = snapshot = restore = cpu_seconds = close


def cards(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        profile, "cuda_devices", lambda: [torch.device("cuda", number) for number in range(count)]
    )


CAP = "accelerator.memory_cap=8"


@pytest.mark.parametrize(
    ("device", "overrides", "devices", "threads", "caps"),
    [
        ("cpu", ["accelerator.threads=2"], ["cpu"], [1], (None, None)),
        ("cpu", ["accelerator.threads=16"], ["cpu"] * 8, [2] * 8, (None, None)),
        ("mps", ["accelerator.threads=8", CAP], ["mps"], [8], (4, 4)),
        ("cuda", ["accelerator.threads=8", CAP], ["cuda:0"], [8], (4, 4)),
        ("4 cuda", ["accelerator.threads=8"], ["cuda:0"], [8], (None, None)),
    ],
    ids=[
        "cpu, 2 cores",
        "cpu, 16 cores",
        "mps",
        "one cuda",
        "four cuda",
    ],
)
def test_the_device_decides_how_many_processes_play_and_where(
    device: str,
    overrides: list[str],
    devices: list[str],
    threads: list[int],
    caps: tuple[float | None, float | None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All are one epoch ahead of the training, wherever they play."""
    monkeypatch.setattr(placement, "make_player", Stub)
    kind = device.split()[-1]
    cards(4 if device == "4 cuda" else 1, monkeypatch)
    config = recipe(kind, *overrides)
    made = profile_of(config, kind, monkeypatch)
    data = selfplay_data(config, session_in(tmp_path, made))
    stub: Any = data.players.player
    makers: list[HostMaker] = [place.make_host for place in stub.places]
    assert [str(maker.hardware.device) for maker in makers] == devices
    assert [maker.hardware.threads for maker in makers] == threads
    learner = made.with_memory_share(data.memory_share)
    assert (learner.memory_cap, makers[0].hardware.memory_cap) == caps
    assert data.summary()["players"] == {
        "processes": len(devices),
        "devices": list(dict.fromkeys(devices)),
        "versions_behind": 1,
    }


@pytest.mark.parametrize("rank", [0, 1])
def test_every_rank_plays_on_the_card_that_it_trains_on(
    rank: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement, "make_player", Stub)
    cards(2, monkeypatch)
    for name, value in Ranks(rank, 2, rank, 2).environment().items():
        monkeypatch.setenv(name, value)
    config = recipe("cuda")
    profile_of(config, "cuda", monkeypatch)  # with the stand-ins for cuda
    monkeypatch.setattr(
        profile, "choose_device", lambda name, rank, **how: torch.device("cuda", rank)
    )
    data = selfplay_data(config, session_in(tmp_path, profile.build_profile(config.hardware)))
    stub: Any = data.players.player
    assert [str(place.make_host.hardware.device) for place in stub.places] == [f"cuda:{rank}"]
    assert data.ranks.part(4) == slice(rank, None, 2)


class Session:
    """Epochs of a data module as a Trainer asks for them, without a training."""

    def __init__(self, data: SelfPlayDataModule, clock: PhaseClock) -> None:
        module = SimpleNamespace(net_in_use=build_net(recipe("cpu", *SMALL).net))
        self.trainer = SimpleNamespace(
            current_epoch=0, max_epochs=EPOCHS, should_stop=False, lightning_module=module
        )
        self.data, self.clock = data, clock
        data.trainer = self.trainer  # type: ignore[assignment]

    def epochs(
        self, train: Callable[[int], None] = lambda epoch: None
    ) -> Iterator[dict[str, float]]:
        """Logged values after each; `train(epoch)` is its training."""
        for epoch in range(EPOCHS):
            self.trainer.current_epoch = epoch
            self.data.train_dataloader()
            with self.clock.phase("training", epoch):
                train(epoch)
            yield self.data.figures()


def session(folder: Path, *overrides: str) -> Session:
    clock = PhaseClock(folder / "phases.csv", units=UNITS)
    config = recipe("cpu", *SMALL, *overrides)
    data = selfplay_data(config, session_in(folder, profile.build_profile(config.hardware), clock))
    return Session(data, clock)


def with_any_host(workplace: PlayerSettings, workers: int) -> SelfPlayer:
    """The processes of `make_player`, which load no PyTorch."""
    place = PlayerSettings(workplace.games, AnyHost)
    return WorkerPool(place, workers) if workers else LocalPlayer(place)


@pytest.mark.parametrize(
    ("overrides", "least"),
    [
        (["selfplay.workers=0"], [0, 0, 0, 0]),
        (["selfplay.workers=1"], [0, 1, 1, 1]),
        (["selfplay.workers=1", "selfplay.ahead=false"], [0, 0, 0, 0]),
    ],
    ids=["this process", "a worker", "taking turns"],
)
def test_how_late_games_come_to_the_training_is_logged_whoever_plays(
    overrides: list[str], least: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Epochs since the network that a game began with;
    a game that began and ended in one round has the least.
    """
    monkeypatch.setattr(placement, "make_player", with_any_host)
    run = session(tmp_path, *overrides)
    seen: list[list[GameRecord]] = []
    try:
        for epoch, figures in enumerate(run.epochs()):
            seen.append(run.data.some_games(10**6))
            late = [epoch - game.network_version for game in seen[-1]]
            assert min(late) == least[epoch]
            assert figures["versions_behind_max"] >= max(late)
            assert (
                least[epoch]
                <= figures["versions_behind"]
                <= figures["versions_behind_max"]
                <= epoch
            )
        assert (
            figures["versions_behind_max"] > figures["versions_behind"] > least[-1]
        )  # some had begun earlier
    finally:
        run.data.close()


def test_a_smaller_board_is_left_after_its_epochs(tmp_path: Path) -> None:
    smaller = "selfplay.smaller_boards=[2]", "selfplay.smaller_epochs=2"
    run = session(tmp_path, *smaller, "selfplay.workers=0")
    try:
        figures = list(run.epochs())
    finally:
        run.data.close()
    assert [epoch["board"] for epoch in figures] == [2, 2, 3, 3]
    assert all(0 < epoch["brier"] < 1 for epoch in figures)


def test_the_games_of_the_next_epoch_are_played_while_the_network_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Training lasts here until they are all there. No more than one epoch of them waits."""
    monkeypatch.setattr(placement, "make_player", with_any_host)
    run = session(tmp_path, "selfplay.workers=1")
    rounds, kept = run.data.rounds, []

    def train(epoch: int) -> None:
        assert rounds.store is not None
        before, end = len(rounds.store), time.monotonic() + 60
        under_way = rounds._next.ended if rounds._next else None
        while under_way is not None and not under_way.done() and time.monotonic() < end:
            time.sleep(0.01)
        kept.append(len(rounds.store) - before)
        assert (rounds.state().begun is not None) is (epoch + 1 < EPOCHS)

    try:
        for _ in run.epochs(train):
            pass
    finally:
        run.data.close()
    assert all(kept[:-1])
    assert kept[-1] == 0  # nobody would learn from them
    rows = [run.clock.epoch_rows(epoch) for epoch in range(EPOCHS)]
    assert all(row["selfplay"].counts["positions"] >= 40 for row in rows)


def test_a_process_that_plays_keeps_torch_at_its_share_of_the_threads() -> None:
    """Numba starts its threads late,
    and sets the OpenMP that torch uses to all cores; so a fresh process it is.
    """
    program = (
        "import torch\n"
        "from hexlit.accelerate.config import AcceleratorConfig\n"
        "from hexlit.accelerate.profile import build_profile\n"
        "from hexlit.nets.config import NetConfig\n"
        "from hexlit.selfplay.placement import HostMaker\n"
        "profile = build_profile(AcceleratorConfig(device='cpu', threads=2)).share(2)\n"
        "HostMaker(NetConfig(channels=8, blocks=[1]), 3, False, 4, profile)()\n"
        "print(torch.get_num_threads())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1"]
