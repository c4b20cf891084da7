"""`hexlit train`, end to end on a tiny board:
what a run leaves behind, and that one seed is one run.
"""

import contextlib
import json
import logging
import math
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from hydra.core.global_hydra import GlobalHydra

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.arena.matches import play_match
from hexlit.arena.players import PolicyPlayer, SearchPlayer
from hexlit.commands.train import main
from hexlit.hex.record import GameRecord
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.search.config import ALGORITHMS, SearchConfig
from hexlit.selfplay.store import GameStore
from hexlit.tasks.hex.checkpoint import load_network
from tests.commands.tiny import TINY
from tests.reporting.documents import checked
from tests.selfplay.same_games import same
from tests.tables import rows_of


@dataclass(frozen=True)
class Run:
    """The folder of a finished run."""

    folder: Path

    @property
    def games(self) -> dict[int, GameRecord]:
        records = list(GameStore(self.folder / "games").records())
        found = {record.game_id: record for record in records}
        assert len(found) == len(records), "E9: a game is kept twice"
        return found

    @property
    def weights(self) -> dict[str, torch.Tensor]:
        saved = torch.load(self.folder / "checkpoints" / "last.ckpt", weights_only=True)
        state: dict[str, torch.Tensor] = saved["state_dict"]
        return state

    def table(self, name: str) -> list[dict[str, str]]:
        return rows_of(self.folder / name)

    @property
    def summary(self) -> dict[str, object]:
        summary: dict[str, object] = json.loads((self.folder / "summary.json").read_text())
        return summary


