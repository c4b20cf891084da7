"""A study's storage: many processes at once,
kills at the worst moment, and messages without passwords.
"""

import logging
import os
import signal
import threading
from pathlib import Path

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from hexlit.errors import UsageError
from hexlit.tuning.storage import HealingLock, Retry, open_storage
from tests.tuning.racers import go_together, line_of, start

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are killed by signals")

TRIALS = """
import sys
from pathlib import Path
import optuna
from hexlit.tuning.storage import Retry, open_storage
optuna.logging.set_verbosity(optuna.logging.ERROR)
spec, who, count, end = sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
print("ready", flush=True)
sys.stdin.readline()
study = optuna.create_study(study_name="s", storage=open_storage(spec, Path(), Retry(60.0)), load_if_exists=True)
number = 0
while number < count or not end.exists():
    trial = study.ask()
    trial.set_user_attr("who", f"{who}-{number}")
    trial.report(float(number), 1)
    study.tell(trial, float(number))
    number += 1
print(number, flush=True)
"""
HOLDER = """
import os, signal, sys, time
from pathlib import Path
from hexlit.tuning.storage import HealingLock
lock = HealingLock(Path(sys.argv[1]))
lock.acquire()
with open(sys.argv[1], "r+b", buffering=0) as file:
    if sys.argv[2] == "tear":
        file.seek(0, os.SEEK_END)
        file.write(b'{"op_code":2,"worker_id":"torn","study_id":0,"user_at')
        os.kill(os.getpid(), signal.SIGKILL)
    print("held", flush=True)
    time.sleep(600)
"""
STUDY = {"op_code": 0, "worker_id": "w", "study_name": "s", "directions": [1]}


def attributes(spec: str) -> list[str]:
    study = optuna.load_study(study_name="s", storage=open_storage(spec, Path(), Retry(60.0)))
    assert {trial.state for trial in study.trials} == {optuna.trial.TrialState.COMPLETE}
    assert [trial.number for trial in study.trials] == list(range(len(study.trials)))
    return sorted(trial.user_attrs["who"] for trial in study.trials)


@pytest.mark.parametrize("url", ["{}/deep/study.journal", "sqlite:///{}/study.db"])
def test_four_processes_write_at_once_and_nothing_is_lost(url: str, tmp_path: Path) -> None:
    """They find the storage missing, so they also make it at once."""
    spec = url.format(tmp_path)
    count = 5 if url.startswith("sqlite") else 25
    children = [start(TRIALS, spec, who, count, tmp_path) for who in range(4)]
    go_together(children)
    assert [child.wait() for child in children] == [0] * 4
    assert attributes(spec) == sorted(
        f"{who}-{number}" for who in range(4) for number in range(count)
    )
    assert not [path for path in tmp_path.rglob("*") if ".lock" in path.name]


def test_a_writer_killed_while_it_holds_the_lock_blocks_nobody(tmp_path: Path) -> None:
    path = tmp_path / "study.journal"
    journal = JournalFileBackend(str(path), HealingLock(path))
    holder = start(HOLDER, path, "hold")
    assert line_of(holder) == "held"
    writer = threading.Thread(target=journal.append_logs, args=([STUDY],), daemon=True)
    writer.start()
    writer.join(0.3)
    assert writer.is_alive()  # it waits for the holder
    assert path.read_bytes() == b""
    holder.kill()
    holder.wait()
    writer.join(25)  # less than Optuna's own locks take to forget a dead holder
    assert not writer.is_alive()
    assert list(journal.read_logs(0)) == [STUDY]
    assert list(tmp_path.iterdir()) == [path]


def test_a_line_torn_between_two_live_writers_is_healed_and_both_go_on(tmp_path: Path) -> None:
    path = tmp_path / "study.journal"
    end = tmp_path / "end"
    writers = [start(TRIALS, path, who, 20, end) for who in range(2)]
    go_together(writers)
    killed = [start(HOLDER, path, "tear").wait() for _ in range(3)]
    assert killed == [-signal.SIGKILL] * 3
    assert [child.poll() for child in writers] == [None, None]
    end.touch()
    counts = [int(line_of(child)) for child in writers]
    assert [child.wait() for child in writers] == [0, 0]
    assert attributes(str(path)) == sorted(
        f"{who}-{number}" for who in range(2) for number in range(counts[who])
    )
    assert b"torn" not in path.read_bytes()


TORN = b'{"op_code":2,"worker_id":"w","study_id":0,"user_at'


@pytest.mark.parametrize("torn", [TORN, b"\0" * 9])
def test_a_torn_end_is_cut_off_with_one_warning(
    torn: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "study.journal"
    optuna.create_study(study_name="s", storage=open_storage(None, tmp_path)).set_user_attr("a", 1)
    whole = path.read_bytes()
    reader = open_storage(None, tmp_path)
    with path.open("ab") as file:
        file.write(torn)
    assert reader.get_study_user_attrs(0) == {"a": 1}
    with caplog.at_level(logging.WARNING):
        study = optuna.load_study(study_name="s", storage=open_storage(None, tmp_path))
        study.set_user_attr("b", 2)
    assert path.read_bytes().startswith(whole + b'{"op_code"')
    assert [
        record.getMessage() for record in caplog.records if record.levelno == logging.WARNING
    ] == [f"{path}: its last record was torn; {len(torn)} bytes were cut off"]
    assert reader.get_study_user_attrs(0) == {"a": 1, "b": 2}


def test_a_file_that_is_no_journal_stays_as_it_is(tmp_path: Path) -> None:
    for content in (b"my notes", b"my\nnotes\n"):
        path = tmp_path / "notes.txt"
        path.write_bytes(content)
        with pytest.raises(UsageError, match="no journal of a study"):
            open_storage(str(path), tmp_path)
        assert path.read_bytes() == content


@pytest.mark.parametrize(
    "spec", [None, "other.journal", "journal://other.journal", "journal://{}/other.journal"]
)
def test_a_journal_is_where_it_was_asked_for(
    spec: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    opened = open_storage(spec and spec.format(tmp_path), tmp_path / "sweep")
    assert isinstance(opened, JournalStorage)
    expected = "sweep/study.journal" if spec is None else "other.journal"
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.journal")] == [expected]
