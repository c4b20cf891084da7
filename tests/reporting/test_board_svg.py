from xml.etree import ElementTree

import numpy as np
import pytest

from hexlit.hex.board import GameBoard
from hexlit.reporting.board_svg import MARK, CellNote, board_svg, value_notes

CELL, LAST = "#efe6d2", "#d6453d"
SPACE = "{http://www.w3.org/2000/svg}"
BOARD = GameBoard(4, moves="b2 c3 a4")


def drawn(**more: object) -> ElementTree.Element:
    return ElementTree.fromstring(board_svg(BOARD.cells, 4, **more))  # type: ignore[arg-type]


def circles(root: ElementTree.Element, **look: str) -> int:
    return sum(
        all(circle.get(key) == value for key, value in look.items())
        for circle in root.iter(f"{SPACE}circle")
    )


def fills(root: ElementTree.Element) -> list[str | None]:
    return [polygon.get("fill") for polygon in root.iter(f"{SPACE}polygon")]


def test_a_position_has_a_cell_each_its_stones_and_both_coordinates() -> None:
    root = drawn()
    assert fills(root) == [CELL] * 16
    assert circles(root) == 3
    words = [element.text for element in root.iter(f"{SPACE}text")]
    assert all(words.count(name) == 2 for name in "abcd1234")


def test_the_last_move_and_marked_cells_have_rings() -> None:
    root = drawn(last=BOARD.moves[-1], notes={0: CellNote(ring=MARK), 1: CellNote(ring=MARK)})
    assert circles(root, stroke=LAST) == 1
    assert circles(root, stroke=MARK) == 2


def test_title_and_caption_are_text_whatever_is_in_them_and_fit_on_the_paper() -> None:
    title = "<b> & " + "long " * 40
    root = drawn(title=title, caption="White to move")
    words = [element.text for element in root.iter(f"{SPACE}text")]
    assert title in words
    assert "White to move" in words
    assert float(root.get("width") or 0) > 40 * 5 * 6


def test_values_have_their_sign_and_two_colours() -> None:
    notes = value_notes({0: 0.994, 1: -1.0, 2: -0.001})
    assert [note.text for note in notes.values()] == ["+99", "-100", "-0"]
    blue, red, neither = (note.shade for note in notes.values())
    assert int(blue[5:7], 16) > int(blue[1:3], 16)
    assert int(red[5:7], 16) < int(red[1:3], 16)
    assert neither[7:] == "00"


@pytest.mark.parametrize("size", [2, 11, 26])
def test_nothing_is_drawn_outside_the_paper(size: int) -> None:
    root = ElementTree.fromstring(board_svg(np.zeros(size * size, np.int8), size))
    width, height = float(root.get("width") or 0), float(root.get("height") or 0)
    points = [
        tuple(map(float, point.split(",")))
        for shape in (*root.iter(f"{SPACE}polygon"), *root.iter(f"{SPACE}polyline"))
        for point in (shape.get("points") or "").split()
    ]
    points += [
        (float(word.get("x") or 0), float(word.get("y") or 0)) for word in root.iter(f"{SPACE}text")
    ]
    assert all(4 < x < width - 4 and 4 < y < height - 4 for x, y in points)
