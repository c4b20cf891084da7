"""A training in this process, and what can be asked of its run."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hexlit
from hexlit.api.records import Match
from hexlit.api.runs import Run
from hexlit.api.searches import Model
from tests.commands.tiny import TINY

TRAINED = [*TINY, "trainer.max_epochs=1", "evaluation.every_epochs=0", "trainer.monitor=train.loss"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("training"))
        before = dict(os.environ), list(sys.argv)
        trained = hexlit.train(
            *TRAINED, quiet=True, name="small", **{"trainer.monitor_mode": "min"}
        )
        assert (dict(os.environ), list(sys.argv)) == before
        assert [path.name for path in Path().iterdir()] == ["runs"]
        yield trained


def test_the_figures_of_a_run_are_data_frames(run: Run) -> None:
    assert run.task == "hex"
    assert run.folder.parent.name == "small"
    assert run.config["board"] == 3
    assert run.summary["epochs"] == 1
    assert run.metrics["epoch"].tolist() == [0]
    assert {"selfplay", "training"} <= set(run.phases["phase"])
    assert len(run.steps) == 1
    assert isinstance(run.resources, pd.DataFrame)


def test_a_notebook_shows_the_run(run: Run) -> None:
    shown = run._repr_html_()
    assert "<b>small</b> hex" in shown
    assert f"{run.summary['parameters']:,}" in shown
    assert (
        "color:black" not in shown
    )  # the notebook's own colours, so that it reads on a dark page, too


def test_the_model_looks_searches_and_knows_its_openings(run: Run) -> None:
    board = hexlit.Board(3, moves="a1")
    assert run.look(board).policy.sum() == pytest.approx(1, abs=1e-3)
    assert run.look(board).policy[0] == 0
    found = run.search(board, simulations=20)
    assert found.move in run.look(board).moves["move"].tolist()
    assert found.candidates["visits"].sum() == found.visits.sum() == 20
    assert run.openings(simulations=8).values.shape == (9,)


def test_what_white_sees_is_told_in_cells_of_the_board(run: Run) -> None:
    """The network sees White's position transposed:
    its opinion of the mirrored game is the mirror image.
    """
    black = run.look(hexlit.Board(3, moves="a2 b1")).policy.reshape(3, 3)
    white = run.look(hexlit.Board(3, moves="a2")).policy.reshape(3, 3)
    assert white[1, 0] == 0
    assert black[1, 0] == black[0, 1] == 0


def test_the_model_is_measured_anew(run: Run) -> None:
    found = run.evaluate(positions=12, simulations=[2], games=8)
    assert [row["simulations"] for row in found["openings"]["levels"]] == [0, 2]
    with pytest.raises(hexlit.UsageError, match="evaluate=simulation: choose one of .*simulations"):
        run.evaluate(simulation=3)


def test_a_run_is_loaded_by_its_folder_and_by_a_checkpoint(run: Run, tmp_path: Path) -> None:
    assert isinstance(hexlit.load(run.folder), Run)
    last = hexlit.load(run.folder / "checkpoints" / "last.ckpt")
    assert isinstance(last, Run)
    assert last.checkpoint.name == "last.ckpt"
    alone = tmp_path / "alone.ckpt"
    alone.write_bytes(run.checkpoint.read_bytes())
    model = hexlit.load(alone)
    assert type(model) is Model
    assert model.board == 3
    with pytest.raises(hexlit.UsageError, match="holds no run, sweep, match or strength run"):
        hexlit.load(tmp_path)


def test_a_run_goes_on_with_more_epochs(run: Run) -> None:
    before = run.summary["epochs"]
    more = hexlit.train(resume=run, quiet=True, **{"trainer.max_epochs": 2})
    assert more.folder.resolve() == run.folder.resolve()
    assert more.summary["epochs"] == before + 1


def test_a_refused_resume_leaves_the_settings_of_the_run(run: Run) -> None:
    saved = (run.folder / ".hydra" / "overrides.yaml").read_text(encoding="utf-8")
    with pytest.raises(hexlit.UsageError, match="board=4: the run in .* was started with board=3"):
        hexlit.train(resume=run, board=4, quiet=True)
    assert (run.folder / ".hydra" / "overrides.yaml").read_text(encoding="utf-8") == saved


def test_a_flag_and_a_table_for_a_model_of_hex_are_refused(run: Run) -> None:
    with pytest.raises(hexlit.UsageError, match="--multirun"):
        hexlit.train("--multirun", "seed=1,2")
    with pytest.raises(hexlit.UsageError, match="task=hex: has no predict"):
        run.predict("readings.csv")


def test_models_and_programs_meet_in_a_match(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    players = {"the net": run.player(simulations=4), "policy": run.player(0), "random": "random"}
    match = hexlit.match(players, pairs=2, quiet=True, accelerator="cpu")
    assert set(match.ratings["name"]) == set(players)
    assert len(match.games) == len(match) == match.document["games"]
    assert match.cross.loc["random"].notna().sum() == 2
    assert match.cross.to_numpy(np.float64, na_value=0).sum() == len(match)
    assert match[0].result.endswith("connects")
    assert match[0].board().winner != 0
    assert "the net" in match._repr_html_()
    assert len(hexlit.games(match.sgf)) == len(match)
    loaded = hexlit.load(match.folder)
    assert isinstance(loaded, Match)
    assert loaded.document == match.document
