"""`hexlit strength` from the command line, with a network that knows nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from hexlit.commands.strength import main
from tests.commands.tiny import save_untrained
from tests.reporting.documents import checked

pytestmark = pytest.mark.usefixtures("common_cache")

SMALL = ["accelerator=cpu", "accelerator.threads=2", "games=16", "positions=24"]


def test_truth_is_told_as_json_and_kept_with_tables_and_figures(
    checkpoint: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Openings, optimality and calibration without and with search."""
    folder = tmp_path / "found"
    assert (
        main(
            [
                *SMALL,
                f"checkpoint={checkpoint}",
                "simulations=[4,1,4]",
                "json=true",
                f"output={folder}",
            ]
        )
        == 0
    )
    found = json.loads(capfd.readouterr().out)
    assert found == json.loads((folder / "strength.json").read_text())
    assert [level["simulations"] for level in found["openings"]["levels"]] == [0, 1, 4]
    assert len(found["openings"]["truth"]) == 9
    assert (
        found["optimality"]["games"][0]["all"] == found["optimality"]["games"][1]["all"]
    )  # one simulation: no search
    assert found["positions"]["games"]["count"] == found["positions"]["random"]["count"] == 24
    assert [level["count"] for level in found["calibration"]["games"]] == [24] * 3
    assert (found["board"], found["search"]["algorithm"], found["what"]) == (3, "gumbel", "truth")
    names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    assert names == {"strength.json", "strength.md", "reliability.svg", "growth.svg", "report.html"}
    page = checked((folder / "report.html").read_text(encoding="utf-8"))
    assert "Solved: perfect play" in page.text
    assert "Reliability of the value, positions from games" in page.values("alt")


def test_what_is_found_is_drawn_and_goes_to_a_folder_of_its_own(
    checkpoint: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([*SMALL, f"checkpoint={checkpoint}", "simulations=[2]"]) == 0
    text = capfd.readouterr().out
    for part in (
        "the value alone",
        "Optimality",
        "Brier",
        "of 9 as in perfect play",
    ):
        assert part in text
    (folder,) = (tmp_path / "runs" / "strength").iterdir()
    assert f"written to runs/strength/{folder.name}" in text


def test_searches_are_compared_in_a_table_of_markdown(
    checkpoint: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Every algorithm against the policy, every way of batching against the same search."""
    arguments = [
        "what=search",
        "simulations=[4]",
        "leaves=[2]",
        "pairs=3",
        "seconds=0.001",
        f"output={tmp_path / 'o'}",
    ]
    assert main([*SMALL, *arguments, f"checkpoint={checkpoint}", "markdown=true"]) == 0
    text = capfd.readouterr().out
    assert text == (tmp_path / "o" / "strength.md").read_text() + "\n"
    for algorithm in ("gumbel", "puct"):
        for leaves, opponent in (("1", "policy"), ("2", "unbatched"), ("2 root", "unbatched")):
            assert f"| {algorithm} | 4 | {leaves} | {opponent} |" in text
    rows = json.loads((tmp_path / "o" / "strength.json").read_text())["rows"]
    assert [row["match"]["count"] for row in rows] == [6] * 6


def test_the_elo_of_perfect_play_is_told_by_simulations(
    checkpoint: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ["what=perfect", "simulations=[2]", "pairs=12", f"output={tmp_path / 'o'}"]
    assert main([*SMALL, *arguments, f"checkpoint={checkpoint}", "markdown=true"]) == 0
    text = capfd.readouterr().out
    assert "Against perfect play on 3×3" in text
    assert "| perfect play | +0 | anchor | 48 |" in text
    players = json.loads((tmp_path / "o" / "strength.json").read_text())["players"]
    assert [one["name"] for one in players] == ["perfect play", "the policy alone", "2 simulations"]
    assert all(
        one["games"] == 24 and one["wins"] <= 12 and one["low"] < one["elo"] < 0
        for one in players[1:]
    )
    assert "Against perfect play" in (tmp_path / "o" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("swap", [False, True])
def test_the_checkpoint_of_a_run_serves_here_by_its_folder_and_on_another_board(
    swap: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """One checkpoint everywhere; that of the best epoch is taken."""
    save_untrained(tmp_path / "run" / "checkpoints" / "best.ckpt", size=3, swap=swap)
    (tmp_path / "run" / "checkpoints" / "last.ckpt").write_bytes(b"not this one")
    arguments = ["board=4", "simulations=[2]", "json=true", f"output={tmp_path / 'o'}"]
    assert main([*SMALL, f"checkpoint={tmp_path / 'run'}", *arguments]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["board"], found["trained_on"], found["swap"]) == (4, 3, swap)
    assert len(found["openings"]["truth"]) == 16


def test_the_same_seed_gives_the_same_figures(
    checkpoint: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found: list[dict[str, Any]] = []
    for seed in (1, 1, 2):
        arguments = [
            f"checkpoint={checkpoint}",
            f"seed={seed}",
            "simulations=[4]",
            "json=true",
            f"output={tmp_path}",
        ]
        assert main([*SMALL, *arguments]) == 0
        found.append(json.loads(capfd.readouterr().out))
    assert found[0] == found[1]
    assert found[0]["calibration"] != found[2]["calibration"]
