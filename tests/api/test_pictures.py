"""Boards, games, searches and solutions as notebooks show them."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import hexlit
from hexlit.api.boards import OpeningMap
from hexlit.reporting.board_svg import MARK

SPACE = "{http://www.w3.org/2000/svg}"


def rings(svg: str, colour: str) -> int:
    return sum(
        circle.get("stroke") == colour
        for circle in ElementTree.fromstring(svg).iter(f"{SPACE}circle")
    )


def words(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SPACE}text")]


def test_a_board_says_whose_turn_it_is_and_numbers_its_stones() -> None:
    board = hexlit.Board(4, moves="b2 c3")
    assert "Black to move" in words(board._repr_svg_())
    numbered = words(board.picture(numbers=True, caption="").svg)
    assert numbered.count("1") == numbered.count("2") == 3  # twice as a coordinate
    assert "Black has won" in words(hexlit.Board(2, moves="a1 b1 a2")._repr_svg_())


def test_a_solution_rings_the_winning_moves() -> None:
    solved = hexlit.Solver().solve(hexlit.Board(4, moves="b2"))
    assert (solved.winner, solved.moves) == ("White", ["b3"])
    assert rings(solved._repr_svg_(), MARK) == 1


def test_a_search_shows_its_visits_its_move_and_its_tree() -> None:
    found = hexlit.Search(simulations=60).run(hexlit.Board(3))
    assert rings(found._repr_svg_(), MARK) == 1
    assert f"Black plays {found.move}" in " ".join(words(found._repr_svg_()))
    tree = found.tree(nodes=12).svg
    assert len(list(ElementTree.fromstring(tree).iter(f"{SPACE}circle"))) == 11  # the root is a box
    assert found.expected[0] in words(tree)


def test_a_map_of_openings_rings_what_is_wrong() -> None:
    truth = np.array([True, False, True, True])
    judged = OpeningMap(np.array([0.9, 0.2, 0.5, -0.4]), "somebody", truth)
    assert judged.wrong == ["b1", "b2"]
    assert rings(judged._repr_svg_(), MARK) == 2
    assert "2 of 4 right" in " ".join(words(judged._repr_svg_()))
    exact = hexlit.Solver().openings(3)
    assert words(exact._repr_svg_()).count("W") == 5


def test_a_picture_is_kept_as_a_file(tmp_path: Path) -> None:
    path = hexlit.Board(3).picture().save(tmp_path / "board.svg")
    assert ElementTree.parse(path).getroot().tag == f"{SPACE}svg"
    with pytest.raises(hexlit.UsageError, match="ends in .svg"):
        hexlit.Board(3).picture().save(tmp_path / "board.png")
