"""A run killed at any moment continues and ends as if nothing had happened;
no finished game is lost.
"""

import json
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest
import torch

from hexlit.commands.train import main
from hexlit.hex.record import GameRecord
from hexlit.selfplay.store import GameStore
from hexlit.training.phases import ONCE
from tests.commands.preloaded import HEXLIT, run_program
from tests.commands.tiny import TINY
from tests.selfplay.same_games import same
from tests.tables import rows_of

OVERRIDES = [*TINY, "trainer.max_epochs=4"]

# Runs hexlit and kills its own process, which nothing can catch: at call number COUNT of what WHERE
# names, or WHERE seconds after the first game has been asked for.
KILLER = """
import os, signal, sys, threading
from pathlib import Path
from hexlit.commands.train import main
from hexlit.arena.strength import Strength
from hexlit.hex.record import GameRecord
from hexlit.selfplay.actor import SelfPlay
from hexlit.selfplay.store import GameStore
from hexlit.tasks.hex.module import HexModule
import lightning as L
from hexlit.training import run

where, count, *arguments = sys.argv[1:]
left = int(count)

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def wrap(owner, name, before=None, after=None):
    inner = getattr(owner, name)
    def outer(*args, **kwargs):
        if before: before()
        result = inner(*args, **kwargs)
        if after: after()
        return result
    setattr(owner, name, outer)

def tick():
    global left
    left -= 1
    if left < 0:
        die()

points = {
    "game": (GameStore, "append", None, tick),
    "part": (GameStore, "_write_part", None, tick),
    "step": (HexModule, "training_step", tick, None),
    "evaluation": (Strength, "measure", tick, None),
    "evaluated": (Strength, "measure", None, tick),
    "checkpoint": (L.Trainer, "save_checkpoint", tick, None),
    "saved": (L.Trainer, "save_checkpoint", None, tick),
    "summary": (run, "write_json_atomic", tick, None),
}
if where in points:
    wrap(*points[where])
elif where != "never":
    start = threading.Timer(float(where), die)
    wrap(SelfPlay, "play", before=lambda: start.is_alive() or start.finished.is_set() or start.start())
sys.exit(main(arguments))
"""


# Hears Ctrl-C even where the tests were started by a shell that lets its background jobs ignore it.
LISTENS = """
import signal, sys
from hexlit.cli import main

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main(sys.argv[1:]))
"""


def hexlit(where: str, count: int, *overrides: str) -> int:
    """Exit code of `hexlit train`, -9 where it was killed."""
    code, output = run_program(KILLER, where, str(count), *overrides)
    assert code in (0, -signal.SIGKILL), output
    return code


def games_of(folder: Path) -> list[GameRecord]:
    return list(GameStore(folder / "games").records())


def games_on_disk(folder: Path, room: Path) -> set[int]:
    """Ids of the games that a kill has left,
    looked up in a copy, as opening a store tidies it up.
    """
    room.mkdir()
    for path in (folder / "games").glob("*"):
        (room / path.name).write_bytes(path.read_bytes())
    return {record.game_id for record in GameStore(room).records()}


