"""F22: two processes train as one does, whatever the task; a rank that dies ends them all.

pytest -n 0 -m slow tests/commands/test_train_ranks.py
"""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from hexlit.selfplay.store import GameStore
from tests.commands.recorded import save_games
from tests.commands.test_train_classify import SMALL as CLASSIFY
from tests.commands.test_train_forecast import SMALL
from tests.commands.tiny import TINY
from tests.tables import rows_of
from tests.tasks.classify.texts import save as save_texts
from tests.tasks.classify.texts import sentences
from tests.tasks.forecast.tables import hourly, save

pytestmark = [pytest.mark.slow]

EXACT = [
    "accelerator.precision=32-true",
    "accelerator.inference_precision=fp32",
    "accelerator.threads=1",
]
TWO = "accelerator.devices=2"
HEX = [*TINY, *EXACT, "net.dropout=0", "trainer.ema_decay=0.9"]
WITHIN = 1e-5


def command(folder: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "hexlit", "train", *arguments, f"hydra.run.dir={folder}"]


def trained(folder: Path, *arguments: str, starter: tuple[str, ...] = ()) -> list[dict[str, str]]:
    """The rows of `metrics.csv` of a run in `folder`."""
    whole = [*starter, *command(folder, *arguments)]
    done = subprocess.run(whole, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return rows_of(folder / "metrics.csv")


def assert_equal(found: list[dict[str, str]], expected: list[dict[str, str]]) -> None:
    """Learning and measurements are the same."""
    assert len(found) == len(expected)
    for row, wanted in zip(found, expected, strict=True):
        names = [name for name in wanted if name.startswith(("train.", "val.", "strength."))]
        assert "train.loss" in names
        for name in names:
            assert float(row[name] or "nan") == pytest.approx(
                float(wanted[name] or "nan"), abs=WITHIN, nan_ok=True
            ), name


def test_self_play_by_two_ranks_plays_the_games_of_two_workers(tmp_path: Path) -> None:
    settings = [*HEX, "trainer.max_epochs=2"]
    one = trained(tmp_path / "one", *settings, "selfplay.workers=2", "selfplay.ahead=false")
    two = trained(tmp_path / "two", *settings, TWO)  # each plays in its own process
    assert_equal(two, one)
    assert [row["selfplay.games"] for row in two] == [row["selfplay.games"] for row in one]


def test_recorded_games(tmp_path: Path) -> None:
    plays = ("selfplay.", "data.reuse", "data.window")
    settings = [setting for setting in HEX if not setting.startswith(plays)]
    settings += [
        "data=games",
        f"data.path={save_games(tmp_path / 'games')}",
        "accelerator.train_batch=33",
    ]
    assert_equal(trained(tmp_path / "two", *settings, TWO), trained(tmp_path / "one", *settings))


def test_forecast(tmp_path: Path) -> None:
    settings = [
        *SMALL,
        f"data.path={save(hourly(), tmp_path / 'hours.csv')}",
        "accelerator.evaluation_batch=33",
    ]
    assert_equal(trained(tmp_path / "two", *settings, TWO), trained(tmp_path / "one", *settings))


def test_classify(tmp_path: Path) -> None:
    settings = [
        *CLASSIFY,
        f"data.path={save_texts(*sentences(60), tmp_path / 'texts.csv')}",
        "accelerator.train_batch=17",
    ]
    settings += ["net.dropout=0", "net.token_dropout=0"]
    assert_equal(trained(tmp_path / "two", *settings, TWO), trained(tmp_path / "one", *settings))


@pytest.fixture(scope="module")
def forecast(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Settings of a run whose learning rate does not know how long it will be."""
    table = save(hourly(), tmp_path_factory.mktemp("forecast") / "hours.csv")
    return [*SMALL, f"data.path={table}", "optimizer.schedule=constant"]


@pytest.fixture(scope="module")
def of_one_process(
    forecast: list[str], tmp_path_factory: pytest.TempPathFactory
) -> list[dict[str, str]]:
    return trained(tmp_path_factory.mktemp("whole") / "run", *forecast)


@pytest.mark.parametrize(("first", "then"), [(1, 2), (2, 1)])
def test_a_run_goes_on_with_another_number_of_ranks(
    first: int, then: int, forecast: list[str], of_one_process: list[dict[str, str]], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    trained(folder, *forecast, "trainer.max_epochs=1", f"accelerator.devices={first}")
    found = trained(
        folder, f"resume={folder}", "trainer.max_epochs=3", f"accelerator.devices={then}"
    )
    assert_equal(found, of_one_process)


@pytest.mark.parametrize("lost", [0, 1])
def test_a_rank_of_torchrun_that_dies_ends_the_other(
    lost: int, forecast: list[str], tmp_path: Path
) -> None:
    """torchrun ends it after half a minute at most, and says which it was."""
    folder = tmp_path / "run"
    starter = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        "-m",
        "hexlit",
        "train",
    ]
    whole = [*starter, *forecast, "trainer.max_epochs=1000", f"hydra.run.dir={folder}"]
    with (tmp_path / "said").open("w+") as output:
        process = subprocess.Popen(whole, stdout=output, stderr=subprocess.STDOUT)
        wait_for_rows(process, folder)
        ranks = {one.environ()["LOCAL_RANK"]: one for one in psutil.Process(process.pid).children()}
        left = [one for rank, one in ranks.items() if rank != str(lost)]
        ranks[str(lost)].kill()
        assert not psutil.wait_procs(left, timeout=90)[1]
        assert process.wait(timeout=60) != 0
        output.seek(0)
        assert "Signal 9 (SIGKILL)" in output.read()


def wait_for_rows(process: "subprocess.Popen[Any]", folder: Path) -> None:
    """Until the run in `folder` has done two epochs."""
    table = folder / "metrics.csv"
    while not table.exists() or len(table.read_text().splitlines()) < 3:
        assert process.poll() is None
        time.sleep(0.1)


def test_a_rank_that_dies_ends_all_and_one_process_goes_on(tmp_path: Path) -> None:
    """A line says which it was. Nothing is left behind, and no game is lost or played twice."""
    folder = tmp_path / "run"
    settings = [
        *HEX,
        "trainer.max_epochs=30",
        "evaluation.every_epochs=0",
        "trainer.monitor=train.loss",
    ]
    whole = command(folder, *settings, "trainer.monitor_mode=min", TWO)
    process = subprocess.Popen(whole, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_for_rows(process, folder)
    started = psutil.Process(process.pid).children(recursive=True)
    next(one for one in started if any("ranks/1" in argument for argument in one.cmdline())).kill()
    _, said = process.communicate(timeout=30)
    assert not psutil.wait_procs(started, timeout=10)[1]
    assert process.returncode == 2
    assert "hexlit train: rank 1: killed by SIGKILL; its output is in" in said
    assert "Traceback" not in said
    rows = trained(folder, f"resume={folder}", "accelerator.devices=1")
    assert [int(row["epoch"]) for row in rows] == list(range(30))
    with GameStore(folder / "games") as store:
        ids = [game.game_id for game in store.records()]
    assert len(ids) == len(set(ids)) >= int(float(rows[-1]["selfplay.games"]))
