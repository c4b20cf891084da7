"""F23: sweeps on studies in a real PostgreSQL server, killed, resumed and left without it.

apt-get install -y postgresql
.venv/bin/python -m pip install -e ".[postgres]"
pytest -m services -n 0 -s tests/tuning                 (prints what became of the trials)
HEXLIT_AWAY=60 pytest -m services -n 0 -s tests/tuning   (seconds that a server is away; 8 without)
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
import psutil
import pytest
from optuna.trial import FrozenTrial

from hexlit.tuning.results import read_results
from hexlit.tuning.shared_trials import is_surplus
from hexlit.tuning.storage import PASSWORD_VARIABLE, open_storage
from tests.tuning.database_servers import PASSWORD, Server, postgres
from tests.tuning.racers import race
from tests.tuning.test_sweep import LR, STAND_IN, until

pytestmark = [pytest.mark.services]

AWAY = float(os.environ.get("HEXLIT_AWAY", "8"))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    pytest.importorskip("psycopg", reason="an extra")
    with postgres() as started:
        yield started


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD_VARIABLE, PASSWORD)


@dataclass
class Sweeper:
    """A process that works on the study `study`, from a folder of its own."""

    name: str
    room: Path
    server: Server
    study: str
    trials: int = 6

    @property
    def folder(self) -> Path:
        return self.room / self.name

    @property
    def output(self) -> Path:
        return self.room / f"{self.name}.txt"

    def command(self, *overrides: str) -> list[str]:
        fixed = [
            *(
                "hydra/sweeper=optuna",
                "hydra/sweeper/sampler=random",
                "hydra/sweeper/pruner=none",
                "sweep.slots=4",
            ),
            *(f"hydra.sweeper.storage={self.server.url}", f"hydra.sweeper.study_name={self.study}"),
            *(f"hydra.sweep.dir={self.folder}", f"hydra.sweeper.n_trials={self.trials}", LR),
            *(
                "board=3",
                "logger=csv",
                "accelerator=cpu",
                "accelerator.threads=1",
                "trainer.max_epochs=4",
            ),
        ]
        return [sys.executable, "-m", "hexlit", "train", "--multirun", *fixed, *overrides]

    def start(self, *overrides: str, seconds: float = 0.5) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(STAND_IN), str(Path(__file__).parents[2])]),
            "STAND_IN_SECONDS": str(seconds),
            "HEXLIT_SLOTS": str(self.room / "slots"),
        }
        with self.output.open("ab") as output:
            return subprocess.Popen(
                self.command(*overrides),
                cwd=self.room,
                env=environment,
                stdout=output,
                stderr=output,
            )

    def text(self) -> str:
        return self.output.read_text(errors="replace")

    def numbers(self) -> list[int]:
        """Of the trials whose work was brought to its end in this folder."""
        return sorted(
            int(path.parent.name.split("-")[1]) for path in self.folder.glob("trial-*/summary.json")
        )


def trials_of(server: Server, study: str) -> list[FrozenTrial]:
    storage = open_storage(server.url, Path())
    if study not in [found.study_name for found in storage.get_all_studies()]:
        return []
    trials = optuna.load_study(study_name=study, storage=storage).get_trials()
    return [trial for trial in trials if not is_surplus(trial)]


def ended(process: subprocess.Popen[bytes], sweeper: Sweeper, code: int = 0) -> None:
    assert process.wait(240) == code, sweeper.text()[-3000:]


def account(what: str, trials: list[FrozenTrial], sweepers: list[Sweeper]) -> dict[str, int]:
    """Print the outcomes of the trials."""
    done = [trial for trial in trials if not trial.user_attrs.get("interrupted")]
    interrupted = [trial for trial in trials if trial.user_attrs.get("interrupted")]
    worked = Counter(number for sweeper in sweepers for number in sweeper.numbers())
    again = Counter(
        trial.user_attrs["retry_of"] for trial in done if "retry_of" in trial.user_attrs
    )
    found = {
        "asked": sweepers[0].trials,
        "done": sum(trial.state.name == "COMPLETE" for trial in done),
        "interrupted": len(interrupted),
        "twice": sum(count > 1 for count in [*worked.values(), *again.values()]),
        "lost": sum(trial.number not in again for trial in interrupted)
        + sum(trial.number not in worked for trial in done),
    }
    print(f"\n{what}: " + ", ".join(f"{name} {count}" for name, count in found.items()))
    return found


def assert_exact(found: dict[str, int], trials: list[FrozenTrial]) -> None:
    assert (found["done"], found["twice"], found["lost"]) == (found["asked"], 0, 0)
    assert {trial.state.name for trial in trials} <= {"COMPLETE", "FAIL"}
    by_number = {trial.number: trial for trial in trials}
    repeats = [trial for trial in trials if "retry_of" in trial.user_attrs]
    assert all(trial.params == by_number[trial.user_attrs["retry_of"]].params for trial in repeats)


def command_lines() -> list[str]:
    """Of all processes of this machine."""
    return [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]


def result_of(folder: Path) -> Any:
    found = read_results(folder)
    rows = [(trial.number, trial.state, trial.values, dict(trial.params)) for trial in found.trials]
    return found.state, found.best and found.best.number, rows


def test_two_sweepers_one_killed_and_resumed(server: Server, tmp_path: Path) -> None:
    """No trial too many, none twice, none lost;
    both folders tell the same; the password is nowhere.
    """
    first, second = (
        Sweeper(name, tmp_path, server, "two", trials=12) for name in ("first", "second")
    )
    one = first.start()
    until(lambda: trials_of(server, "two"))
    two = second.start("sweep.join=true")
    until(lambda: list(second.folder.glob("trial-*/.hydra")), 120)
    shown = command_lines()
    two.send_signal(signal.SIGKILL)
    two.wait()
    again = second.start("sweep.resume=true")
    ended(one, first)
    ended(again, second)
    trials = trials_of(server, "two")
    found = account("two sweepers, one killed", trials, [first, second])
    assert_exact(found, trials)
    assert found["interrupted"] >= 1
    state, best, *_ = result_of(first.folder)
    assert result_of(first.folder) == result_of(second.folder)
    values = {trial.number: trial.value for trial in trials if trial.value is not None}
    assert (state, best) == ("finished", max(values, key=lambda number: values[number]))
    quoted = PASSWORD.encode(), b"ge%3Aheim", b"heim/9"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 40
    assert [path for path in files if any(text in path.read_bytes() for text in quoted)] == []
    assert len([line for line in shown if server.url in line]) == 2, (
        "the sweeps alone name the storage"
    )
    assert [line for line in shown if any(text.decode() in line for text in quoted)] == []


def test_a_server_that_goes_away_is_waited_for(server: Server, tmp_path: Path) -> None:
    """One line when it goes and one when it is back; nothing is lost."""
    sweeper = Sweeper("away", tmp_path, server, "away")
    process = sweeper.start()
    until(lambda: [trial for trial in trials_of(server, "away") if trial.value is not None])
    server.stop()
    time.sleep(AWAY)
    server.start()
    ended(process, sweeper)
    trials = trials_of(server, "away")
    assert_exact(account(f"away for {AWAY:g} s", trials, [sweeper]), trials)
    lines = [line for line in sweeper.text().splitlines() if server.url in line]
    print("\n".join(line.strip() for line in lines))
    assert len(re.findall(r"the database does not answer \(", sweeper.text())) == 1
    assert len(re.findall(r"the database answers again, after \d+ s", sweeper.text())) == 1
    assert PASSWORD not in sweeper.text()


def test_a_server_that_stays_away_ends_the_sweep_which_resumes(
    server: Server, tmp_path: Path
) -> None:
    sweeper = Sweeper("gone", tmp_path, server, "gone")
    process = sweeper.start("sweep.storage_timeout=4", seconds=2.0)
    until(lambda: list(sweeper.folder.glob("trial-*/.hydra")))
    server.stop()
    try:
        ended(process, sweeper, code=2)
        assert not [line for line in command_lines() if str(sweeper.folder) in line], (
            "no trial goes on"
        )
        last = sweeper.text().strip().splitlines()[-1]
        print(f"\n{last}")
        assert re.fullmatch(
            r"hexlit train: \S+://sweeper\S*/studies: the database does not answer for \d+ s: .*",
            last,
        )
        assert "Traceback" not in sweeper.text()
    finally:
        server.start()
    ended(sweeper.start("sweep.resume=true"), sweeper)
    trials = trials_of(server, "gone")
    found = account("stayed away, then resumed", trials, [sweeper])
    assert_exact(found, trials)
    assert found["interrupted"] >= 1


@pytest.mark.parametrize("sampler", ["random", "grid"])
def test_four_processes_that_begin_trials_at_once_begin_no_trial_too_many(
    server: Server, tmp_path: Path, sampler: str
) -> None:
    assert race(server.url, tmp_path, sampler, processes=4, trials=24) == list(range(24))
