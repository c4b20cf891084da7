"""Commands log to Weights & Biases; the offline runs are read back by W&B's own reader."""

import json
from pathlib import Path

import pytest

from hexlit.commands.match import main as match
from hexlit.commands.train import main as train
from hexlit.tasks.run_config import RunConfig
from hexlit.tracking.opening import open_run
from hexlit.training.config import RunOptions
from tests.commands.test_train import as_a_process
from tests.commands.tiny import TINY
from tests.wandb_records import OfflineRun, offline_runs

SETTINGS = [override for override in TINY if not override.startswith("logger=")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of two epochs that was continued for a third."""
    folder = tmp_path_factory.mktemp("tracked")
    with as_a_process(folder):
        assert (
            train([*SETTINGS, "search=puct", "logger.wandb.tags=[mine]", "hydra.run.dir=run"]) == 0
        )
    with as_a_process(folder):
        assert train(["resume=run", "trainer.max_epochs=3"]) == 0
    return folder


@pytest.fixture(scope="module")
def sessions(folder: Path) -> list[OfflineRun]:
    return offline_runs(folder / "run")


def test_the_whole_configuration_tells_runs_apart(sessions: list[OfflineRun]) -> None:
    config = sessions[0].config
    assert config["search"]["algorithm"] == "puct"
    assert config["choices"]["search"] == "puct"
    assert "search=puct" in config["overrides"]
    assert (config["seed"], config["task"], config["board"], config["net"]["channels"]) == (
        1,
        "hex",
        3,
        8,
    )
    assert config["experiment"] is None or isinstance(config["experiment"], str)
    assert {"torch", "hexlit"} <= set(config["versions"])
    assert config["device"].startswith("cpu")
    assert "git" in config
    assert set(sessions[0].tags) >= {"hex", "3×3", "cpu", "mine"}


def test_a_resumed_run_continues_its_own(sessions: list[OfflineRun], folder: Path) -> None:
    first, second = sessions
    assert first.id == second.id
    assert (first.name, first.kind) == (second.name, "train")
    assert [[row["epoch"] for row in run.rows] for run in sessions] == [[0, 1], [2]]
    assert [[row["_step"] for row in run.rows] for run in sessions] == [[0, 1], [2]]
    assert second.summary["epochs"] == 3


def test_every_row_has_its_groups_and_all_axes(sessions: list[OfflineRun]) -> None:
    axes = {
        "epoch",
        "cost/flops",
        "time/wall_seconds",
        "selfplay/games",
        "selfplay/positions",
        "train/step",
    }
    for run in sessions:
        assert run.groups >= {
            "train",
            "selfplay",
            "strength",
            "time",
            "device",
            "cost",
            "throughput",
        }
        assert all(axes <= row.keys() for row in run.rows)
        assert run.axes["*"] == "epoch"
        assert (run.best["strength/score"], run.best["train/loss"]) == ("max", "min")
        assert not any("." in name for row in run.rows for name in row if not name.startswith("_"))


def test_maps_and_games_are_shown_at_every_evaluation(sessions: list[OfflineRun]) -> None:
    for run, steps in zip(sessions, ([0, 1], [2]), strict=True):
        maps = {"strength/opening_map": steps, "strength/value_opening_map": steps}
        assert run.media("html-file") == maps
        assert run.media("table-file") == {"games/samples": steps}
        assert run.file("strength/opening_map").stat().st_size > 500
    shown = next(artifact for artifact in sessions[0].artifacts if artifact["type"] == "run_table")
    table = json.loads(Path(shown["files"]["games/samples.table.json"]).read_text())
    assert table["columns"][-2:] == ["moves", "board"]
    assert len(table["data"]) == 4
    assert {row[-1]["path"] for row in table["data"]} <= set(shown["files"])


def test_checkpoints_and_their_games_are_artifacts(
    sessions: list[OfflineRun], folder: Path
) -> None:
    last = [artifact for artifact in sessions[1].artifacts if artifact["type"] != "run_table"]
    assert [(artifact["type"], artifact["used"]) for artifact in last] == [
        ("games", True),
        ("checkpoint", False),
        ("checkpoint", False),
    ]
    assert "best" in last[1]["aliases"]
    assert "last" in last[2]["aliases"]
    kept = Path(last[2]["files"]["last.ckpt"])
    assert kept.read_bytes() == (folder / "run" / "checkpoints" / "last.ckpt").read_bytes()
    assert set(last[0]["files"]) == {
        path.name for path in (folder / "run" / "games").glob("part-*.parquet")
    }


def test_a_match_has_used_the_checkpoint_that_the_run_made(
    folder: Path, sessions: list[OfflineRun], tmp_path: Path
) -> None:
    players = f"players=[checkpoint={folder / 'run'},checkpoint={folder / 'run'} name=twin,random]"
    with as_a_process(tmp_path):
        quick = ["pairs=2", "search.simulations=4", "accelerator=cpu", "accelerator.threads=1"]
        assert match([players, *quick, "logger=wandb", "hydra.run.dir=match"]) == 0
    (run,) = offline_runs(tmp_path)
    assert (run.kind, run.tags) == ("match", ("match", "3×3"))
    used, *_, made = run.artifacts
    best = next(artifact for artifact in sessions[1].artifacts if "best" in artifact["aliases"])
    assert used["used"]
    assert (used["name"], used["digest"]) == (best["name"], best["digest"])
    assert sum(artifact["used"] for artifact in run.artifacts) == 1, "two players share it"
    assert (made["type"], set(made["files"])) == ("match", {"match.json", "games.csv", "games.sgf"})
    assert run.media("table-file") == {"match/players": [0], "match/cross": [0], "match/games": [0]}
    assert (
        run.summary["players"]
        == json.loads((tmp_path / "match" / "match.json").read_text())["players"]
    )
    assert run.config["search"]["simulations"] == 4


JOBS = ["--multirun", "seed=1,2", "hydra.sweep.dir=quick/sweep"]


@pytest.mark.parametrize(
    ("overrides", "variable", "groups"),
    [
        (JOBS, "", ["quick-sweep", "quick-sweep"]),
        ([*JOBS, "logger.wandb.group=mine"], "", ["mine", "mine"]),
        (JOBS, "theirs", ["theirs", "theirs"]),
        (["hydra.run.dir=quick/sweep/0"], "", [None]),
    ],
)
def test_jobs_of_a_plain_multirun_share_a_group(
    overrides: list[str],
    variable: str,
    groups: list[str | None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def train_task(
        settings: RunConfig, folder: Path, options: RunOptions, console: object = None
    ) -> None:
        tracked = open_run(settings.logger.wandb, folder, name="job", kind="train")
        assert tracked is not None
        tracked.finish()

    monkeypatch.setattr("hexlit.commands.task_run.train_task", train_task)
    monkeypatch.setenv("WANDB_RUN_GROUP", variable)
    with as_a_process(tmp_path):
        assert train([*SETTINGS, *overrides]) == 0
    assert [run.group for run in offline_runs(tmp_path)] == groups
