"""A measurement of strength that is broken off continues where it was,
and ends as it would have.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hexlit.arena import measures
from hexlit.commands import strength_run
from hexlit.commands.strength import arguments, main
from hexlit.commands.strength_run import PARTS_FILE
from hexlit.errors import UsageError
from hexlit.files import write_text_atomic

pytestmark = pytest.mark.usefixtures("common_cache")

SMALL = [
    "accelerator=cpu",
    "accelerator.threads=2",
    "games=16",
    "positions=24",
    "simulations=[4]",
    "report=false",
]
SEARCHES = ["what=search", "leaves=[]", "pairs=3", "seconds=0.001"]
PARTS = [
    f"{number} simulations, {part}" for number in (0, 4) for part in ("openings", "games", "random")
]

Breaks = Callable[[int], None]


@pytest.fixture
def breaks_after(monkeypatch: pytest.MonkeyPatch) -> Breaks:
    """Has the command break off when it has kept so many parts more."""

    def set_to(parts: int) -> None:
        left = parts

        def breaks_off(path: Path, text: str) -> None:
            nonlocal left
            before = len(kept(path.parent)) if path.name == PARTS_FILE and path.exists() else 0
            write_text_atomic(path, text)
            if path.name == PARTS_FILE and len(json.loads(text)["parts"]) > before:
                left -= 1
                if left == 0:
                    raise KeyboardInterrupt

        monkeypatch.setattr(strength_run, "write_text_atomic", breaks_off)

    return set_to


def kept(folder: Path) -> dict[str, Any]:
    parts: dict[str, Any] = json.loads((folder / PARTS_FILE).read_text())["parts"]
    return parts


def result(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "strength.json").read_text())
    return document


def test_broken_off_in_a_part_and_between_parts_it_ends_as_it_would_have(
    checkpoint: Path,
    tmp_path: Path,
    breaks_after: Breaks,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    command = [*SMALL, f"checkpoint={checkpoint}"]
    assert main([*command, f"output={tmp_path / 'whole'}"]) == 0
    folder = tmp_path / "broken"
    breaks_after(1)
    assert main([*command, f"output={folder}"]) == 130
    with monkeypatch.context() as inside:
        inside.setattr(measures, "optimality", broken_off)
        assert main([f"resume={folder}"]) == 130
    assert list(kept(folder)) == PARTS[:1], "half a part is not kept"
    for number, more in ((2, 1), (4, 2), (6, 2)):
        breaks_after(more)
        assert main([f"resume={folder}"]) == 130
        assert list(kept(folder)) == PARTS[:number], "nothing is measured a second time"
    breaks_after(0)
    capfd.readouterr()
    assert main([f"resume={folder}", "json=true", "report=true"]) == 0
    assert json.loads(capfd.readouterr().out) == result(folder) == result(tmp_path / "whole")
    assert not (folder / PARTS_FILE).exists()
    assert (folder / "report.html").exists()


def broken_off(*given: Any, **settings: Any) -> Any:
    raise KeyboardInterrupt


def test_a_finished_measurement_only_shows_its_result(
    checkpoint: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "found"
    assert main([*SMALL, f"checkpoint={checkpoint}", f"output={folder}"]) == 0
    checkpoint.unlink()
    monkeypatch.setattr(strength_run, "measured", broken_off)
    capfd.readouterr()
    assert main([f"resume={folder}", "markdown=true"]) == 0
    assert capfd.readouterr().out == (folder / "strength.md").read_text() + "\n"


def test_rows_of_searches_keep_their_parts(
    checkpoint: Path, tmp_path: Path, breaks_after: Breaks
) -> None:
    """A speed is not measured again, which would give another figure."""
    folder = tmp_path / "found"
    breaks_after(7)
    assert main([*SMALL, *SEARCHES, f"checkpoint={checkpoint}", f"output={folder}"]) == 130
    before = kept(folder)
    assert [name.rpartition(", ")[2] for name in before] == [
        *("match", "optimality", "one game", "many games"),
        *("match", "optimality", "one game"),
    ]
    assert len(result(folder)["rows"]) == 1
    assert main([f"resume={folder}"]) == 0
    rows = result(folder)["rows"]
    measured = [
        row[key] for row in rows for key in ("match", "optimality", "one_game", "many_games")
    ]
    assert measured[:7] == list(before.values())
    assert len(measured) == 8


def test_a_measurement_continues_with_its_own_settings_only(
    checkpoint: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "found"
    assert main([*SMALL, f"checkpoint={checkpoint}", f"output={folder}"]) == 0
    for override in ("positions=9", "what=search", "output=elsewhere", "checkpoint=hexlit:small"):
        with pytest.raises(UsageError, match=f"{override}: .* continues with its own settings"):
            arguments([f"resume={folder}", override])
    found = arguments([f"resume={folder}", "json=true", "accelerator.threads=1"])
    assert found[-4:-2] == ["json=true", "accelerator.threads=1"]
    assert "positions=24" in found
