"""The pure functions of the page: rules, tree, address, clocks, words, by plain node."""

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from hexlit.hex.board import GameBoard
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_cell

HERE = Path(__file__).resolve().parent
RULES = HERE.parents[1] / "hexlit" / "web" / "page" / "rules.mjs"
COLOURS = {BLACK: "black", WHITE: "white", 0: ""}
NODE = shutil.which("node") or ""

pytestmark = pytest.mark.skipif(not NODE, reason="node is not installed")


def test_the_functions_of_the_page_do_what_their_tests_say() -> None:
    done = subprocess.run(
        [NODE, "--test", str(HERE / "page_functions.test.mjs")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
    assert "# fail 0" in done.stdout


def test_the_page_has_the_rules_of_the_board() -> None:
    draw, games, expected = random.Random(5), [], []
    for size in (2, 3, 5, 7, 11):
        for _ in range(8):
            board = GameBoard(size, swap=True)
            for _ in range(draw.randrange(size * size + 1)):
                legal = board.legal_moves()
                if not legal:
                    break
                board.play(
                    size * size if board.may_swap and draw.random() < 0.5 else draw.choice(legal)
                )
            moves = [format_cell(move, size) for move in board.moves]
            games.append({"size": size, "swap": True, "moves": moves})
            cells = [COLOURS[int(stone)] for stone in board.cells]
            expected.append([cells, COLOURS[board.winner], board.may_swap])
    program = f"""
    import {{ readFileSync }} from "node:fs";
    import {{ replay }} from {json.dumps(RULES.as_uri())};
    const games = JSON.parse(readFileSync(0, "utf-8"));
    const seen = games.map(replay).map(({{ cells, winner, maySwap }}) => [cells, winner, maySwap]);
    process.stdout.write(JSON.stringify(seen));
    """
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", program],
        input=json.dumps(games),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout) == expected
    assert {winner for _, winner, _ in expected} == {"black", "white", ""}
