"""A storm of aimed kills over everything that writes: nothing lost, nothing twice, nothing changed,
nothing left.

Each process is killed at one call of what makes its work safe on disk: before or after a sync, a
rename, a removal, or games reaching their journal, or in the middle of a line of a table. The
number of the call is drawn over the whole length of the work. A process of each kind works once
without a kill; what the killed ones come to at last has to be the same.

    pytest -m slow -s tests/storms                          (prints the counts)
    HEXLIT_KILLS=20 pytest -m slow -s tests/storms           (so many kills in all; 104 without)
"""

import csv
import json
import os
import random
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from hexlit.selfplay.store import part_files, read_records
from tests.commands.preloaded import run_program
from tests.commands.recorded import save_games
from tests.commands.test_train_resume import assert_ends_alike, games_on_disk
from tests.commands.tiny import TINY

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="signals"),
]

KILLS = int(os.environ.get("HEXLIT_KILLS", "104"))
SHARES = {"train": 0.4, "import": 0.25, "match": 0.2, "sweep": 0.15}
"""Of the kills."""
STAND_IN = Path(__file__).parents[1] / "tuning" / "stand_in"
SECONDS_TO_DIE = 2.0

# Runs a command of hexlit and kills its own process at call number COUNT of what makes work safe;
# below 0 never, and the number of calls is printed. TMPDIR is read anew: the process was forked
# from one that has looked already.
KILLER = """
import os, pathlib, signal, sys, tempfile
from importlib import import_module
from hexlit.selfplay import importing
from hexlit.selfplay.store import GameStore
from hexlit.training import tables

tempfile.tempdir = None
importing.GAMES_AT_ONCE, importing.GAMES_OF_A_PART, importing._GAMES_BETWEEN_REPORTS = 20, 60, 10
command, count, *arguments = sys.argv[1:]
calls = 0

def tick():
    global calls
    if calls == int(count):
        os.kill(os.getpid(), signal.SIGKILL)
    calls += 1

def watch(owner, name):
    inner = getattr(owner, name)
    def outer(*args, **kwargs):
        tick()
        result = inner(*args, **kwargs)
        tick()
        return result
    setattr(owner, name, outer)

append = tables.append_text
def append_torn(path, text):
    append(path, text[:-20])
    tick()
    append(path, text[-20:])
tables.append_text = append_torn

for owner, name in ((os, "fsync"), (pathlib.Path, "replace"), (pathlib.Path, "unlink"), (GameStore, "append")):
    watch(owner, name)
code = import_module(f"hexlit.commands.{command}").main(arguments)
print(f"calls={calls}")
sys.exit(code)
"""


@dataclass
class Counts:
    """Findings of the storm."""

    kills: int = 0
    ends: int = 0
    lost: int = 0
    twice: int = 0
    changed: int = 0
    leftovers: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.kills} kills, {self.ends} ends: {self.lost} lost, {self.twice} twice, {self.changed} changed, "
            f"{len(self.leftovers)} leftovers, {len(self.orphans)} orphans"
        )

    def fine(self) -> bool:
        return not (self.lost or self.twice or self.changed or self.leftovers or self.orphans)


def run(command: str, count: int, *arguments: str) -> tuple[int, str]:
    code, output = run_program(KILLER, command, str(count), *arguments)
    assert code in (0, -signal.SIGKILL), f"hexlit {command} {' '.join(arguments)}\n{output}"
    return code, output


def calls_of(output: str) -> int:
    found = re.search(r"calls=(\d+)", output)
    assert found is not None, output
    return int(found[1])


def orphans(room: Path) -> list[str]:
    """Processes that name a path in `room`, after the time that they have to end."""
    deadline = time.monotonic() + SECONDS_TO_DIE
    while True:
        found = []
        for process in psutil.process_iter(["cmdline", "pid", "status"]):
            line = " ".join(process.info["cmdline"] or [])
            if (
                str(room) in line
                and process.info["pid"] != os.getpid()
                and process.info["status"] != "zombie"
            ):
                found.append(line[:200])
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def leftovers(*rooms: Path) -> list[str]:
    return [
        str(path)
        for room in rooms
        for path in room.rglob("*")
        if path.suffix in (".tmp", ".building")
    ]


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """TMPDIR on another file system, where there is one in memory."""
    shm = Path("/dev/shm")
    folder = Path(
        tempfile.mkdtemp(prefix="hexlit-storm-", dir=shm if os.access(shm, os.W_OK) else None)
    )
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def content(store: Path) -> list[tuple[int, bytes, int]]:
    return [
        (game.game_id, game.moves.tobytes(), game.winner)
        for part in part_files(store)
        for game in read_records(part)
    ]


def storm(
    kind: str,
    command: str,
    seed: int,
    room: Path,
    elsewhere: Path,
    arguments: Callable[[Path], list[str]],
) -> Iterator[tuple[Counts, Path, bool]]:
    """Run the command in a folder until it ends, then in the next, for all kills of its kind; after
    each run its counts, its folder and whether it was killed. The first run, without a kill, is in
    the folder `expected`.
    """
    _, output = run(command, -1, *arguments(room / "expected"))
    counts, rng = Counts(), random.Random(seed)
    last = False
    while not last:
        folder = room / f"run-{counts.ends}"
        last = counts.kills >= round(KILLS * SHARES[kind])
        code, _ = run(command, -1 if last else rng.randrange(calls_of(output)), *arguments(folder))
        if code:
            counts.kills += 1
            counts.orphans += orphans(room)
        else:
            counts.ends += 1
        yield counts, folder, code != 0
        if not code:
            counts.leftovers += leftovers(folder, elsewhere)
            print(f"{kind}: {counts}", flush=True)
    assert counts.fine(), counts


