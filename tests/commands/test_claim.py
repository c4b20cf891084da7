"""A run's folder: one process at a time, nothing of killed writers,
and no folder for a run that was refused.
"""

from pathlib import Path

import pytest

from hexlit.commands import run_folder
from hexlit.commands.match import main as match
from hexlit.commands.strength import main as strength
from hexlit.commands.train import main as train
from hexlit.locks import FolderLock
from tests.commands.tiny import TINY, save_untrained

BUSY = "another process, or an open store of this one, is at work here; end or close it"

HOLDER = """
import os, sys, time
from pathlib import Path
from hexlit.locks import FolderLock
lock = FolderLock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
"""


def listed(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.name != ".lock"}


@pytest.mark.parametrize("command", ["train", "plain sweep", "sweep", "match", "strength"])
def test_a_folder_where_somebody_is_at_work_is_left_as_it_is(
    command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    (folder / ".hydra").mkdir(parents=True)
    (folder / ".hydra" / "overrides.yaml").write_text("- board=4\n")
    before = listed(folder)
    net = save_untrained(tmp_path / "net.ckpt", size=3)
    with FolderLock(folder):
        code = {
            "train": lambda: train([*TINY, f"hydra.run.dir={folder}"]),
            "plain sweep": lambda: train(
                [*TINY, "--multirun", "seed=1,2", f"hydra.sweep.dir={folder}"]
            ),
            "sweep": lambda: train(
                [*TINY, "--multirun", "sweep=quick", f"hydra.sweep.dir={folder}"]
            ),
            "match": lambda: match(
                ["players=[random,two_distance]", "board=3", f"hydra.run.dir={folder}"]
            ),
            "strength": lambda: strength([f"checkpoint={net}", f"output={folder}", "positions=5"]),
        }[command]()
    assert code == 2
    err = capfd.readouterr().err
    assert BUSY in err
    assert err.count("\n") == 1, err
    assert listed(folder) == before
    assert (folder / ".hydra" / "overrides.yaml").read_text() == "- board=4\n"


def test_what_a_killed_writer_left_goes_at_the_next_start(tmp_path: Path) -> None:
    left = [
        ".summary.json.0123abcd.tmp",
        ".metrics.csv.ffffffff.tmp",
        "checkpoints/.last.ckpt.00000000.tmp",
    ]
    for name in left:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("torn")
    run_folder.claim(tmp_path)
    run_folder.leave(refused=False)
    assert listed(tmp_path) == {"checkpoints"}


def test_a_sweep_whose_jobs_are_all_refused_leaves_no_folder(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """That single runs leave none is part of tests/commands/test_mistakes.py."""
    assert train([*TINY, "--multirun", "board=98,99"]) == 2
    assert list(tmp_path.iterdir()) == []
    assert "Traceback" not in capfd.readouterr().err
