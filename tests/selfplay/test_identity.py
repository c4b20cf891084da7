"""The ids of imported games: made of what was played."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.symmetry import rotate_moves
from hexlit.selfplay.importing import Duplicates, game_identity
from tests.selfplay.games import record


@st.composite
def games(draw: st.DrawFn) -> GameRecord:
    size = draw(st.integers(2, 13))
    cells = draw(st.permutations(range(size**2)))[: draw(st.integers(0, 12))]
    swap = draw(st.booleans()) and len(cells) > 1
    if swap:
        cells[1] = size**2
    return GameRecord(0, size, swap, np.array(cells, np.int16), 0, Ending.UNFINISHED, source="a:1")


def turned(game: GameRecord) -> GameRecord:
    return GameRecord(0, game.size, game.swap, rotate_moves(game.moves, game.size), 0, game.ending, source="b:2")


@given(games())
def test_a_game_and_the_same_turned_have_one_id_of_63_bits_and_one_of_them_is_the_turned_form(game: GameRecord) -> None:
    one, is_turned = game_identity(game, Duplicates.SYMMETRIC)
    other, other_is_turned = game_identity(turned(game), Duplicates.SYMMETRIC)
    assert one == other
    assert 0 <= one < 2**63
    symmetric = np.array_equal(game.moves, turned(game).moves)
    assert (is_turned != other_is_turned) or symmetric


@given(games())
def test_exact_ids_tell_a_game_from_the_same_turned_and_the_first_form_has_the_symmetric_id(game: GameRecord) -> None:
    if np.array_equal(game.moves, turned(game).moves):
        return
    exact = {game_identity(one, Duplicates.EXACT) for one in (game, turned(game))}
    assert len({game_id for game_id, _ in exact}) == 2
    assert game_identity(game, Duplicates.SYMMETRIC)[0] in {game_id for game_id, is_turned in exact if not is_turned}


@pytest.mark.parametrize("rule", list(Duplicates))
def test_another_size_and_another_order_of_moves_are_other_games(rule: Duplicates) -> None:
    ids = {game_identity(game, rule)[0] for game in (record("a1 b2"), record("b2 a1"), record("a1 b2 c1"))}
    same_numbers = GameRecord(0, 4, False, record("a1 b2").moves, 0, Ending.UNFINISHED)
    assert len(ids | {game_identity(same_numbers, rule)[0]}) == 4


def test_when_all_are_kept_the_place_is_part_of_the_id() -> None:
    one, other = record("a1", source="file:1"), record("a1", source="file:2")
    assert game_identity(one, Duplicates.KEEP) != game_identity(other, Duplicates.KEEP)
    assert game_identity(one, Duplicates.KEEP) == game_identity(record("a1", source="file:1"), Duplicates.KEEP)


def test_the_id_of_a_game_is_the_same_in_every_version() -> None:
    """Stores are kept for years: an id that changed would let every game in twice."""
    assert game_identity(record("a1 b2"), Duplicates.SYMMETRIC) == (864679018957366455, False)