@contextlib.contextmanager
def as_a_process(folder: Path) -> Iterator[None]:
    """Undo what a command does to its process: where it is, its log handlers, its Hydra."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    threads = torch.get_num_threads()
    with contextlib.chdir(folder):
        yield
    for handler in root.handlers:
        if handler not in handlers and isinstance(handler, logging.FileHandler):
            # others, such as absl's of TensorBoard, would close the stream of the tests
            handler.close()
    root.handlers[:], root.level = handlers, level
    torch.set_num_threads(threads)
    GlobalHydra.instance().clear()


def train(folder: Path, *overrides: str, base: Sequence[str] = TINY) -> Run:
    """A tiny run in `folder`/run, in this process."""
    with as_a_process(folder):
        assert main([*base, *overrides, "hydra.run.dir=run"]) == 0
    return Run(folder / "run")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(tmp_path_factory.mktemp("tiny"), "report=true")


def test_a_run_leaves_everything_the_design_names(tiny: Run) -> None:
    names = {
        str(path.relative_to(tiny.folder)) for path in tiny.folder.rglob("*") if path.is_file()
    }
    assert names >= {
        ".hydra/config.yaml",
        ".hydra/overrides.yaml",
        "checkpoints/best.ckpt",
        "checkpoints/last.ckpt",
    }
    assert names >= {
        "games/part-000000.parquet",
        "games/part-000001.parquet",
        "metrics.csv",
        "phases.csv",
    }
    assert names >= {"report.html", "summary.json", "train.log"}
    assert [name for name in names if name.endswith((".tmp", ".arrows"))] == []
    assert "process.json" not in names, "D17: only a run that goes on can be watched"
    assert tiny.table("resources.csv")[0]["host_bytes"] != ""
    memory = tiny.summary["memory"]
    assert isinstance(memory, dict)
    assert memory["host_peak_bytes"] > 10**8
    for row in tiny.table("metrics.csv"):
        assert float(row["memory.host_mb"]) > 100, "D18"


def test_a_run_ends_with_a_report_that_needs_nothing_else(tiny: Run) -> None:
    page = checked((tiny.folder / "report.html").read_text(encoding="utf-8"))
    for title in (
        "Strength",
        "Openings",
        "Sample games",
        "Losses",
        "Time and machine",
        "Cost",
        "Configuration",
    ):
        assert title in page.text
    assert "network after 1 epochs" in page.text
    assert "report.html" not in (tiny.folder / "train.log").read_text()


def test_the_summary_says_what_the_run_did(tiny: Run) -> None:
    summary, games = tiny.summary, tiny.games
    assert isinstance(summary["wall_seconds"], float)
    assert summary["games"] == len(games)
    assert summary["positions"] == sum(len(game.policy_plies) for game in games.values())
    assert (summary["board"], summary["seed"], summary["epochs"]) == (3, 1, 2)


def test_steps_have_one_row_an_epoch_whose_parts_add_up(tiny: Run) -> None:
    """Within 5% of the epoch; what cannot be measured is empty, with the reason."""
    rows = tiny.table("steps.csv")
    assert [row["epoch"] for row in rows] == ["0", "1"]
    for row in rows:
        parts = [
            float(row[f"{part}_seconds"])
            for part in ("load", "forward", "loss", "backward", "update")
        ]
        assert sum(parts) == pytest.approx(float(row["wall_seconds"]), rel=0.05)
        assert float(row["examples"]) == 32 * float(row["steps"])
        assert float(row["load_share"]) == pytest.approx(
            parts[0] / float(row["wall_seconds"]), abs=1e-3
        )
        assert row["verdict"] == (
            "loader-bound" if float(row["load_share"]) > 0.1 else "compute-bound"
        )
        assert (row["micro_batch"], row["skipped_steps"]) == ("32", "0")
        for name in ("transfer_seconds", "peak_device_bytes"):
            assert row[name] == ""
            assert f"{name}: the " in row["not_measured"]


def test_metrics_have_one_row_an_epoch_with_losses_and_strength(tiny: Run) -> None:
    """Openings by search and by the value alone,
    its calibration, and optimality; the maps are in the summary.
    """
    rows, strength = tiny.table("metrics.csv"), tiny.summary["strength"]
    assert isinstance(strength, dict)
    assert [row["epoch"] for row in rows] == ["0", "1"]
    for row in rows:
        parts = float(row["train.policy_loss"]) + float(row["train.value_loss"])
        assert float(row["train.loss"]) == pytest.approx(parts, rel=1e-4)
        for name in (
            "openings_right",
            "search_optimality",
            "policy_optimality",
            "value_openings_right",
        ):
            assert 0 <= float(row[f"strength.{name}"]) <= 9, name
        for name in ("value_brier", "value_calibration_error", "games_policy_optimality"):
            assert 0 <= float(row[f"strength.{name}"]) <= 1, name
    assert [bool(row["strength.games_search_optimality"]) for row in rows] == [False, True]
    assert float(rows[-1]["strength.value_brier"]) == pytest.approx(
        strength["value_brier"], rel=1e-6
    )
    assert (
        len(strength["value_opening_map"])
        == strength["openings"]
        == len(strength["opening_map"])
        == 9
    )


EVALUATED = {"0": ["evaluation"], "1": ["evaluation", "evaluation"]}
"""Evaluations of an epoch: the last is measured for the target, and for good."""


def test_phases_reconcile_with_the_wall_time_and_the_games(tiny: Run) -> None:
    """Nothing is left over, and nothing is counted twice."""
    rows, summary = tiny.table("phases.csv"), tiny.summary
    assert [(row["epoch"], row["phase"]) for row in rows] == [
        ("0", "starting"),
        ("0", "compiling"),
        *(
            (epoch, phase)
            for epoch in "01"
            for phase in ("selfplay", "between", "training", *EVALUATED[epoch], "saving")
        ),
        ("2", "finishing"),
    ]
    measured = sum(float(row["wall_seconds"]) for row in rows)
    wall = summary["wall_seconds"]
    assert isinstance(wall, float)
    assert 0.9 * wall <= measured <= wall
    selfplay = [row for row in rows if row["phase"] == "selfplay"]
    assert sum(int(row["games"]) for row in selfplay) == summary["games"]
    assert sum(int(row["positions"]) for row in selfplay) == summary["positions"]
    for row in selfplay:
        assert 0 < float(row["network_seconds"]) <= float(row["wall_seconds"])
    steps = [math.ceil(int(row["positions"]) * 2 / 32) for row in selfplay]
    trained = [int(row["positions"]) for row in rows if row["phase"] == "training"]
    assert trained == [32 * count for count in steps]


def same_games(one: dict[int, GameRecord], other: dict[int, GameRecord]) -> bool:
    return list(one) == list(other) and all(same(one[game], other[game]) for game in one)


def same_weights(one: Run, other: Run) -> bool:
    weights = other.weights
    return all(torch.equal(tensor, weights[name]) for name, tensor in one.weights.items())


def test_one_seed_is_one_run_and_another_seed_another(tiny: Run, tmp_path: Path) -> None:
    """Bit-identical weights and games, batch order, dropout and initial weights included."""
    (tmp_path / "again").mkdir()
    (tmp_path / "other").mkdir()
    again = train(tmp_path / "again")
    assert same_weights(tiny, again)
    assert same_games(tiny.games, again.games)
    other = train(tmp_path / "other", "seed=2")
    assert not same_weights(tiny, other)
    assert not same_games(tiny.games, other.games)


def test_worker_processes_play_for_a_run(tmp_path: Path) -> None:
    """That their games do not depend on their speeds is shown in tests/selfplay/test_workers.py."""
    run = train(tmp_path, "selfplay.workers=2")
    assert {game % 8 // 4 for game in run.games} == {0, 1}
    for row in run.table("phases.csv"):
        assert 0 < float(row["device_utilisation"]) <= 1
        assert float(row["cpu_seconds"]) > 0
    # E13: the second epoch's games were played beside the first one's training, by the network of
    # its beginning.
    assert {game.network_version for game in run.games.values()} == {0}
    for row in run.table("phases.csv"):
        if row["phase"] == "selfplay":
            assert 0 < float(row["network_seconds"]) <= float(row["work_seconds"])
            rate = float(row["positions"]) / float(row["work_seconds"])
            assert float(row["positions_per_second"]) == pytest.approx(rate)


def test_averaged_weights_play_and_are_what_a_checkpoint_gives(tmp_path: Path) -> None:
    run = train(tmp_path, "trainer.ema_decay=0.5")
    found = load_network(run.folder / "checkpoints" / "last.ckpt").net.state_dict()
    assert all(torch.equal(found[name], run.weights[f"average.module.{name}"]) for name in found)
    assert not all(torch.equal(found[name], run.weights[f"net.{name}"]) for name in found)


@pytest.mark.slow
def test_a_compiled_run_with_recomputed_activations_ends_near_the_plain_one(
    tiny: Run, tmp_path: Path
) -> None:
    """The seconds of compiling are in the summary, not in the training."""
    run = train(
        tmp_path,
        "accelerator.compile=true",
        "accelerator.checkpoint_gradients=true",
        "trainer.max_epochs=1",
    )
    seconds = run.summary["compile_seconds"]
    assert isinstance(seconds, float)
    (row,) = run.table("steps.csv")
    assert float(row["wall_seconds"]) < seconds
    assert tiny.summary["compile_seconds"] is None
    compiled, plain = run.table("metrics.csv")[0], tiny.table("metrics.csv")[0]
    assert float(compiled["train.loss"]) == pytest.approx(float(plain["train.loss"]), rel=0.02)


@pytest.mark.slow
def test_memory_does_not_grow_in_a_long_run(tmp_path: Path) -> None:
    """Over the second half of 150 epochs, less than 2%."""
    run = train(tmp_path, "trainer.max_epochs=150", "evaluation.every_epochs=10")
    held = [float(row["memory.host_mb"]) for row in run.table("metrics.csv")]
    print(
        f"host memory: {held[10]:.0f} MB after 10 epochs, {held[75]:.0f} after 75, {held[-1]:.0f} at the end"
    )
    assert held[-1] < 1.02 * held[75]


def test_a_run_with_swap_and_a_board_without_solved_positions(tmp_path: Path) -> None:
    overrides = ["board=2", "swap=true", "trainer.max_epochs=1"]
    run = train(tmp_path, *overrides)
    assert "rollouts_share" in run.summary["strength"]  # type: ignore[operator]
    assert any(4 in record.moves for record in run.games.values())


def epochs_of(run: Run) -> int:
    """Epochs that a run has done by now."""
    return int(str(run.summary["epochs"]))


def test_a_run_ends_once_it_has_reached_its_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In two evaluations in a row; a resumed run stays so, until a setting makes it continue."""
    monkeypatch.setattr(
        "hexlit.commands.hex_task.target_of", lambda config, size: {"search_optimality": 0.0}
    )
    run = train(tmp_path, "trainer.max_epochs=9", "evaluation.every_epochs=2")
    assert epochs_of(run) == 4
    ending = run.summary["ending"]
    assert isinstance(ending, dict)
    assert (ending["why"], ending["asked"], ending["target"]["reached_after"]) == ("target", 9, 4)
    strength = run.summary["strength"]
    assert isinstance(strength, dict)
    assert strength["positions"] == 20, "the final figures"
    *_, last = capsys.readouterr().out.splitlines()
    assert last.startswith("Target reached after 4 epochs of at most 9: search optimal ")
    assert last.endswith("in 2 evaluations in a row.")
    with as_a_process(tmp_path):
        assert main(["resume=run"]) == 0
    assert epochs_of(run) == 4
    assert run.summary["strength"] == strength
    monkeypatch.undo()
    with as_a_process(tmp_path):
        assert main(["resume=run", "evaluation.target.enabled=false", "trainer.max_epochs=5"]) == 0
    assert epochs_of(run) == 5
    assert run.summary["ending"]["why"] == "epochs"  # type: ignore[index]


