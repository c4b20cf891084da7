"""The compiled rules against plain Python, move by move."""

from collections.abc import Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hexlit.hex import engine
from hexlit.hex.engine import Stones, copy_stones, empty_stones, place_all, play_sequence
from hexlit.hex.geometry import BLACK, OUTSIDE, WHITE, Geometry, geometry
from hexlit.hex.jit import kernel
from hexlit.hex.playout import winner_of_full_board
from tests.hex import reference

GAMES = {2: 2500, 3: 3000, 4: 2400, 5: 1200, 6: 500, 7: 200, 9: 100, 11: 60, 13: 24, 19: 10, 26: 6}


@kernel
def place(stones: Stones, g: int, cell: int, colour: int, table: Geometry) -> bool:
    return engine.place(stones, g, cell, colour, table)


@kernel
def play_action(stones: Stones, g: int, action: int, colour: int, table: Geometry) -> bool:
    return engine.play_action(stones, g, action, colour, table)


def random_moves(random: np.random.Generator, size: int, swap: bool) -> list[int]:
    """Every cell once in random order,
    with the swap at ply 1 in half of the games that have the rule.
    """
    moves = [int(cell) for cell in random.permutation(size * size)]
    if swap and random.random() < 0.5:
        # The mirror image of the first stone is taken from now on, and its own cell free.
        mirror = reference.transposed(moves[0], size)
        rest = [moves[0] if cell == mirror else cell for cell in moves[1:]]
        return [moves[0], size * size, *rest]
    return moves


def test_ten_thousand_random_games_agree_with_plain_python_after_every_move() -> None:
    """Stones and winner after every move, sizes 2 to 26,
    a quarter of the games under the swap rule.
    """
    assert sum(GAMES.values()) == 10_000
    random = np.random.default_rng(10)
    for size, games in GAMES.items():
        table, stones = geometry(size), empty_stones(1, size)
        for number in range(games):
            cells = [0] * (size * size)
            stones.cells[0, :-1] = 0
            for ply, move in enumerate(random_moves(random, size, swap=number % 4 == 0)):
                colour = BLACK if ply % 2 == 0 else WHITE
                if move == size * size:
                    first = cells.index(BLACK)
                    cells[first], cells[reference.transposed(first, size)] = 0, WHITE
                else:
                    cells[move] = colour
                action = move if colour == BLACK else reference.transposed(move, size)
                won = play_action(stones, 0, action, colour, table)
                assert stones.cells[0].tolist() == [*cells, OUTSIDE]
                assert won == (move != size * size and reference.connects(cells, size, colour)), (
                    size,
                    cells,
                )
                if won:
                    break
            assert won


def short_games(seed: int) -> Iterator[tuple[int, reference.Game]]:
    """Sizes and finished games of the reference."""
    random = np.random.default_rng(seed)
    for number in range(300):
        size = int(random.integers(2, 8))
        game = reference.Game(size, swap=number % 2 == 0)
        for move in random_moves(random, size, game.swap):
            game.play(move)
            if game.winner:
                break
        yield size, game


def test_a_sequence_of_moves_gives_the_ply_of_the_win() -> None:
    for size, game in short_games(seed=1):
        stones, moves = empty_stones(1, size), np.array(game.moves, np.int16)
        assert play_sequence(stones, 0, moves, geometry(size)) == len(moves)
        assert stones.cells[0, :-1].tolist() == game.cells
        assert play_sequence(stones, 0, moves[:-1], geometry(size)) == 0


def test_a_set_up_position_has_the_winner_that_flood_fill_finds() -> None:
    """Any numbers of stones, in games that others played before."""
    random = np.random.default_rng(3)
    for _ in range(2000):
        size = int(random.integers(2, 8))
        stones = empty_stones(3, size)
        stones.cells[1, :-1] = 1
        full = random.choice(np.array([-1, 1], np.int8), size * size)
        holes = random.random(size * size) < random.random()
        colours = np.where(holes, 0, full).astype(np.int8)
        assert place_all(stones, 1, colours, geometry(size)) == reference.winner(
            colours.tolist(), size
        )
        assert np.array_equal(stones.cells[1, :-1], colours)
        assert not stones.cells[[0, 2], :-1].any()


def test_a_copied_position_goes_on_by_itself() -> None:
    table, stones = geometry(3), empty_stones(2, 3)
    for cell in (0, 3):
        place(stones, 0, cell, BLACK, table)
    copy_stones(stones, 0, stones, 1)
    assert place(stones, 1, 6, BLACK, table)
    assert stones.cells[0, 6] == 0
    assert not place(stones, 0, 8, BLACK, table)
    assert place(stones, 0, 6, BLACK, table)


@st.composite
def full_boards(draw: st.DrawFn) -> tuple[int, list[int]]:
    size = draw(st.integers(2, 12))
    return size, draw(
        st.lists(st.sampled_from((BLACK, WHITE)), min_size=size * size, max_size=size * size)
    )


@given(full_boards())
def test_exactly_one_player_connects_on_a_full_board(board: tuple[int, list[int]]) -> None:
    size, cells = board
    black, white = (reference.connects(cells, size, colour) for colour in (BLACK, WHITE))
    assert black != white
    assert winner_of_full_board(np.array(cells, np.int8), size) == (BLACK if black else WHITE)


def test_the_walk_along_the_border_finds_the_winner_of_union_find() -> None:
    """5,000 full boards, sizes 2 to 26, all shares of colours."""
    random = np.random.default_rng(5)
    for _ in range(5000):
        size = int(random.choice([2, 3, 4, 5, 7, 11, 19, 26]))
        cells = np.where(
            random.random(size * size) < random.uniform(0.3, 0.7), BLACK, WHITE
        ).astype(np.int8)
        assert winner_of_full_board(cells, size) == place_all(
            empty_stones(1, size), 0, cells, geometry(size)
        )
