"""A choice is made once, whoever asks."""

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hexlit.accelerate.autotune_cache import cached_choice
from hexlit.files import named_cache_folder


def choices_file() -> Path:
    folder = named_cache_folder()
    assert folder is not None
    return folder / "backends.json"


NAMES = ("own", "other")
KEY = {"what": "key"}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def never() -> dict[str, float]:
    raise AssertionError("measured again")


def test_the_first_measurement_decides_for_good() -> None:
    assert cached_choice(KEY, NAMES, lambda: {"own": 2.0, "other": 1.0}) == "other"
    assert cached_choice(KEY, NAMES, never) == "other"
    assert cached_choice({"what": "another"}, NAMES, lambda: {"own": 1.0, "other": 2.0}) == "own"
    kept = json.loads(choices_file().read_text())
    assert kept[next(iter(kept))] == {
        "choice": "other",
        "milliseconds": {"own": 2000.0, "other": 1000.0},
    }


def test_a_choice_among_other_names_leaves_this_one() -> None:
    cached_choice(KEY, NAMES, lambda: {"own": 2.0, "other": 1.0})
    assert cached_choice(KEY, ("own", "third"), lambda: {"own": 2.0, "third": 1.0}) == "third"
    assert cached_choice(KEY, NAMES, never) == "other"


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "[1]", "\xff\xfe", '{"key": 5}', '{"key": {"choice": ["own"]}}']
)
def test_a_damaged_file_is_measured_again(content: str) -> None:
    cached_choice(KEY, NAMES, lambda: {"own": 1.0, "other": 2.0})
    (key,) = json.loads(choices_file().read_text())
    choices_file().write_bytes(content.replace('"key"', json.dumps(key)).encode("latin-1"))
    assert cached_choice(KEY, NAMES, lambda: {"own": 2.0, "other": 1.0}) == "other"
    assert cached_choice(KEY, NAMES, never) == "other"


def test_of_many_that_ask_at_once_one_measures() -> None:
    measured = []

    def measure() -> dict[str, float]:
        measured.append(1)
        return {"own": 2.0, "other": 1.0}

    with ThreadPoolExecutor(8) as pool:
        chosen = list(pool.map(lambda number: cached_choice(KEY, NAMES, measure), range(16)))
    assert chosen == ["other"] * 16
    assert measured == [1]


def test_where_nothing_can_be_remembered_the_first_is_taken_unmeasured(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with caplog.at_level(logging.WARNING):
        assert cached_choice(KEY, NAMES, never) == "own"
    assert "cannot be written" in caplog.records[0].getMessage()