def test_a_run_ended_by_the_clock_names_the_command_that_goes_on_to_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """That very command does; the folder's name needs quotes."""
    folder = tmp_path / "a run's folder"
    folder.mkdir()
    run = train(
        folder, "trainer.max_time=00:00:00", "trainer.max_epochs=3", "trainer.max_flops=1e15"
    )
    assert epochs_of(run) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-2].startswith(
        "trainer.max_time ended the run after 1 of 3 epochs, before its target: openings "
    )
    assert (
        "(target: openings 9/9, search optimal 99.0%, policy optimal 95.0%, in 2 evaluations in a row)"
        in said[-2]
    )
    start, _, command = said[-1].partition(": ")
    assert start == "To continue to its end"
    program, name, *arguments = shlex.split(command)
    assert (program, name) == ("hexlit", "train")
    assert arguments == ["resume=run", "trainer.max_time=null", "trainer.max_flops=null"]
    with as_a_process(folder):
        assert main(arguments) == 0
    assert epochs_of(run) == 3
    *_, last = capsys.readouterr().out.splitlines()
    assert last.startswith("Target not reached in 3 epochs: openings ")


def test_the_first_line_comes_before_the_imports_that_take_seconds(tmp_path: Path) -> None:
    code = """
import builtins, sys
import hexlit.commands.train as command
inner = builtins.__import__
def refused(name, *rest):
    if name.partition(".")[0] in ("torch", "lightning"):
        raise KeyboardInterrupt(name)
    return inner(name, *rest)
builtins.__import__ = refused
sys.exit(command.main(sys.argv[1:]))
"""
    arguments = [sys.executable, "-c", code, "board=3", "hydra.run.dir=run"]
    said = subprocess.run(
        arguments, capture_output=True, text=True, check=False, cwd=tmp_path
    ).stdout
    assert said.splitlines() == ["hexlit train · hex5 · 3×3 · begins in run; loading PyTorch"]


