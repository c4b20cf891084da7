"""Folders of compiled kernels of older sources go, those in use stay."""

import os
import time
from pathlib import Path

from hexlit.hex.jit import DAYS_KEPT, NEWEST_KEPT, remove_old_folders, use_folder


def folder(root: Path, name: str, days: float) -> Path:
    path = root / name
    path.mkdir(parents=True)
    (path / "kernel.nbi").write_text("")
    when = time.time() - days * 24 * 3600
    os.utime(path, (when, when))
    return path


def test_a_folder_unused_for_two_weeks_goes_but_the_newest_stay(tmp_path: Path) -> None:
    present = folder(tmp_path, "0" * 16, 0)
    recent = [folder(tmp_path, f"{i:016x}", i) for i in range(1, NEWEST_KEPT + 2)]
    old = [folder(tmp_path, f"a{i:015x}", DAYS_KEPT + 1 + i) for i in range(2)]
    named_otherwise = folder(tmp_path, "mine", 100)
    assert sorted(remove_old_folders(present)) == sorted(old)
    assert all(path.exists() for path in [present, named_otherwise, *recent])
    assert not any(path.exists() for path in old)


def test_using_a_folder_marks_it_and_only_a_new_one_clears_up(tmp_path: Path) -> None:
    old = [folder(tmp_path, f"a{i:015x}", 100 + i) for i in range(NEWEST_KEPT + 1)]
    use_folder(old[-1])
    assert all(path.exists() for path in old)
    assert time.time() - old[-1].stat().st_mtime < 60
    use_folder(tmp_path / ("0" * 16))
    assert [path.exists() for path in old] == [True, True, False, True]