def assert_ends_alike(folder: Path, expected: Path, survivors: set[int]) -> None:
    """The run in `folder` has come to what the uninterrupted one has,
    and holds the games of `survivors`.
    """
    found, wanted = games_of(folder), {record.game_id: record for record in games_of(expected)}
    ids = [record.game_id for record in found]
    assert len(ids) == len(set(ids)), "a game is kept twice"
    assert survivors <= set(ids), "a finished game was lost"
    assert set(ids) == set(wanted)
    assert [record.game_id for record in found if not same(record, wanted[record.game_id])] == []
    kept, weights = (
        torch.load(path / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"]
        for path in (folder, expected)
    )
    assert kept.keys() == weights.keys()
    assert [name for name in kept if not torch.equal(kept[name], weights[name])] == []
    for name in ("metrics.csv", "phases.csv"):
        # Every session starts, compiles, or loads what was compiled.
        keys, wanted_keys = (
            [
                (row["epoch"], row.get("phase"))
                for row in rows_of(path / name)
                if row.get("phase") not in ONCE
            ]
            for path in (folder, expected)
        )
        assert keys == wanted_keys, name
    for row, other in zip(
        rows_of(folder / "metrics.csv"), rows_of(expected / "metrics.csv"), strict=True
    ):
        learned = {name for name in other if name.startswith(("train.", "strength.", "cost.flops"))}
        assert {name: row[name] for name in learned} == {name: other[name] for name in learned}
    summary, wanted_summary = (
        json.loads((path / "summary.json").read_text()) for path in (folder, expected)
    )
    for name in ("epochs", "games", "positions", "strength", "best", "resignations"):
        assert summary[name] == wanted_summary[name], name
    assert summary["cost"]["flops"] == wanted_summary["cost"]["flops"]
    phases = sum(row["wall_seconds"] for row in summary["phases"].values())
    wall = summary["wall_seconds"]
    assert 0.98 * wall <= phases <= wall, (
        "E3, F5: the phases of all sessions, and all their wall time"
    )


def killed_and_resumed(
    folder: Path, kills: list[tuple[str, int]], room: Path, more: Sequence[str] = ()
) -> set[int]:
    """Start the run and resume it after every kill;
    the ids of all games that were on disk at a kill.
    """
    survivors: set[int] = set()
    overrides = [*OVERRIDES, *more, f"hydra.run.dir={folder}"]
    for number, (where, count) in enumerate([*kills, ("never", 0)]):
        if hexlit(where, count, *overrides) == 0:
            break
        survivors |= games_on_disk(folder, room / f"kill-{number}")
        overrides = [f"resume={folder}"]
    assert (folder / "summary.json").exists()
    return survivors


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("uninterrupted") / "run"
    assert hexlit("never", 0, *OVERRIDES, f"hydra.run.dir={folder}") == 0
    return folder


def test_a_run_killed_in_every_phase_ends_as_the_uninterrupted_one(
    uninterrupted: Path, tmp_path: Path
) -> None:
    """In the first self-play, in an optimisation, in an evaluation, between a checkpoint and the
    row of its epoch in metrics.csv, and when only the summary is missing.
    """
    chance = random.Random(2026)
    kills = [
        ("game", chance.randrange(1, 8)),
        ("step", 5 + chance.randrange(5)),
        ("evaluation", 1),
        ("saved", 1),
        ("summary", 0),
    ]
    survivors = killed_and_resumed(tmp_path / "run", kills, tmp_path)
    assert survivors
    assert_ends_alike(tmp_path / "run", uninterrupted, survivors)


@pytest.mark.slow
def test_a_killed_run_whose_workers_were_ahead_ends_as_the_uninterrupted_one(
    tmp_path: Path,
) -> None:
    """The games of the next epoch were under way."""
    workers = ["selfplay.workers=2", "trainer.max_epochs=4"]
    expected = tmp_path / "uninterrupted"
    assert hexlit("never", 0, *OVERRIDES, *workers, f"hydra.run.dir={expected}") == 0
    survivors = killed_and_resumed(
        tmp_path / "run", [("saved", 1), ("evaluated", 1)], tmp_path, workers
    )
    assert survivors
    assert_ends_alike(tmp_path / "run", expected, survivors)


@pytest.mark.slow  # three runs, two of them killed in processes of their own
def test_a_killed_run_that_ends_early_ends_as_the_uninterrupted_one(tmp_path: Path) -> None:
    """Its patience, its best weights and its end survive when only the summary is missing."""
    more = ["trainer.max_epochs=30", "trainer.patience=2", "trainer.ema_decay=0.5"]
    expected = tmp_path / "uninterrupted"
    assert hexlit("never", 0, *OVERRIDES, *more, f"hydra.run.dir={expected}") == 0
    summary = json.loads((expected / "summary.json").read_text())
    assert summary["epochs"] < 30
    assert summary["best"]["restored"]
    survivors = killed_and_resumed(tmp_path / "run", [("saved", 3), ("summary", 0)], tmp_path, more)
    assert_ends_alike(tmp_path / "run", expected, survivors)


def interrupted(
    sent: signal.Signals, epoch: int, overrides: list[str], cwd: Path
) -> tuple[str, list[psutil.Process]]:
    """What a run says after a signal in the training of `epoch`,
    and the processes that it had started until then.
    """
    command = [sys.executable, "-c", LISTENS, "train", *overrides]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd
    ) as run:
        assert run.stdout is not None
        for line in run.stdout:
            if f"epoch {epoch} of 1000  training" in line:
                break
        workers = psutil.Process(run.pid).children()
        run.send_signal(sent)
        rest = run.stdout.read()
        assert run.wait(timeout=60) == 130, rest
    assert "Traceback" not in rest
    return rest, workers


