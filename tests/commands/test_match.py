"""`hexlit match`: players of every kind meet, the files are right, and a killed match continues."""

import json
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from hexlit import cli
from hexlit.commands.match import arguments, main
from hexlit.errors import UsageError
from hexlit.hex.board import GameBoard
from hexlit.hex.notation import format_moves, parse_cell
from hexlit.hex.openings import solved_openings
from hexlit.hex.records.game import as_record
from hexlit.hex.records.sgf import read_sgf
from tests.commands.preloaded import run_apart
from tests.commands.test_train import as_a_process
from tests.commands.tiny import save_untrained
from tests.tables import rows_of

TINY = ["accelerator=cpu", "accelerator.threads=1", "hydra.run.dir=run"]


@pytest.fixture(scope="module")
def nets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nets")
    save_untrained(folder / "a.ckpt", size=4, seed=1)
    save_untrained(
        folder / "runs" / "hex4" / "2026-01-31_12-00-00_abc" / "checkpoints" / "best.ckpt",
        size=4,
        seed=2,
    )
    return folder


def played(folder: Path, *overrides: str) -> dict[str, Any]:
    """The content of `match.json` of a match that is played in this process in `folder`/run."""
    folder.mkdir(exist_ok=True)
    with as_a_process(folder):
        assert main([*TINY, *overrides]) == 0
    found: dict[str, Any] = json.loads((folder / "run" / "match.json").read_text())
    return found


def three_players(nets: Path) -> str:
    run = nets / "runs" / "hex4" / "2026-01-31_12-00-00_abc"
    return f"players=[checkpoint={nets}/a.ckpt simulations=4,checkpoint={run} simulations=12,policy={run},random]"