def begun_or_resumed(folder: Path, start: list[str]) -> list[str]:
    known = (folder / ".hydra" / "overrides.yaml").is_file()
    return [f"resume={folder}"] if known else [*start, f"hydra.run.dir={folder}"]


def test_imports(tmp_path: Path, elsewhere: Path) -> None:
    source = save_games(tmp_path / "source", size=5, games=400)

    def arguments(target: Path) -> list[str]:
        return ["import", f"source={source}", f"target={target}", "duplicates=keep"]

    before = set[tuple[int, bytes, int]]()
    for counts, target, killed in storm("import", "games", 2, tmp_path, elsewhere, arguments):
        wanted = set(content(tmp_path / "expected"))
        found = content(target) if target.is_dir() else []
        counts.lost += len(before - set(found))
        counts.twice += len(found) - len({game_id for game_id, *_ in found})
        counts.changed += len(set(found) - wanted)
        before = set(found) if killed else set()
        if not killed:
            counts.lost += len(wanted - set(found))
            assert not (target / "journal.arrows").exists()
            json.loads((target / "import.json").read_text())


def rows_of(folder: Path) -> list[tuple[str, ...]]:
    with (folder / "games.csv").open(newline="") as file:
        return [tuple(row) for row in csv.reader(file)][1:]


def test_matches(tmp_path: Path, elsewhere: Path) -> None:
    start = [
        "players=[random,two_distance,rollouts simulations=4]",
        "board=4",
        "pairs=6",
        "at_once=2",
        "seed=3",
    ]
    start += ["accelerator=cpu", "accelerator.threads=1", "openings.balanced=false"]
    before: list[tuple[str, ...]] = []
    for counts, folder, killed in storm(
        "match", "match", 3, tmp_path, elsewhere, lambda folder: begun_or_resumed(folder, start)
    ):
        found = rows_of(folder) if not killed or (folder / "games.csv").exists() else []
        if killed:
            before = found[: len(found) // 2 * 2]
            continue
        wanted = set(rows_of(tmp_path / "expected"))
        counts.lost += len(wanted - set(found)) + len(set(before) - set(found))
        counts.twice += len(found) - len(set(found))
        counts.changed += len(set(found) - wanted)
        before = []


def test_sweeps(tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trials are the stand-ins of the sweep's own tests,
    each a process that has to die with its sweep.
    """
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(STAND_IN), str(root)]))
    monkeypatch.setenv("HEXLIT_SLOTS", str(tmp_path / "slots"))
    monkeypatch.setenv("STAND_IN_SECONDS", "0.02")
    trials = 4
    start = [
        "--multirun",
        "hydra/sweeper=optuna",
        "hydra/sweeper/sampler=random",
        "logger=csv",
        "board=3",
    ]
    start += [
        "accelerator=cpu",
        "trainer.max_epochs=4",
        "optimizer.lr=interval(1e-4,1e-1)",
        "seed=5",
    ]
    start += [
        f"hydra.sweeper.n_trials={trials}",
        "hydra.sweeper.n_jobs=2",
        "hydra/sweeper/pruner=none",
    ]

    def arguments(folder: Path) -> list[str]:
        resume = ["sweep.resume=true"] if (folder / "sweep.json").exists() else []
        return [*start, *resume, f"hydra.sweep.dir={folder}"]

    before: dict[int, tuple[object, ...]] = {}
    for counts, folder, killed in storm("sweep", "train", 4, tmp_path, elsewhere, arguments):
        done = complete_trials(folder)
        counts.lost += len(before.keys() - done.keys())
        counts.changed += sum(before[key] != done[key] for key in before.keys() & done.keys())
        before = done if killed else {}
        if not killed:
            counts.lost += max(0, trials - len(done))
            counts.twice += max(0, len(done) - trials)


def complete_trials(folder: Path) -> dict[int, tuple[object, ...]]:
    """Number -> value and parameters of the trials that the study counts as complete."""
    from hexlit.tuning.results import read_results

    if not (folder / "sweep.json").exists() or not (folder / "study.journal").exists():
        return {}
    found = read_results(folder).trials
    return {
        trial.number: (trial.values, tuple(sorted(trial.params.items())))
        for trial in found
        if trial.state == "complete"
    }


def test_training_and_resuming(tmp_path: Path, elsewhere: Path) -> None:
    overrides = [
        *TINY,
        "trainer.max_epochs=3",
        "trainer.monitor=strength.score",
        "trainer.monitor_mode=max",
    ]
    survivors = set[int]()
    for counts, folder, killed in storm(
        "train", "train", 1, tmp_path, elsewhere, lambda folder: begun_or_resumed(folder, overrides)
    ):
        if killed:
            if (folder / "games").is_dir():
                survivors |= games_on_disk(folder, tmp_path / f"kill-{counts.kills}")
            continue
        ids = [
            record.game_id for part in part_files(folder / "games") for record in read_records(part)
        ]
        counts.lost += len(survivors - set(ids))
        counts.twice += len(ids) - len(set(ids))
        assert_ends_alike(folder, tmp_path / "expected", survivors)
        survivors = set()
