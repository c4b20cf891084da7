"""The drawing of a board."""

import numpy as np

from hexlit.reporting.board import BLACK_STYLE, MARK_STYLE, WHITE_STYLE, draw_board

CELLS = np.array([1, 0, 0, -1, 1, 0, 0, 0, -1], dtype=np.int8)


def test_the_board_is_a_rhombus_of_plain_ascii() -> None:
    text = str(draw_board(CELLS, 3))
    assert text == "   a b c\n 1 X . . 1\n  2 O X . 2\n   3 . . O 3\n      a b c"
    assert text.isascii()


def test_marks_show_on_empty_cells_and_reverse_stones() -> None:
    board = draw_board(CELLS, 3, marks=[1, 4])
    assert "1 X * . 1" in str(board)
    assert "2 O X . 2" in str(board)
    assert f"{BLACK_STYLE} reverse" in {str(span.style) for span in board.spans}
    assert MARK_STYLE in {str(span.style) for span in board.spans}


def test_the_edges_have_the_colours_of_their_owners() -> None:
    board = draw_board(np.zeros(4, dtype=np.int8), 2)
    styles = {str(board)[span.start : span.end].strip(): span.style for span in board.spans}
    assert styles["a b"] == BLACK_STYLE
    assert styles["1"] == WHITE_STYLE


def test_rows_of_two_digits_keep_the_columns_in_line() -> None:
    lines = str(draw_board(np.zeros(100, dtype=np.int8), 10)).splitlines()
    assert [line.index(".") for line in lines[1:-1]] == list(range(3, 13))