@pytest.mark.slow
def test_search_beats_the_bare_policy_of_a_trained_network(tmp_path: Path) -> None:
    """At least 65% of 200 paired games, by either algorithm.
    Slow, because it trains the network first.
    """
    overrides = [
        "board=5",
        "selfplay.positions=1500",
        "search.simulations=24",
        "selfplay.games=256",
        "data.reuse=4",
    ]
    overrides += [
        "accelerator.train_batch=256",
        "trainer.ema_decay=0",
        "net.channels=24",
        "net.blocks=[2]",
    ]
    overrides += ["net.dropout=0", "data.window=20000", "trainer.max_epochs=3"]
    run = train(tmp_path, *overrides)
    net = load_network(run.folder / "checkpoints" / "last.ckpt").net
    profile = build_profile(AcceleratorConfig(device="cpu"))
    evaluator = NetworkEvaluator(net, size=5, swap=False, batch=128, profile=profile)
    for algorithm in ALGORITHMS:
        searcher = SearchPlayer(
            SearchConfig(algorithm, simulations=64), evaluator, size=5, batch=128
        )
        result = play_match(
            searcher, PolicyPlayer(evaluator, size=5, batch=128), size=5, pairs=100, seed=1
        )
        print(f"{algorithm} won {result.wins} of {result.games} games against its own policy")
        assert result.share >= 0.65
