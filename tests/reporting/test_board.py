"""The drawing of a board."""

import numpy as np

from hexlit.reporting.board import BLACK_STYLE, MARK_STYLE, draw_board

CELLS = np.array([1, 0, 0, -1, 1, 0, 0, 0, -1], dtype=np.int8)


def test_marks_show_on_empty_cells_and_reverse_stones() -> None:
    board = draw_board(CELLS, 3, marks=[1, 4])
    assert "1 X * . 1" in str(board)
    assert "2 O X . 2" in str(board)
    assert f"{BLACK_STYLE} reverse" in {str(span.style) for span in board.spans}
    assert MARK_STYLE in {str(span.style) for span in board.spans}