@pytest.mark.slow  # a run with workers in a process of its own
def test_ctrl_c_ends_a_run_at_once_though_its_workers_are_ahead(tmp_path: Path) -> None:
    """The games under way are not waited for,
    those that have ended are kept, and no process is left.
    """
    folder = tmp_path / "run"
    long = [
        "selfplay.workers=2",
        "selfplay.positions=3000",
        "data.reuse=0.1",
        "trainer.max_epochs=1000",
    ]
    overrides = [*TINY, *long, "trainer.max_time=0:01:30", f"hydra.run.dir={folder}"]
    _, workers = interrupted(signal.SIGINT, 1, overrides, tmp_path)
    assert len(workers) >= 2
    psutil.wait_procs(workers, timeout=10)
    assert [worker for worker in workers if worker.is_running()] == []
    assert not (folder / "games" / "journal.arrows").exists()


@pytest.mark.parametrize(
    "sent", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM]
)
def test_an_interrupted_run_says_what_it_had_reached_and_how_to_go_on(
    sent: signal.Signals, tmp_path: Path
) -> None:
    """Ctrl-C, and what batch systems send before they kill."""
    overrides = [*TINY, "trainer.max_epochs=1000", "trainer.max_time=1:00:00", "hydra.run.dir=run"]
    rest, _ = interrupted(sent, 2, overrides, tmp_path)
    said, command_line = rest.splitlines()[-2:]
    assert re.match(
        r"The run was interrupted after \d+ of 1000 epochs, before its target: openings \d/9, search",
        said,
    )
    assert command_line == "To continue to its end: hexlit train resume=run trainer.max_time=null"
    assert not (tmp_path / "run" / "summary.json").exists()


def contents(folder: Path) -> dict[Path, bytes]:
    """Every file of a run but its log."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".log"]
    return {path.relative_to(folder): path.read_bytes() for path in files}


def test_resuming_a_finished_run_says_what_it_reached_and_changes_nothing(
    uninterrupted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(uninterrupted, folder)
    assert main([f"resume={folder}"]) == 0
    said = " ".join("".join(capsys.readouterr()).split())
    assert re.search(r"This run has done all its 4 epochs, with .*search_optimality [\d.]+, ", said)
    assert contents(folder) == contents(uninterrupted)


STOPS = """
from lightning.pytorch.callbacks import EarlyStopping

class Stops(EarlyStopping):
    def __init__(self, after):
        super().__init__("train.loss")
        self.after = after

    def on_train_epoch_end(self, trainer, pl_module):
        trainer.should_stop |= trainer.current_epoch + 1 >= self.after
"""
STOPPED = ["+callbacks.mine._target_=stops.Stops", "+callbacks.mine.after=2"]


@pytest.fixture
def stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stops.py").write_text(STOPS)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize(
    ("settings", "why", "trains_on"),
    [
        (
            ["evaluation.target.evaluations=1"],
            "it reached its target",
            ["evaluation.target.enabled=false"],
        ),
        (
            ["trainer.patience=1", "optimizer.lr=1e-30"],
            "trainer.patience ended it",
            ["trainer.patience=9"],
        ),
        (["trainer.max_flops=1"], "trainer.max_flops ended it", ["trainer.max_flops=null"]),
        (["trainer.max_time=00:00:00"], "trainer.max_time ended it", ["trainer.max_time=null"]),
        pytest.param(
            STOPPED,
            "a callback ended it",
            [STOPPED[0], "+callbacks.mine.after=9"],
            marks=pytest.mark.slow,
        ),
    ],
    ids=["target", "patience", "operations", "time", "callback"],
)
def test_resuming_a_run_that_ended_before_its_last_epoch_changes_nothing(
    settings: list[str],
    why: str,
    trains_on: list[str],
    tmp_path: Path,
    stops: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """More epochs alone change nothing; another budget or target does."""
    folder = tmp_path / "run"
    with monkeypatch.context() as patched:
        if why == "it reached its target":
            patched.setattr(
                "hexlit.commands.hex_task.target_of",
                lambda config, size: {"search_optimality": 0.0},
            )
        assert main([*TINY, "trainer.max_epochs=5", *settings, f"hydra.run.dir={folder}"]) == 0
        epochs, before = len(rows_of(folder / "metrics.csv")), contents(folder)
        assert epochs < 4
        capsys.readouterr()
        typed_again = settings if settings is STOPPED else []
        for more in ([], ["trainer.max_epochs=4"]):
            assert main([f"resume={folder}", *typed_again, *more]) == 0
            said = " ".join(capsys.readouterr().out.split())
            assert (
                f"This run has ended after {epochs} of {4 if more else 5} epochs ({why}), with "
                in said
            )
            assert (
                trains_on[0].lstrip("+").partition("=")[0].partition(".")[0]
                in said.rpartition("(")[2]
            )
            assert contents(folder) == before
    assert main([f"resume={folder}", "trainer.max_epochs=4", *trains_on]) == 0
    assert len(rows_of(folder / "metrics.csv")) > epochs


FALLS = """
import lightning as L

