"""Sweeps from the command line,
with trials that are processes of their own but hardly learn anything.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import optuna
import psutil
import pytest
from omegaconf import OmegaConf
from optuna.trial import FrozenTrial, TrialState

from hexlit.accelerate.host import free_host_bytes
from hexlit.tuning.results import read_results
from hexlit.tuning.storage import open_storage
from tests.commands.preloaded import HEXLIT, run_apart

STAND_IN = Path(__file__).parent / "stand_in"
UNDRAWN = """
from hexlit.tuning import sweep

write_results = sweep.write_results
sweep.write_results = lambda folder, figures, study=None: write_results(folder, False, study)
"""
"""Sweeps without figures and page,
which cost more than the rest of them and have tests of their own.
"""
LR = "optimizer.lr=tag(log,interval(1e-4,1))"


@dataclass
class Place:
    """A folder for a test's own sweeps."""

    folder: Path
    drawn: bool = False
    """Whether sweeps end with their figures and their page."""

    @property
    def sweep(self) -> Path:
        return self.folder / "sweep"

    def arguments(self, *overrides: str) -> list[str]:
        """Of `hexlit`."""
        fixed = [
            "hydra/sweeper=optuna",
            f"hydra.sweep.dir={self.sweep}",
            "logger=csv",
            "board=3",
            "accelerator=cpu",
        ]
        sampler = [] if any("sampler" in o for o in overrides) else ["hydra/sweeper/sampler=random"]
        return ["train", "--multirun", *fixed, *sampler, "trainer.max_epochs=8", *overrides]

    def environment(
        self, accidents: dict[int, str] | None = None, seconds: float = 0.0
    ) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(STAND_IN), str(Path(__file__).parents[2])]),
            "STAND_IN_ACCIDENTS": json.dumps(accidents or {}),
            "STAND_IN_SECONDS": str(seconds),
            "HEXLIT_SLOTS": str(self.folder / "slots"),
            "TMPDIR": str(self.folder / "tmp"),
            "HOME": str(self.folder / "home"),
        }

    def run(
        self,
        *overrides: str,
        accidents: dict[int, str] | None = None,
        seconds: float = 0.0,
        code: int = 0,
    ) -> subprocess.CompletedProcess[str]:
        done = self.hexlit(
            *self.arguments(*overrides), environment=self.environment(accidents, seconds)
        )
        assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def hexlit(
        self, *arguments: str, environment: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run `hexlit` here."""
        self.make_folders()
        environment = self.environment() if environment is None else environment
        if any(argument.startswith("hydra/launcher=") for argument in arguments):
            # Joblib's pool ends with the interpreter. A process of multiprocessing would wait
            # minutes for it.
            command = [sys.executable, "-c", HEXLIT, *arguments]
            return subprocess.run(
                command,
                cwd=self.folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=600,
            )
        program = ("" if self.drawn else UNDRAWN) + HEXLIT
        return run_apart(
            program, *arguments, folder=self.folder, environment=environment, seconds=600
        )

    def write_space(self, name: str, text: str, *overrides: str) -> None:
        """Write a search space of the user's own, and run it."""
        folder = self.folder / "configs" / "sweep"
        folder.mkdir(parents=True)
        head = "# @package _global_\ndefaults:\n  - override /hydra/sweeper: optuna"
        (folder / f"{name}.yaml").write_text(head + text)
        command = [
            "train",
            "--multirun",
            "--config-dir",
            "configs",
            f"sweep={name}",
            "logger=csv",
            *overrides,
        ]
        self.hexlit(*command, f"hydra.sweep.dir={self.sweep}").check_returncode()

    def make_folders(self) -> None:
        for name in ("tmp", "home"):
            (self.folder / name).mkdir(exist_ok=True)

    def start(self, *overrides: str, seconds: float) -> subprocess.Popen[bytes]:
        self.make_folders()
        return subprocess.Popen(
            [sys.executable, "-m", "hexlit", *self.arguments(*overrides)],
            cwd=self.folder,
            env=self.environment(None, seconds),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def trials(self) -> list[FrozenTrial]:
        storage = open_storage(None, self.sweep)
        for name in optuna.get_all_study_names(storage):  # none before it has been created
            return optuna.load_study(study_name=name, storage=storage).get_trials()
        return []

    def results(self) -> dict[str, Any]:
        results: dict[str, Any] = json.loads((self.sweep / "overall_results.json").read_text())
        return results

    def processes(self) -> list[psutil.Process]:
        """Processes that were begun below this place and still live."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):  # it has ended since, or is another user's
                if process.cwd() == str(self.folder) and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path.resolve())
    yield place
    for process in place.processes():
        process.kill()


def states(trials: list[FrozenTrial]) -> list[str]:
    return [trial.state.name for trial in trials]


def until(condition: Any, seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


def test_each_accident_fails_its_own_trial_only(place: Place) -> None:
    """Whatever happens to some, all others come to their end, and every reason is told."""
    accidents = {
        1: "exit",
        2: "kill",
        3: "memory",
        4: "memory once",
        5: "error",
        6: "grow",
        7: "hang",
    }
    limits = [
        "hydra.sweeper.max_failure_rate=1",
        "sweep.memory_budget=0.35",
        "sweep.trial_timeout=12",
    ]
    place.run(
        LR, "hydra.sweeper.n_trials=9", "hydra/sweeper/pruner=none", *limits, accidents=accidents
    )
    trials = place.trials()
    failures = {
        trial.number: str(trial.user_attrs["failure"])
        for trial in trials
        if trial.state == TrialState.FAIL
    }
    assert sorted(failures) == [1, 2, 3, 5, 6, 7]
    assert failures[1] == "exit code 3"
    assert failures[2] == "killed by SIGKILL"
    assert failures[3] == "out of memory: MemoryError: planted: no memory"
    assert failures[5] == "RuntimeError: planted"
    assert failures[6].startswith("over its memory budget: 0.")
    assert failures[7].startswith("over its time: ")
    assert (place.sweep / "trial-004-retry").is_dir(), "tried again with half the micro-batch"
    assert not (place.sweep / "trial-005-retry").exists()
    assert trials[3].user_attrs["attempts"] == trials[4].user_attrs["attempts"] == 2
    retried = (place.sweep / "trial-004-retry" / ".hydra" / "overrides.yaml").read_text()
    assert "accelerator.micro_batch=32" in retried
    assert place.processes() == [], "no orphan"
    assert list(place.folder.rglob("*.tmp")) == [], "no temporary file"


def test_a_sweep_writes_in_its_folder_only(place: Place) -> None:
    place.drawn = True
    place.run(LR, "hydra.sweeper.n_trials=3")
    assert (place.sweep / "report.html").exists()
    assert list((place.sweep / "figures").iterdir())
    assert {path.name for path in place.folder.iterdir()} <= {"sweep", "slots", "tmp", "home"}
    assert {path.name for path in place.sweep.glob("trial-*")} == {
        f"trial-{number:03d}" for number in range(3)
    }
    assert list((place.folder / "tmp").iterdir()) == []


def test_the_median_pruner_waits_prunes_the_bad_and_spares_the_best(place: Place) -> None:
    """Nothing within five epochs, nothing among the first trials,
    and the best value is the unpruned one's.
    """
    place.run(
        LR,
        "hydra.sweeper.n_trials=11",
        "hydra.sweeper.n_jobs=1",
        "hydra.sweeper.pruner.n_startup_trials=5",
    )
    trials = place.trials()
    assert not [trial for trial in trials[:5] if trial.state == TrialState.PRUNED], "startup"
    pruned = [trial for trial in trials if trial.state == TrialState.PRUNED]
    assert pruned
    for trial in pruned:
        assert trial.last_step == 5, (
            "steps 0 to 4 are never pruned, and all hopeless ones are at step 5"
        )
    by_rate = sorted(trials, key=lambda trial: abs(trial.params["optimizer.lr"] / 0.01 - 1))
    assert by_rate[0].state == TrialState.COMPLETE, "the best is never pruned"
    counts = place.results()["counts"]
    assert counts["pruned"] == len(pruned)
    assert counts["complete"] == 11 - len(pruned)


@pytest.mark.parametrize(
    "how",
    [
        signal.SIGKILL,
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_a_killed_sweep_goes_on_where_it_was(place: Place, how: signal.Signals) -> None:
    """No process is left, and resuming counts on;
    what was under way is done again with its parameters.
    """
    overrides = [LR, "hydra.sweeper.n_trials=5", "hydra/sweeper/pruner=none"]
    process = place.start(*overrides, seconds=0.15)
    until(lambda: (place.sweep / "study.journal").exists())
    until(lambda: states(place.trials()).count("COMPLETE") >= 2)
    until(lambda: states(place.trials()).count("RUNNING") == 2)
    process.send_signal(how)
    code = process.wait(60)
    assert code == (-9 if how == signal.SIGKILL else 130)
    until(lambda: place.processes() == [], 20)
    before = place.trials()
    (
        place.sweep / ".overall_results.json.0123abcd.tmp"
    ).touch()  # as a kill in the middle of writing leaves it
    place.run(*overrides, "sweep.resume=true")
    trials = place.trials()
    done = [trial for trial in trials if not trial.user_attrs.get("interrupted")]
    assert states(done) == ["COMPLETE"] * 5
    assert "RUNNING" not in states(trials)
    again = {
        trial.user_attrs["retry_of"]: trial for trial in done if "retry_of" in trial.user_attrs
    }
    interrupted = [trial for trial in trials if trial.user_attrs.get("interrupted")]
    assert [trial.number for trial in interrupted] == sorted(again)
    # One that was killed before it had its parameters gets new ones.
    assert all(again[trial.number].params == trial.params for trial in interrupted if trial.params)
    assert [trial.params for trial in trials[: len(before)]] == [trial.params for trial in before]
    assert len({trial.params["optimizer.lr"] for trial in done}) == 5, "a resumed sampler draws on"
    assert list(place.sweep.rglob("*.tmp")) == []
    assert list((place.folder / "tmp").iterdir()) == []


def test_a_signal_to_all_interrupts_the_trials_and_fails_none(place: Place) -> None:
    """Batch systems signal every process of a job; the results say that the sweep was stopped."""
    process = place.start(LR, "hydra.sweeper.n_trials=6", seconds=0.5)
    until((place.sweep / "study.journal").exists)
    until(lambda: len([t for t in place.trials() if t.intermediate_values]) == 2)
    for one in place.processes():
        one.terminate()
    assert process.wait(60) == 130
    until(lambda: place.processes() == [], 20)
    assert [trial.user_attrs.get("interrupted") for trial in place.trials()] == [True, True]
    results = place.results()
    assert results["state"] == "interrupted"
    assert results["progress"]["running"] == 0


def test_a_sweep_does_not_go_on_as_another(place: Place) -> None:
    """Its trials have to be comparable; and nothing goes on unasked."""
    overrides = [LR, "hydra.sweeper.n_trials=1", "optimizer.weight_decay=0.5"]
    place.run(*overrides)
    told = place.run(*overrides, code=2).stderr
    assert ("sweep.resume=true" in told, len(told.strip().splitlines()), len(place.trials())) == (
        True,
        1,
        1,
    )
    place.run(*overrides, "sweep.resume=true")
    assert len(place.trials()) == 1, "the count was full"
    for changed in (
        ["optimizer.weight_decay=0.25"],
        ["optimizer.weight_decay=0.5", "sweep.seeds=2"],
    ):
        told = place.run(
            LR, "hydra.sweeper.n_trials=2", *changed, "sweep.resume=true", code=2
        ).stderr
        assert "sweep.resume=true: " in told
    place.run(LR, "hydra.sweeper.n_trials=2", "optimizer.weight_decay=0.5", "sweep.resume=true")
    assert len(place.trials()) == 2


DIES_BEGINNING = """
import os, signal, sys
import optuna
from hexlit.cli import main

def dies(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)

owner, name = {"study": (optuna, "create_study"), "names": (optuna.Study, "set_metric_names"),
               "terms": (optuna.Study, "set_user_attr")}[sys.argv[1]]
setattr(owner, name, dies)
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("call", ["study", "names", pytest.param("terms", marks=pytest.mark.slow)])
def test_a_sweep_killed_while_it_makes_its_study_can_be_resumed(place: Place, call: str) -> None:
    place.make_folders()
    arguments = place.arguments(LR, "hydra.sweeper.n_trials=1")
    killed = run_apart(
        DIES_BEGINNING, call, *arguments, folder=place.folder, environment=place.environment()
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    place.run(LR, "hydra.sweeper.n_trials=1", "sweep.resume=true")
    assert states(place.trials()) == ["COMPLETE"]


def test_a_sweep_resumed_with_another_space_is_refused_before_a_trial_exists(place: Place) -> None:
    """And stays as it is;
    one refused at its beginning leaves nothing that hinders the right command.
    """
    place.run(LR, "hydra.sweeper.n_trials=1")
    before = (place.sweep / "sweep.json").read_bytes()
    for space in (["net.channels=8,16"], ["optimizer.lr=1e-3,1e-2"], [LR, "net.channels=8,16"]):
        told = place.run(*space, "hydra.sweeper.n_trials=2", "sweep.resume=true", code=2).stderr
        assert told.startswith("hexlit train: sweep.resume=true: the space of ")
        assert len(told.splitlines()) == 1
    assert (len(place.trials()), (place.sweep / "sweep.json").read_bytes()) == (1, before)
    new = [
        "hydra.sweeper.storage=missing/study.db",
        LR,
        "hydra.sweep.dir=new",
        "hydra.sweeper.n_trials=1",
    ]
    place.run(*new, "sweep.join=true", "hydra.sweeper.study_name=s", code=2)
    assert not (place.folder / "new" / "sweep.json").exists()


def test_trials_are_spread_over_devices(place: Place) -> None:
    place.run(LR, "hydra.sweeper.n_trials=6", "sweep.devices=[cuda:0,cuda:1]", seconds=0.1)
    overrides = [
        (place.sweep / f"trial-{n:03d}/.hydra/overrides.yaml").read_text() for n in range(6)
    ]
    assert {text.partition("accelerator.device=")[2].split()[0] for text in overrides} == {
        "cuda:0",
        "cuda:1",
    }


def test_best_yaml_has_what_the_search_space_fixes(place: Place) -> None:
    """All but the budget of a trial, so that the full training is of the same problem."""
    place.write_space(
        "mine",
        """
  - override /experiment: quick
board: 4
search: {simulations: 16}
trainer: {max_epochs: 3}
sweep: {objective: strength.score}
hydra: {sweeper: {n_trials: 1, params: {optimizer.lr: "tag(log, interval(1e-4, 1e-1))"}}}
""",
    )
    best = OmegaConf.load(place.sweep / "best.yaml")
    assert set(best.overrides[:-1]) == {
        "experiment=quick",
        "board=4",
        "search.simulations=16",
        "logger=csv",
    }
    assert best.left_out == ["trainer.max_epochs=3"]


def test_without_a_name_the_same_command_finds_its_sweep(place: Place) -> None:
    def run(*overrides: str) -> subprocess.CompletedProcess[str]:
        return place.hexlit(
            *(
                part
                for part in place.arguments(*overrides)
                if not part.startswith("hydra.sweep.dir")
            )
        )

    assert run(LR, "hydra.sweeper.n_trials=1").returncode == 0
    assert run(LR, "optimizer.weight_decay=0", "hydra.sweeper.n_trials=1").returncode == 0
    assert run(LR, "sweep.resume=true", "hydra.sweeper.n_trials=2").returncode == 0
    sweeps = sorted((place.folder / "runs" / "hex5").iterdir(), key=lambda path: path.name)
    assert [len(list(sweep.glob("trial-*"))) for sweep in sweeps] in ([2, 1], [1, 2])
    refused = run(LR, "sweep.resume=true", "optimizer.momentum=0.8")
    assert refused.returncode == 2
    assert "no sweep" in refused.stderr


def test_the_time_limit_begins_no_further_trial(place: Place) -> None:
    place.run(LR, "hydra.sweeper.n_trials=50", "hydra.sweeper.timeout=3", seconds=0.1)
    trials = place.trials()
    assert 1 <= len(trials) < 20
    assert set(states(trials)) <= {"COMPLETE", "PRUNED"}


def test_too_many_failures_end_the_sweep(place: Place) -> None:
    limits = ["hydra.sweeper.n_trials=30", "hydra.sweeper.max_failure_rate=0.3"]
    told = place.run(LR, *limits, accidents=dict.fromkeys(range(30), "error"), code=2).stderr
    assert "hydra.sweeper.max_failure_rate=0.3" in told
    assert "RuntimeError: planted" in told
    assert len(place.trials()) <= 4


def test_several_seeds_are_one_value(place: Place) -> None:
    """The mean over the seeds is reported,
    pruned on and told (the stand-in's seeds differ by 1).
    """
    place.run(
        LR,
        "hydra.sweeper.n_trials=3",
        "sweep.seeds=3",
        "trainer.max_epochs=2",
        "hydra/sweeper/pruner=median",
    )
    for trial in place.trials():
        values = list(trial.intermediate_values.values())
        assert list(trial.intermediate_values) == [0, 1, 2, 3, 4, 5]
        assert values[3] == pytest.approx(values[1] + 0.5), "of two seeds"
        assert trial.value == pytest.approx(values[1] + 1.0), "of three"


def test_without_an_objective_a_sweep_is_about_what_its_runs_watch(place: Place) -> None:
    """In the direction of the run, whatever the name suggests."""
    place.run(
        LR, "hydra.sweeper.n_trials=2", "trainer.monitor=cost.flops", "trainer.monitor_mode=max"
    )
    facts = json.loads((place.sweep / "sweep.json").read_text())
    assert (facts["objectives"], facts["directions"], facts["monitor"]) == (
        ["cost.flops"],
        ["maximize"],
        "cost.flops",
    )
    assert facts["comparable"] == "comparable_loss"
    assert [trial.value for trial in place.trials()] == [
        trial.params["optimizer.lr"] for trial in place.trials()
    ]


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ([], "hydra.sweeper.params"),
        ([LR, "hydra.sweeper.direction=up"], "hydra.sweeper.direction=up"),
        (
            [
                LR,
                "sweep.objective=[strength.score,cost.flops]",
                "hydra/sweeper/pruner=percentile",
                "hydra.sweeper.direction=[maximize,minimize]",
            ],
            "several objectives",
        ),
        ([LR, "sweep.objective=elo"], "hydra.sweeper.direction"),
        (
            [LR, "sweep.comparable=val.loss"],
            "sweep.comparable=val.loss: name a loss without its data",
        ),
        ([LR, "hydra.sweeper.storage=mysql://u:secret@127.0.0.1:1/x"], "leave the password out"),
    ],
)
def test_a_mistake_is_one_line(place: Place, overrides: list[str], told: str) -> None:
    [line] = place.run(*overrides, code=2).stderr.strip().splitlines()
    assert told in line
    assert "secret" not in line


@pytest.mark.parametrize("launcher", [pytest.param("submitit_local", marks=pytest.mark.slow)])
def test_other_launchers_get_one_launch_a_trial(place: Place, launcher: str) -> None:
    """They bring pickles of Hydra's state to processes that know nothing of the sweeper;
    a failed job is one trial.
    """
    pytest.importorskip(
        f"hydra_plugins.hydra_{launcher.partition('_')[0]}_launcher", reason="an extra"
    )
    place.run(
        LR,
        f"hydra/launcher={launcher}",
        "hydra.sweeper.n_trials=4",
        "hydra/sweeper/pruner=none",
        accidents={1: "error", 2: "kill"},
    )
    trials = place.trials()
    assert states(trials) == ["COMPLETE", "FAIL", "FAIL", "COMPLETE"]
    assert trials[1].user_attrs["failure"] == "RuntimeError: planted"
    assert trials[2].user_attrs["failure"]
    assert (place.sweep / "trial-000" / ".hydra" / "overrides.yaml").is_file()


@pytest.mark.slow
def test_without_processes_the_trials_run_one_by_one(place: Place) -> None:
    """The same results, and one warning."""
    place.run(LR, "hydra.sweeper.n_trials=4")
    with_processes = [(trial.params, trial.values, trial.state) for trial in place.trials()]
    arguments = place.arguments(LR, "hydra.sweeper.n_trials=4", "hydra.sweep.dir=starved")
    told = (
        subprocess.run(  # a whole process: the stand-in takes the processes from the sweep itself
            [sys.executable, "-m", "hexlit", *arguments],
            cwd=place.folder,
            env=place.environment({-1: "no process"}),
            check=True,
            capture_output=True,
            text=True,
        )
    )
    study = optuna.load_study(study_name=None, storage=open_storage(None, place.folder / "starved"))
    assert [
        (trial.params, trial.values, trial.state) for trial in study.get_trials()
    ] == with_processes
    assert (told.stdout + told.stderr).count("one after another") == 1


def test_a_trial_waits_for_memory(place: Place) -> None:
    """With a budget that is free once, but not twice, the trials run one after another.

    Memory that the first trial has not taken yet is not free for a second.
    """
    free = free_host_bytes() / 2**30
    place.run(LR, "hydra.sweeper.n_trials=2", f"sweep.memory_budget={free * 0.7}", seconds=0.05)
    spans = sorted((trial.datetime_start, trial.datetime_complete) for trial in place.trials())
    assert all(before[1] <= after[0] for before, after in pairwise(spans))  # type: ignore[operator]


def test_a_study_in_a_database(place: Place) -> None:
    database = ["hydra.sweeper.storage=sqlite:///study.db", "hydra.sweeper.study_name=mine"]
    place.run(LR, "hydra.sweeper.n_trials=2", *database)
    storage = open_storage(f"sqlite:///{place.folder}/study.db", place.folder)
    trials = optuna.load_study(study_name="mine", storage=storage).get_trials()
    assert states(trials) == ["COMPLETE"] * 2
    assert place.results()["counts"]["complete"] == 2
    assert not (place.sweep / "study.journal").exists()
    [told] = (
        place.run(LR, *database, "hydra.sweep.dir=elsewhere", code=2).stderr.strip().splitlines()
    )
    assert "this study exists already in sqlite:///" in told
    assert "add sweep.join=true" in told
    # Another device and another count, but the same study, from a folder of its own.
    more = [
        "sweep.join=true",
        "hydra.sweeper.n_trials=4",
        "accelerator.threads=1",
        "hydra.sweep.dir=elsewhere",
    ]
    place.run(LR, *database, *more)
    trials = optuna.load_study(study_name="mine", storage=storage).get_trials()
    assert states(trials) == ["COMPLETE"] * 4
    assert len({trial.params["optimizer.lr"] for trial in trials}) == 4, "its draws are others"
    numbers = iter(([0, 1], [2, 3]))
    for folder in (place.sweep, place.folder / "elsewhere"):
        assert sorted(path.name for path in folder.glob("trial-*")) == [
            f"trial-{n:03d}" for n in next(numbers)
        ]
        found = read_results(folder)
        assert (found.state, found.counts["complete"]) == ("finished", 4)


def test_wilcoxon_hears_the_value_of_each_seed(place: Place) -> None:
    place.run(
        LR,
        "hydra.sweeper.n_trials=2",
        "sweep.seeds=3",
        "trainer.max_epochs=2",
        "hydra/sweeper/pruner=wilcoxon",
    )
    for trial in place.trials():
        assert list(trial.intermediate_values) == [0, 1, 2][: len(trial.intermediate_values)]
        assert len(trial.intermediate_values) == 3 or trial.state == TrialState.PRUNED


def test_a_space_of_the_stock_plugin_runs_unchanged(place: Place) -> None:
    """Both of its forms, its sampler's settings and its direction."""
    space = """
  - override /hydra/sweeper/sampler: tpe
hydra:
  sweeper:
    sampler: {seed: 123, consider_prior: true, prior_weight: 1.0, n_startup_trials: 10, multivariate: false}
    direction: maximize
    study_name: null
    storage: null
    n_trials: 3
    n_jobs: 1
    params:
      optimizer.lr: tag(log, interval(1e-4, 1e-1))
      net.channels: choice(8, 16)
      data.window: range(1000, 3000, step=500)
      optimizer.schedule: cosine
"""
    place.write_space("stock", space, "board=3", "trainer.max_epochs=2")
    trials = place.trials()
    assert states(trials) == ["COMPLETE"] * 3
    for trial in trials:
        assert set(trial.params) == {"optimizer.lr", "net.channels", "data.window"}
        assert trial.params["data.window"] in range(1000, 3001, 500)
        assert "optimizer.schedule=cosine" in trial.user_attrs["overrides"]
