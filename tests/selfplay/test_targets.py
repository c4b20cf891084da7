"""Further targets of other packages, as the mover sees them, from a store and from the window."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.board import GameBoard
from hexlit.hex.record import GameRecord
from hexlit.selfplay.dataset import GameRows
from hexlit.selfplay.rebuild import Batch
from hexlit.selfplay.targets import load_targets
from hexlit.selfplay.window import ReplayWindow
from hexlit.settings import TARGET_GROUP
from tests.nets.brought_blocks import package
from tests.selfplay.recorded_games import opened, save
from tests.selfplay.test_window import games

PLIES = """
import numpy as np
KIND = "value"
def of_game(record):
    return np.arange(len(record.moves)) / 100
"""
FLAT = """
KIND = "cells"
def of_game(record):
    return [0.5] * record.size**2
"""


@pytest.fixture(autouse=True)
def site(tmp_path: Path) -> Iterator[Path]:
    """A folder whose modules are targets; those of the manual, too."""
    names = ("connection", "reply", "plies", "flat", "odd", "broken")
    lines = [f"{name} = {name}" for name in names]
    folder = tmp_path / "site"
    with package(folder, *lines, name="further", group=TARGET_GROUP):
        (folder / "plies.py").write_text(PLIES)
        (folder / "flat.py").write_text(FLAT)
        (folder / "odd.py").write_text(FLAT.replace("cells", "colour"))
        yield folder


def seen_by_the_mover(cells: NDArray[np.float64], ply: int, size: int, *, turned: bool) -> bytes:
    board = cells.reshape(size, size)
    if ply % 2 == 1:
        board = board.T
    if turned:
        board = board[::-1, ::-1]
    return np.ascontiguousarray(board, np.float32).tobytes()


def winning_group(record: GameRecord) -> NDArray[np.float64]:
    """Stones without which the winner would not be connected, or that touch such a group."""
    board = GameBoard(record.size, swap=True, moves=record.moves.tolist())
    stones = np.flatnonzero(np.asarray(board.cells).ravel() == record.winner).tolist()
    group = {int(record.moves[-1])}
    grows = True
    while grows:
        grows = False
        for stone in stones:
            near = any(touches(stone, one, record.size) for one in group)
            if near and stone not in group:
                group.add(stone)
                grows = True
    return np.isin(np.arange(record.size**2), list(group)).astype(float)


def touches(one: int, other: int, size: int) -> bool:
    row, column = divmod(one, size)
    other_row, other_column = divmod(other, size)
    down = other_row - row
    right = other_column - column
    return abs(down) + abs(right) == 1 or down == -right == 1 or right == -down == 1


def expected_rows(records: list[GameRecord], size: int) -> dict[tuple[bytes, bytes], set[bytes]]:
    """Planes and value of a position -> its connections; a position may come from several games."""
    result: dict[tuple[bytes, bytes], set[bytes]] = {}
    for record in records:
        connection = winning_group(record)
        for ply in record.policy_plies.tolist():
            board = GameBoard(size, swap=False, moves=record.moves[:ply].tolist())
            for turned in (False, True):
                planes = board.planes()[0]
                if turned:
                    planes = planes[:, ::-1, ::-1]
                reply = np.full(size**2, np.nan)
                if ply + 1 < len(record.moves):
                    reply = np.arange(size**2) == record.moves[ply + 1]
                key = planes.tobytes(), seen_by_the_mover(reply, ply, size, turned=turned)
                map_of_cells = seen_by_the_mover(connection, ply, size, turned=turned)
                result.setdefault(key, set()).add(map_of_cells)
    return result


def rows_of(batch: Batch) -> list[tuple[tuple[bytes, bytes], bytes]]:
    result = []
    for row in range(len(batch.planes)):
        planes = batch.planes[row].tobytes()
        reply = batch.further["reply"][row].tobytes()
        cells = batch.further["connection"][row].tobytes()
        result.append(((planes, reply), cells))
    return result


def test_the_window_gives_them_in_the_movers_frame_turned_or_not() -> None:
    records = games(20, 4)
    targets = load_targets({"connection": 0.1, "reply": 0.2, "plies": 0.3})
    window = ReplayWindow(4, False, 10**6, targets=targets)
    window.extend(records)
    batch = window.epoch(batch=len(window), steps=1, seed=1, epoch=0)[0]
    expected = expected_rows(records, 4)
    for key, cells in rows_of(batch):
        assert cells in expected[key]
    stones = (batch.planes[:, 0] + batch.planes[:, 1]).sum((1, 2))
    plies = batch.further["plies"]
    np.testing.assert_allclose(plies, stones / 100, atol=1e-3)


def test_a_store_gives_the_same_as_the_window(tmp_path: Path) -> None:
    records = games(20, 4)
    targets = load_targets({"connection": 0.1, "reply": 0.2})
    positions = opened(save(tmp_path / "store", records, parts=3), further=targets)
    assert len(positions) == sum(len(record.policy_plies) for record in records)
    expected = expected_rows(records, 4)
    all_rows = np.arange(len(positions))
    for turned in (False, True):
        batch = positions.batch(all_rows, np.full(len(all_rows), turned))
        for key, cells in rows_of(batch):
            assert cells in expected[key]


def test_a_batch_of_both_has_the_targets_of_both(tmp_path: Path) -> None:
    targets = load_targets({"plies": 1.0})
    window = ReplayWindow(4, False, 10**6, targets=targets)
    window.extend(games(10))
    positions = opened(save(tmp_path / "store", games(10)), further=targets)
    others = GameRows(positions, np.arange(len(positions)))
    batch = window.epoch(batch=20, steps=1, seed=1, epoch=0, others=others, share=0.5)[0]
    stones = (batch.planes[:, 0] + batch.planes[:, 1]).sum((1, 2))
    np.testing.assert_allclose(batch.further["plies"], stones / 100, atol=1e-3)


def test_oldest_targets_leave_the_window_with_their_games() -> None:
    records = games(12)
    window = ReplayWindow(4, False, 40, targets=load_targets({"plies": 1.0}))
    for record in records:
        window.extend([record])
    assert len(window.game_ids) < 12
    batch = window.epoch(batch=len(window), steps=1, seed=1, epoch=0)[0]
    stones = (batch.planes[:, 0] + batch.planes[:, 1]).sum((1, 2))
    np.testing.assert_allclose(batch.further["plies"], stones / 100, atol=1e-3)


def test_another_version_of_a_module_reads_the_store_again(tmp_path: Path, site: Path) -> None:
    folder = save(tmp_path / "store", games(5))
    first = opened(folder, further=load_targets({"plies": 1.0}))
    assert opened(folder, further=load_targets({"plies": 0.5})).folder == first.folder
    assert opened(folder).folder != first.folder


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nobody", r"^targets=nobody: choose one of .*; no installed package brings another$"),
        ("odd", r"^targets\.odd: KIND=colour: choose one of cells, policy, value$"),
        ("flat", r"^targets\.flat: of_game returned shape \(16,\), not \(\d+, 16\)$"),
    ],
)
def test_what_is_no_target_is_refused(name: str, said: str) -> None:
    def learn() -> None:
        window = ReplayWindow(4, False, 100, targets=load_targets({name: 1.0}))
        window.extend(games(1))

    with pytest.raises(UsageError, match=said):
        learn()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("KIND = 'cells'\n", "its module has no of_game"),
        (
            "import nothing_like_it\n",
            r"broken cannot be loaded \(ModuleNotFoundError: .*broken.py:1",
        ),
        (FLAT.replace("[0.5] * record.size**2", "[[2] * 16] * len(record.moves)"), "2 to 2, not 0"),
        (PLIES.replace("/ 100", "- 2"), "of_game returned -2 to .*, not -1 to 1"),
    ],
)
def test_a_broken_module_is_one_line(site: Path, text: str, said: str) -> None:
    (site / "broken.py").write_text(text)

    def learn() -> None:
        window = ReplayWindow(4, False, 100, targets=load_targets({"broken": 1.0}))
        window.extend(games(1))

    with pytest.raises(UsageError, match=said) as error:
        learn()
    assert "\n" not in str(error.value)
    sys.modules.pop("broken", None)
