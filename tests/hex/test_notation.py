"""Names of cells."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexlit.errors import UsageError
from hexlit.hex.notation import SWAP, format_cell, format_moves, parse_cell, parse_moves


@pytest.mark.parametrize("size", range(2, 27))
def test_every_cell_and_the_swap_come_back_from_their_names(size: int) -> None:
    for cell in range(size * size + 1):
        name = format_cell(cell, size)
        assert parse_cell(name, size) == parse_cell(f" {name.upper()}\n", size) == cell


def test_names_are_column_letter_and_row_number() -> None:
    assert [format_cell(cell, 11) for cell in (0, 1, 11, 120, 121)] == [
        "a1",
        "b1",
        "a2",
        "k11",
        SWAP,
    ]


@given(
    st.text(max_size=12) | st.from_regex(r"[a-zA-Z]?[0-9]{0,3}", fullmatch=True), st.integers(2, 26)
)
def test_any_text_is_a_move_of_the_board_or_a_one_line_usage_error(text: str, size: int) -> None:
    names = {"swap", *(format_cell(cell, size) for cell in range(size * size + 1))}
    if text.strip().lower() in names:
        assert 0 <= parse_cell(text, size) <= size * size
    else:
        with pytest.raises(UsageError) as caught:
            parse_cell(text, size)
        assert repr(text) in str(caught.value)
        assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "text", ["", "a", "1", "a0", "a01", "d1", "a4", "a1b2", "aa1", "a-1", "a1.0", "swap-sides"]
)
def test_what_is_no_cell_is_refused_with_the_range_that_is(text: str) -> None:
    with pytest.raises(
        UsageError, match=r"a move on a 3x3 board is a cell from a1 to c3, or swap-pieces$"
    ):
        parse_cell(text, 3)


@pytest.mark.parametrize("cell", [-1, 10, 1000])
def test_an_index_off_the_board_has_no_name(cell: int) -> None:
    with pytest.raises(UsageError, match=f"^cell {cell}: a 3x3 board has the cells 0 to 8$"):
        format_cell(cell, 3)


@given(st.integers(2, 26).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.integers(0, n * n)))))
def test_moves_come_back_from_one_line(case: tuple[int, list[int]]) -> None:
    size, moves = case
    line = format_moves(moves, size)
    assert (
        parse_moves(line, size)
        == parse_moves(line.replace(" ", ","), size)
        == parse_moves(line.split(), size)
        == moves
    )
