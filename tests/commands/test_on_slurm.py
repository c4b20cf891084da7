"""F24: trainings and sweeps as jobs of a real Slurm of two nodes: cancelled, drained, cut off by
their time limit.

apt-get install -y slurm-wlm munge
.venv/bin/python -m pip install -e ".[slurm]"
pytest -m services -n 0 -s tests/commands/test_on_slurm.py
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
import torch
from optuna.trial import FrozenTrial

from hexlit.tuning.storage import open_storage
from tests.commands.slurm_cluster import NODES, Cluster, cluster, missing
from tests.commands.tiny import TINY
from tests.tables import rows_of
from tests.tuning.test_sweep import LR, STAND_IN, states, until

pytestmark = [pytest.mark.services]

TINY_ALONE = [override for override in TINY if not override.startswith("accelerator.threads")]
LAUNCHED = [
    "hydra/launcher=submitit_slurm",
    "hydra.launcher.timeout_min=30",
    "hydra.launcher.cpus_per_task=1",
]


@pytest.fixture(scope="module")
def slurm() -> Iterator[Cluster]:
    pytest.importorskip("hydra_plugins.hydra_submitit_launcher", reason="an extra")
    if why := missing():
        pytest.skip(why)
    with cluster() as started:
        yield started


class Room:
    """A folder for running commands, and their output."""

    def __init__(self, folder: Path, slurm: Cluster) -> None:
        self.folder = folder
        self.slurm = slurm

    def start(self, *command: str, stand_in: float | None = None) -> subprocess.Popen[bytes]:
        own = {"STAND_IN_SECONDS": str(stand_in)} if stand_in is not None else {}
        paths = [str(STAND_IN)] if stand_in is not None else []
        environment = {
            **os.environ,
            **own,
            "SLURM_CONF": str(self.slurm.settings),
            "PYTHONPATH": os.pathsep.join([*paths, str(Path(__file__).parents[2])]),
        }
        with (self.folder / "output.txt").open("ab") as output:
            return subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=output, stderr=output
            )

    def text(self) -> str:
        return (self.folder / "output.txt").read_text(errors="replace")

    def ended(self, process: subprocess.Popen[bytes], code: int = 0) -> None:
        assert process.wait(300) == code, self.text()[-3000:]

    def trials(self) -> list[FrozenTrial]:
        return optuna.load_study(
            study_name=None, storage=open_storage(None, self.folder / "sweep")
        ).get_trials()


@pytest.fixture
def room(tmp_path: Path, slurm: Cluster) -> Iterator[Room]:
    room = Room(tmp_path.resolve(), slurm)
    yield room
    slurm.call("scancel", "--me")
    until(lambda: set(slurm.states().values()) == {"idle"}, 60)


def hexlit(*overrides: str) -> list[str]:
    return [sys.executable, "-m", "hexlit", "train", *overrides]


def sweep(*overrides: str) -> list[str]:
    fixed = [
        "hydra/sweeper=optuna",
        "hydra/sweeper/sampler=random",
        "hydra.sweep.dir=sweep",
        "logger=csv",
        "board=3",
    ]
    fixed += ["hydra/sweeper/pruner=none", "accelerator=cpu", "trainer.max_epochs=4", LR]
    return hexlit("--multirun", *fixed, *LAUNCHED, *overrides)


def weights(run: Path) -> dict[str, Any]:
    found = torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"]
    return {name: tensor.tolist() for name, tensor in found.items()}


def losses(run: Path) -> list[str]:
    return [row["train.loss"] for row in rows_of(run / "metrics.csv")]


def test_a_multirun_is_one_array_of_jobs(room: Room) -> None:
    process = room.start(
        *hexlit("--multirun", "seed=1,2", "hydra.sweep.dir=array", *TINY_ALONE, *LAUNCHED)
    )
    until(lambda: len([job for job in room.slurm.jobs() if "_" in job]) >= 2, 120)
    print(f"\njobs: {room.slurm.jobs()}")
    room.ended(process)
    summaries = [
        json.loads((room.folder / f"array/{n}/summary.json").read_text()) for n in range(2)
    ]
    assert [(found["seed"], found["epochs"]) for found in summaries] == [(1, 2), (2, 2)]
    assert "1 threads" in summaries[0]["device"], "those of its allocation"


def test_a_cancelled_job_fails_its_trial_alone_and_a_drained_node_delays_what_waits(
    room: Room,
) -> None:
    for node in NODES[1:]:
        room.slurm.call("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=test")
    process = room.start(
        *sweep(
            "hydra.sweeper.n_trials=4", "hydra.sweeper.n_jobs=3", "hydra.launcher.cpus_per_task=4"
        ),
        stand_in=2.5,
    )
    until(lambda: sorted(room.slurm.jobs().values()).count("PENDING") >= 2, 120)
    running = [job for job, state in room.slurm.jobs().items() if state == "RUNNING"]
    print(f"\none node drained: {room.slurm.jobs()}")
    assert len(running) <= 1
    until(lambda: list(room.folder.glob("sweep/trial-*/.hydra")))
    running = [job for job, state in room.slurm.jobs().items() if state == "RUNNING"]
    room.slurm.call("scancel", running[0])
    for node in NODES[1:]:
        room.slurm.call("scontrol", "update", f"NodeName={node}", "State=RESUME")
    room.ended(process)
    trials = room.trials()
    failures = [trial.user_attrs.get("failure") for trial in trials if trial.state.name == "FAIL"]
    print(f"{states(trials)}: {failures}")
    assert sorted(states(trials)) == ["COMPLETE"] * 3 + ["FAIL"]
    assert re.fullmatch(r"job \d+ of Slurm ended as CANCELLED", str(failures[0]))


def test_a_trial_cut_off_by_its_time_limit_goes_on_and_ends_as_one_that_was_not(room: Room) -> None:
    grid = [
        "hydra/sweeper=optuna",
        "hydra/sweeper/sampler=grid",
        "optimizer.lr=choice(0.01)",
        "hydra/sweeper/pruner=none",
    ]
    tiny = [o for o in TINY_ALONE if not o.startswith("trainer.max_epochs")]
    # All its epochs, which take longer, on a fast machine too, than Slurm takes to look at its
    # limits.
    epochs = ["trainer.max_epochs=400", "evaluation.target.enabled=false"]
    limited = ["hydra.launcher.signal_delay_s=55", "hydra.launcher.max_num_timeout=9"]
    fixed = [
        *grid,
        *tiny,
        *epochs,
        "accelerator.threads=1",
        "sweep.objective=strength.score",
        "hydra.sweeper.direction=maximize",
    ]
    process = room.start(
        *hexlit("--multirun", *fixed, "hydra.sweep.dir=sweep", *LAUNCHED, *limited)
    )
    trial = room.folder / "sweep/trial-000"
    until(lambda: (trial / "metrics.csv").exists() and len(losses(trial)) >= 3)
    (job,) = (job for job, state in room.slurm.jobs().items() if state == "RUNNING")
    # From now on: on a busy machine the shortest limit, a minute, would end it before its first
    # epoch.
    minutes = int(room.slurm.call("squeue", "-h", "-j", job, "-o", "%M").split(":")[0])
    room.slurm.call("scontrol", "update", f"JobId={job}", f"TimeLimit={minutes + 1}")
    until(lambda: room.slurm.jobs()[job] == "PENDING", 120)
    room.slurm.call("scontrol", "update", f"JobId={job}", "TimeLimit=30")
    before = len(losses(trial))
    room.ended(process)
    room.ended(room.start(*hexlit("--multirun", *fixed, "hydra.sweep.dir=whole")))
    logs = "".join(path.read_text() for path in (room.folder / "sweep").rglob("*_log.*"))
    print(
        f"\nbegun again {logs.count('Requeued job')} times, after {before} of {len(losses(trial))} epochs"
    )
    assert states(room.trials()) == ["COMPLETE"]
    assert "Requeued job" in logs
    assert losses(trial) == losses(room.folder / "whole/trial-000")
    assert weights(trial) == weights(room.folder / "whole/trial-000")


def test_srun_gives_a_run_its_ranks_and_its_cores(room: Room) -> None:
    """One process with its cores, then two ranks with one core each,
    by gloo; no message mentions srun.
    """
    one = ["hydra.run.dir=one", *TINY_ALONE]
    room.ended(room.start("srun", "-n", "1", "-c", "1", *hexlit(*one)))
    assert "1 threads" in json.loads((room.folder / "one/summary.json").read_text())["device"]
    two = ["hydra.run.dir=two", *TINY_ALONE]
    room.ended(
        room.start("srun", "-N", "1", "-n", "2", "-c", "1", "--kill-on-bad-exit=1", *hexlit(*two))
    )
    device = json.loads((room.folder / "two/summary.json").read_text())["device"]
    print(f"\nsrun -n 2: {device}")
    assert device.startswith("2 x cpu")
    assert "1 threads" in device
    assert "srun" not in room.text()
