"""Games to step through: what the page's script gets to read."""

import json

import numpy as np

from hexlit.hex.record import Ending, GameRecord
from hexlit.reporting.board import step_game
from hexlit.reporting.html import render
from hexlit.reporting.page import GameViewer, Page, Section, StepGame
from tests.reporting.documents import NASTY, checked


def record(*moves: int, swap: bool = False) -> GameRecord:
    count = len(moves)
    values, simulations = np.full(count, -0.25, np.float32), np.full(count, 8, np.int16)
    return GameRecord(
        1, 3, swap, np.array(moves, np.int16), 1, Ending.CONNECTED, 1, values, simulations
    )


def test_a_game_has_its_moves_and_what_was_thought_of_them() -> None:
    game = step_game(record(1, 0, 4, 3, 7), "first")
    assert (game.cells, game.names, game.swapped) == (
        [1, 0, 4, 3, 7],
        ["b1", "a1", "b2", "a2", "b3"],
        False,
    )
    assert game.result == "Black connects"
    assert game.notes[1] == "drawn at random"
    assert game.notes[2] == "value -0.25 for the player to move, 8 simulations"


def test_a_swap_leaves_whites_stone_on_the_mirror_image() -> None:
    game = step_game(record(1, 9, 4, swap=True), "swapped")
    assert (game.cells, game.names, game.swapped) == ([1, 3, 4], ["b1", "swap", "b2"], True)


def test_the_data_cannot_end_its_script_element() -> None:
    viewer = GameViewer(3, [StepGame(NASTY, [1], ["b1"], False, NASTY)])
    page = checked(render(Page("p", "", [Section("Games", [viewer])])))
    (data,) = [text for kind, text in page.scripts if kind == "application/json"]
    found = json.loads(data)
    assert found["games"][0]["title"] == NASTY
    assert found["size"] == 3


def test_a_keyboard_reaches_every_step() -> None:
    page = checked(
        render(
            Page("p", "", [Section("Games", [GameViewer(3, [step_game(record(1, 0, 4), "a")])])])
        )
    )
    controls = [
        (tag, attributes.get("type"))
        for tag, attributes in page.tags
        if tag in ("button", "input", "select")
    ]
    assert controls == [("select", None), ("button", "button"), ("button", "button"), ("input", "range"),
                        ("button", "button"), ("button", "button")]  # fmt: skip
    assert not page.values("tabindex")