class Falls(L.Callback):
    def on_train_epoch_start(self, trainer, pl_module):
        self.metric = {0: 1.0, 1: 3.0}.get(trainer.current_epoch, 2.0)

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        pl_module.log("mine.score", self.metric, on_step=False, on_epoch=True, batch_size=1)
"""
WATCHED = [
    "+callbacks.mine._target_=falls.Falls",
    "trainer.monitor=mine.score",
    "trainer.monitor_mode=max",
]


@pytest.fixture
def falls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "falls.py").write_text(FALLS)
    monkeypatch.syspath_prepend(tmp_path)


def epoch_of(checkpoint: Path) -> int:
    return int(torch.load(checkpoint, weights_only=True)["epoch"])


def test_a_run_in_a_moved_folder_keeps_its_best_epoch(tmp_path: Path, falls: None) -> None:
    before, folder = tmp_path / "before", tmp_path / "moved"
    assert main([*TINY, *WATCHED, "trainer.max_epochs=3", f"hydra.run.dir={before}"]) == 0
    before.rename(folder)
    assert main([f"resume={folder}", WATCHED[0], "trainer.max_epochs=5", "trainer.patience=3"]) == 0
    assert epoch_of(folder / "checkpoints" / "best.ckpt") == 1
    best = json.loads((folder / "summary.json").read_text())["best"]
    assert best == {"monitor": "mine.score", "value": 3.0, "epoch": 1, "restored": True}


def test_a_run_with_patience_does_not_go_on_without_its_best_weights(
    tmp_path: Path, falls: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """They were to be restored at its end."""
    assert main([*TINY, *WATCHED, "trainer.max_epochs=2", "hydra.run.dir=run"]) == 0
    best = tmp_path / "run" / "checkpoints" / "best.ckpt"
    content = torch.load(best, weights_only=True)
    more = ["resume=run", WATCHED[0], "trainer.max_epochs=3", "trainer.patience=3"]
    best.unlink()
    assert main(more) == 2
    assert "best.ckpt: there is no such file" in capsys.readouterr().err
    torch.save({**content, "epoch": 0}, best)
    assert main(more) == 2
    assert (
        "best.ckpt: is of epoch 0, and trainer.patience needs that of epoch 1;"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("kept", ["summary.json", "phases.csv"])
def test_a_run_without_its_checkpoint_is_not_begun_again_in_its_folder(
    kept: str, uninterrupted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its tables and games would be overwritten;
    each of its files alone tells that it had a checkpoint.
    """
    folder = tmp_path / "run"
    shutil.copytree(uninterrupted, folder)
    (folder / "checkpoints" / "last.ckpt").unlink()
    (folder / ({"summary.json", "phases.csv"} - {kept}).pop()).unlink()
    before = contents(folder)
    assert main([f"resume={folder}"]) == 2
    assert (
        "last.ckpt: there is no such checkpoint to resume; a new run here would"
        in capsys.readouterr().err
    )
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("override", "was"),
    [
        ("optimizer.lr=1e-5", "optimizer.lr=0.015"),
        ("trainer.ema_decay=0.9", "trainer.ema_decay=0.0"),
    ],
)
def test_what_the_checkpoint_would_overrule_is_refused(
    override: str, was: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Rather than ignored; and it is forgotten, so that the run continues unchanged."""
    folder = tmp_path_factory.getbasetemp() / "refused"
    if not folder.exists():
        assert hexlit("never", 0, *TINY, f"hydra.run.dir={folder}", "trainer.max_epochs=1") == 0
    code, output = run_program(
        HEXLIT, "train", f"resume={folder}", "trainer.max_epochs=2", override
    )
    assert code == 2, output
    assert f"was started with {was}; keep it to resume" in output
    assert override not in (folder / ".hydra" / "overrides.yaml").read_text()
    assert not list(folder.glob("**/*.tmp"))


def test_fewer_epochs_than_a_run_has_are_refused(
    uninterrupted: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([f"resume={uninterrupted}", "trainer.max_epochs=1"]) == 2
    assert "trainer.max_epochs=1: the run in" in (err := capsys.readouterr().err)
    assert "has 4 epochs; give that number to end it there" in err
