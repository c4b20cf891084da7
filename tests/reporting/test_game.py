"""A game drawn: on the terminal, and as SVG."""

import xml.etree.ElementTree as ElementTree

import numpy as np

from hexlit.hex.notation import parse_moves
from hexlit.hex.record import Ending, GameRecord
from hexlit.reporting.board import ShownGame, draw_game
from hexlit.reporting.board_svg import game_svg

MOVES = np.array(parse_moves("b1 swap-pieces c3 a3 b3", 3), np.int16)
GAME = GameRecord(1, 3, True, MOVES, 1, Ending.RESIGNED, opening=1, black="<Ann>", white="Bob & Co")
SPACE = "{http://www.w3.org/2000/svg}"


def shown(ply: int = 5, game: GameRecord = GAME, **facts: str) -> ShownGame:
    return ShownGame(game, ply, facts)


def test_the_terminal_shows_names_board_last_move_moves_and_result() -> None:
    assert str(draw_game(shown(event="Cup"))) == (
        "X <Ann> – O Bob & Co\n"
        "event   Cup\n"
        "\n"
        "   a b c\n"
        " 1 . . . 1\n"
        "  2 O . . 2\n"
        "   3 O(X)X 3\n"
        "      a b c\n"
        "X Black, top to bottom; O White, left to right; (X) or (O) the last move\n"
        "\n"
        "  1 [b1]    2 swap    3 c3      4 a3      5 b3    \n"
        "[move]: part of the opening, chosen by no player\n"
        "\n"
        "5 moves · Black wins by resignation"
    )


def picture(ply: int = 5, game: GameRecord = GAME, **facts: str) -> ElementTree.Element:
    return ElementTree.fromstring(game_svg(shown(ply, game, **facts)))


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SPACE}text")]


def test_stones_are_numbered_by_move_in_their_colours_and_the_swap_is_shown() -> None:
    root = picture()
    stones = {number: circle.get("fill") for number, circle in numbered(root).items()}
    assert set(stones) == {"2", "3", "4", "5"}
    assert "1" in texts(root)  # where Black's stone was swapped away
    assert stones["3"] == stones["5"] != stones["2"] == stones["4"]
    assert "swap-pieces: b1 → a2" in texts(root)
    assert not [text for text in texts(picture(1)) if "swap" in text]


def numbered(root: ElementTree.Element) -> dict[str, ElementTree.Element]:
    """Number -> the circle around it."""
    around = {
        (circle.get("cx"), circle.get("cy")): circle
        for circle in reversed(list(root.iter(f"{SPACE}circle")))
    }
    found = {}
    for text in root.iter(f"{SPACE}text"):
        place = text.get("x"), f"{float(text.get('y') or 0) - 4.4:.1f}"
        if place in around:
            found[text.text or ""] = around[place]
    return found


def test_names_are_text_whatever_is_in_them() -> None:
    root = picture(event="<script>")
    assert "<Ann> – Bob & Co" in texts(root)
    assert "3×3 · <script>" in texts(root)
    assert "1 of 5 moves · Black wins by resignation" in texts(picture(1))
