"""A task of another package trains, continues after a kill,
is swept and measured; nothing of hexlit knows it.
"""

import json
import os
from pathlib import Path

import pytest

from tests.commands.preloaded import HEXLIT, run_apart
from tests.tables import rows_of

OUTSIDE = Path(__file__).parent.parent / "outside"
ENTRY_POINTS = "[hexlit.tasks]\nline = linetask:ENTRY\n"
DIES = """
import os, signal, sys
from linetask.task import LineModule
from hexlit.commands.train import main
steps, inner = 0, LineModule.training_step
def step(self, batch, batch_idx):
    global steps
    steps += 1
    if steps == 11:
        os.kill(os.getpid(), signal.SIGKILL)
    return inner(self, batch, batch_idx)
LineModule.training_step = step
main(sys.argv[1:])
"""


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The environment of a process with the task's package installed."""
    metadata = tmp_path / "site" / "linetask-0.1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: linetask\nVersion: 0.1\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    paths = [str(OUTSIDE), str(metadata.parent)]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "HEXLIT_SLOTS": str(tmp_path / "slots"),
    }


def hexlit(
    folder: Path, environment: dict[str, str], *arguments: str, program: str = HEXLIT
) -> str:
    done = run_apart(program, *arguments, folder=folder, environment=environment, seconds=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def losses(run: Path) -> list[str]:
    return [row["train.loss"] + " " + row["val.loss"] for row in rows_of(run / "metrics.csv")]


SETTINGS = [
    "task=line",
    "accelerator=cpu",
    "accelerator.threads=1",
    "optimizer.lr=0.1",
    "optimizer.warmup_steps=0",
]
TRAIN = ["train", *SETTINGS]


def test_it_trains_and_goes_on_where_it_was_killed(
    tmp_path: Path, installed: dict[str, str]
) -> None:
    said = hexlit(tmp_path, installed, *TRAIN, "hydra.run.dir=whole")
    assert "hexlit train · line · line" in said
    assert "slope" in said
    summary = json.loads((tmp_path / "whole" / "summary.json").read_text())
    assert (summary["task"], summary["epochs"], summary["ending"]["why"]) == ("line", 4, "epochs")
    assert (
        summary["cost"]["flops"] == 2 * 3 * 4 * 64
    )  # forward and twice as much backward, epochs, points
    phases, metrics = (rows_of(tmp_path / "whole" / name) for name in ("phases.csv", "metrics.csv"))
    assert [row["points"] for row in phases if row["phase"] == "training"] == ["64"] * 4
    assert float(metrics[-1]["val.loss"]) < float(metrics[0]["val.loss"])

    killed = run_apart(
        DIES,
        *SETTINGS,
        "report=false",
        "hydra.run.dir=killed",
        folder=tmp_path,
        environment=installed,
    )
    assert killed.returncode == -9
    assert len(rows_of(tmp_path / "killed" / "metrics.csv")) == 2
    hexlit(tmp_path, installed, "train", "resume=killed")
    assert losses(tmp_path / "killed") == losses(tmp_path / "whole")


@pytest.mark.slow
def test_it_is_swept(tmp_path: Path, installed: dict[str, str]) -> None:
    arguments = [
        "--multirun",
        "hydra/sweeper=optuna",
        "hydra/sweeper/sampler=grid",
        "hydra.sweep.dir=sweep",
    ]
    points = ["optimizer.weight_decay=0,0.1", "hydra.sweeper.n_jobs=1"]
    hexlit(tmp_path, installed, *TRAIN, *arguments, *points, program=HEXLIT)
    results = json.loads((tmp_path / "sweep" / "overall_results.json").read_text())
    assert [trial["state"] for trial in results["trials"]] == ["complete"] * 2
    said = hexlit(
        tmp_path, installed, *TRAIN, "+best=sweep", "hydra.run.dir=best", "trainer.max_epochs=1"
    )
    assert "slope" in said


def test_a_mistake_in_its_settings_is_one_line(tmp_path: Path, installed: dict[str, str]) -> None:
    done = run_apart(HEXLIT, *TRAIN, "points=1", folder=tmp_path, environment=installed)
    assert (done.returncode, done.stderr) == (2, "hexlit train: points=1: must be 2 or more\n")
    other = run_apart(HEXLIT, "train", "task=none", folder=tmp_path, environment=installed)
    assert (other.returncode, other.stderr) == (
        2,
        "hexlit train: task=none: there is no such option; choose from classify, forecast, hex, line\n",
    )
