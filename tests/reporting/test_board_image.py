"""Pictures of boards for loggers."""

import pytest
from PIL import Image

from hexlit.errors import UsageError
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.reporting.board_image import game_image, openings_image
from hexlit.reporting.board_svg import BAD, CELL, GOOD, MARK, SIDE, STONE, centre


def colours(picture: Image.Image) -> set[tuple[int, int, int]]:
    found = picture.getcolors(picture.width * picture.height)
    assert found is not None
    return {colour for _, colour in found}  # type: ignore[misc]


def rgb(name: str) -> tuple[int, int, int]:
    return tuple(bytes.fromhex(name[1:]))  # type: ignore[return-value]


def test_wins_are_blue_losses_red_and_mistakes_ringed() -> None:
    right = openings_image([1.0, -1.0, -1.0, 1.0], [True, False, False, True])
    wrong = openings_image([1.0, -1.0, -1.0, 1.0], [False, False, False, True])
    assert {rgb(GOOD), rgb(BAD)} <= colours(right)
    ring = rgb(MARK)
    assert ring not in colours(right)
    assert ring in colours(wrong)


def test_a_map_that_is_no_board_is_refused() -> None:
    for values, truth in (([], None), ([0.1, 0.2], None), ([0.1], [True, False])):
        with pytest.raises(UsageError, match="opening map of"):
            openings_image(values, truth)


@pytest.mark.parametrize("size", [2, 5, 11])
def test_a_game_shows_the_stones_of_both_and_grows_with_the_board(size: int) -> None:
    picture = game_image([0, 1], size)
    assert picture.size == game_image([], size).size
    assert picture.width > size * SIDE
    for cell, colour in enumerate((STONE[BLACK], STONE[WHITE], CELL)):
        assert beside(picture, cell, size) == pytest.approx(rgb(colour), abs=4)
    assert game_image([1, 0], size).tobytes() != picture.tobytes()


def test_a_swap_takes_the_first_stone_away() -> None:
    """a2 swapped is White's stone on b1."""
    picture = game_image([2, 4], 2)
    assert beside(picture, 2, 2) == pytest.approx(rgb(CELL), abs=4)
    assert beside(picture, 1, 2) == pytest.approx(rgb(STONE[WHITE]), abs=4)


def beside(picture: Image.Image, cell: int, size: int) -> tuple[int, int, int]:
    """The colour of the cell between its number and its border."""
    x, y = centre(cell, size)
    found = picture.getpixel((round(x - 0.38 * SIDE), round(y - 0.25 * SIDE)))
    assert isinstance(found, tuple)
    return found  # type: ignore[return-value]