@pytest.fixture(scope="module")
def match(nets: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("match")
    played(folder, three_players(nets), "pairs=8", "at_once=5")
    return folder / "run"


def test_checkpoints_folders_and_policies_meet_and_everything_of_it_is_kept(match: Path) -> None:
    document = json.loads((match / "match.json").read_text())
    names = ["a@4", "hex4-abc@12", "policy-hex4-abc", "random"]
    assert sorted(player["name"] for player in document["players"]) == names
    assert (document["board"], document["games"], document["pairs"]) == (4, 96, 48)
    assert document["anchor"] == "random"
    assert sum(player["wins"] for player in document["players"]) == 96
    rows = rows_of(match / "games.csv")
    assert len(rows) == 96
    for row in rows:
        board = GameBoard(4, moves=row["moves"])
        assert {1: "black", -1: "white"}[board.winner] == row["winner"]
    for first in names:
        for second in names:
            if first != second:
                openings = [
                    row["moves"][:5]
                    for row in rows
                    if (row["black"], row["white"]) == (first, second)
                ]
                assert len(openings) == len(set(openings)) == 8, (
                    "E5: both colours, no opening twice"
                )
    games = [as_record(game) for game in read_sgf((match / "games.sgf").read_text().splitlines())]  # type: ignore[arg-type]
    as_read = [
        (game.black, game.white, game.winner, format_moves(game.moves.tolist(), 4))
        for game in games
    ]
    assert sorted(as_read) == sorted(
        (row["black"], row["white"], 1 if row["winner"] == "black" else -1, row["moves"])
        for row in rows
    )
    assert not [path for path in match.rglob("*") if path.name.endswith(".tmp")]


def test_one_seed_is_one_match_and_another_seed_another(
    nets: Path, match: Path, tmp_path: Path
) -> None:
    played(tmp_path / "again", three_players(nets), "pairs=8", "at_once=5")
    assert (tmp_path / "again" / "run" / "games.csv").read_bytes() == (
        match / "games.csv"
    ).read_bytes()
    played(tmp_path / "other", three_players(nets), "pairs=8", "at_once=5", "seed=2")
    assert (tmp_path / "other" / "run" / "games.csv").read_bytes() != (
        match / "games.csv"
    ).read_bytes()


# Plays a match and kills its own process, which nothing can catch, when COUNT pairs of games are on
# disk.
KILLER = """
import os, signal, sys
from hexlit.arena.tournament import GameLog
from hexlit.commands.match import main

count, *arguments = sys.argv[1:]
left = int(count)
inner = GameLog.append

def append(self, pair):
    global left
    inner(self, pair)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

GameLog.append = append
sys.exit(main(arguments))
"""


def test_a_match_that_is_killed_goes_on_and_ends_as_it_would_have(
    nets: Path, match: Path, tmp_path: Path
) -> None:
    run = run_apart(
        KILLER, "21", *TINY, three_players(nets), "pairs=8", "at_once=5", folder=tmp_path
    )
    assert run.returncode == -signal.SIGKILL, run.stderr
    folder = tmp_path / "run"
    path = folder / "games.csv"
    kept = path.read_text().splitlines()
    assert len(kept) == 1 + 2 * 21
    path.write_bytes(path.read_bytes() + b"3,half a ro")  # as a crash of the machine may leave it
    with as_a_process(tmp_path):
        assert main([f"resume={folder}"]) == 0
    assert path.read_text().splitlines()[: len(kept)] == kept
    rows, expected = (sorted(file.read_text().splitlines()) for file in (path, match / "games.csv"))
    assert rows == expected
    found, wanted = (json.loads((file / "match.json").read_text()) for file in (folder, match))
    assert found["players"] == wanted["players"]
    with as_a_process(tmp_path):
        assert main([f"resume={folder}"]) == 0
    assert json.loads((folder / "match.json").read_text())["games_per_second"] == 0, (
        "nothing is left to play"
    )


def test_a_sequential_test_stops_a_match_that_is_decided(nets: Path, tmp_path: Path) -> None:
    """Search on a small board beats random play even without a trained network."""
    players = f"players=[checkpoint={nets}/a.ckpt simulations=60,random]"
    document = played(tmp_path, players, "pairs=100", "sprt.elo1=100", "sprt.elo0=0")
    assert document["sprt"]["accepted"] == "elo1"
    assert sum(document["sprt"]["pairs"]) == document["pairs"] < 100
    assert document["pairs"] % 16 == 0


# A program that speaks just enough HTP to play: the lowest empty cell, and from its third game on
# nothing at all.
FOREIGN = """
import sys

size, taken, games = 0, set(), 0
for line in sys.stdin:
    command, *words = line.split()
    answer = ""
    if command == "quit":
        break
    if command in ("name", "version"):
        answer = "lowest"
    elif command == "boardsize":
        size = int(words[0])
    elif command == "clear_board":
        taken = set()
        games += 1
        if games == 3:
            sys.exit(1)
    elif command == "play":
        taken.add(words[1])
    elif command == "genmove":
        cells = [f"{chr(97 + column)}{row + 1}" for row in range(size) for column in range(size)]
        answer = next(cell for cell in cells if cell not in taken)
        taken.add(answer)
    else:
        print("? unknown command\\n", flush=True)
        continue
    print(f"= {answer}\\n", flush=True)
"""


def test_every_kind_of_player_plays_with_every_other(nets: Path, tmp_path: Path) -> None:
    """A foreign program that ends loses that game, and is there again for the next one."""
    script = tmp_path / "foreign.py"
    script.write_text(FOREIGN)
    kinds = [
        *(f"checkpoint={nets}/a.ckpt simulations=4", "rollouts simulations=20 playouts=2"),
        *("two_distance depth=1", "solver", f"name=foreign htp={sys.executable} {script}"),
    ]
    document = played(
        tmp_path, f"players=[{','.join(kinds)}]", "pairs=2", "board=3", "anchor=foreign"
    )
    names = {player["name"] for player in document["players"]}
    assert names == {"a@4", "rollouts@20-playouts2", "two_distance-depth1", "solver", "foreign"}
    assert document["games"] == 10 * 4
    assert {row["loser"] for row in document["forfeits"]} == {"foreign"}
    assert len(document["forfeits"]) == 4, "the third game of each of its four matches"
    best = document["players"][0]
    assert best["wins"] >= 10
    foreign = next(player for player in document["players"] if player["name"] == "foreign")
    assert foreign["games"] == 16


def test_by_the_swap_rule_every_kind_decides_and_everything_of_it_says_so(
    nets: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The solver takes what wins; SGF, import and report know the swap,
    and an interrupted match continues.
    """
    script = tmp_path / "foreign.py"
    script.write_text(FOREIGN.replace("games == 3", "False"))
    kinds = [
        *("solver", f"checkpoint={nets}/a.ckpt simulations=4", "rollouts simulations=20"),
        *("two_distance depth=1", "random", f"name=foreign htp={sys.executable} {script}"),
    ]
    settings = (f"players=[{','.join(kinds)}]", "pairs=3", "board=3", "swap=true", "mode=gauntlet")
    document = played(tmp_path, *settings)
    assert (document["swap"], document["openings"]) == (
        True,
        {"count": 3, "plies": 1, "balanced": True},
    )
    folder = tmp_path / "run"
    rows = rows_of(folder / "games.csv")
    for row in rows:
        board = GameBoard(3, swap=True, moves=row["moves"])
        assert (
            row["ending"] == "forfeited" or {1: "black", -1: "white"}[board.winner] == row["winner"]
        )
        if row["white"] == "solver":
            first, second, *_ = row["moves"].split()
            assert (second == "swap-pieces") == solved_openings(3)[parse_cell(first, 3)], (
                "E5: and so it wins"
            )
            assert row["winner"] == "white"
    swaps = sum("swap-pieces" in row["moves"] for row in rows)
    assert document["swaps"] == swaps > 0
    out = capfd.readouterr().out
    assert "swapped" in out
    assert f"{100 * swaps / len(rows):.1f}%" in out
    assert "by the swap rule: not to be compared" in out
    assert "by the swap rule" in (folder / "report.html").read_text()
    with as_a_process(tmp_path):
        capfd.readouterr()
        assert cli.main(["games", "stats", "source=run/games.sgf", "json=true"]) == 0
    assert json.loads(capfd.readouterr().out)["swaps"]["swap-pieces"] == swaps
    whole = (folder / "games.csv").read_text()
    (folder / "games.csv").write_text("".join(whole.splitlines(keepends=True)[:8]))
    with as_a_process(tmp_path):  # a program starts only if it is typed again
        assert main([f"resume={folder}", settings[0]]) == 0
    assert (folder / "games.csv").read_text() == whole


def test_a_terminal_shows_ratings_scores_and_the_folder(
    nets: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    played(tmp_path, three_players(nets), "pairs=2", "anchor=a@4")
    out = capfd.readouterr().out
    assert re.search(r"Match on 4×4\nplayers  games .*\n\d+ +24 ", out)
    assert "95% interval" in out
    assert "anchor" in out
    assert "Everything of this match: run" in out
    assert "\x1b" not in out


def test_json_is_json_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    document = played(tmp_path, "players={a: random, b: random}", "board=3", "pairs=2", "json=true")
    assert json.loads(capfd.readouterr().out) == document


def test_several_leaves_of_a_tree_need_no_more_games_than_there_are(
    nets: Path, tmp_path: Path
) -> None:
    players = f"players=[checkpoint={nets}/a.ckpt simulations=8,random]"
    assert played(tmp_path, players, "pairs=1", "search.leaves=4")["games"] == 2


def test_a_match_goes_on_with_its_own_settings_only(match: Path) -> None:
    with pytest.raises(UsageError, match="no folder of a run"):
        arguments(["resume=nowhere"])
    with pytest.raises(UsageError, match="pairs=9: .* continues with its own settings"):
        arguments([f"resume={match}", "pairs=9"])
    found = arguments([f"resume={match}", "accelerator.threads=1"])
    assert found[-3] == "accelerator.threads=1"
    assert "pairs=8" in found
