"""One game for people and programs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexlit.errors import UsageError
from hexlit.hex.board import GameBoard
from hexlit.hex.encoding import MAY_SWAP, OPPONENT, OWN
from hexlit.hex.geometry import BLACK, WHITE
from tests.hex import reference


@st.composite
def games(draw: st.DrawFn) -> reference.Game:
    """Games cut off anywhere, with or without the swap rule."""
    game = reference.Game(draw(st.integers(2, 6)), swap=draw(st.booleans()))
    for _ in range(draw(st.integers(0, game.size**2))):
        moves = game.legal_moves()
        if not moves:
            break
        game.play(draw(st.sampled_from(moves)))
    return game


@given(games())
def test_a_board_is_what_plain_python_says_after_every_move(game: reference.Game) -> None:
    """Legal moves, stones, winner and player to move, forwards and backwards."""
    board, replayed = (
        GameBoard(game.size, swap=game.swap),
        reference.Game(game.size, swap=game.swap),
    )
    trail = []
    for move in game.moves:
        trail.append(
            (board.cells.tolist(), board.legal_moves(), board.winner, board.to_move, board.may_swap)
        )
        board.play(move)
        replayed.play(move)
        assert board.legal_moves() == replayed.legal_moves()
        assert board.cells.tolist() == replayed.cells
        assert (board.winner, board.to_move) == (replayed.winner, replayed.to_move)
        assert board.may_swap == (game.swap and len(board.moves) == 1)
    assert board.moves == tuple(game.moves)
    for move in reversed(game.moves):
        assert board.undo() == move
        assert trail.pop() == (
            board.cells.tolist(),
            board.legal_moves(),
            board.winner,
            board.to_move,
            board.may_swap,
        )


def test_moves_may_be_text_or_indices() -> None:
    assert GameBoard(5, moves="a3 C4,e5").moves == GameBoard(5, moves=[10, 17, 24]).moves


def test_swap_pieces_mirrors_the_stone_and_black_moves_next() -> None:
    board = GameBoard(4, swap=True, moves="b4 swap-pieces")
    assert board.cells.tolist() == [WHITE if cell == 7 else 0 for cell in range(16)]  # d2
    assert board.to_move == BLACK
    assert board.undo() == 16
    assert board.cells[13] == BLACK


def test_nobody_moves_after_the_end() -> None:
    board = GameBoard(2, moves="a1 b1 a2")
    assert board.winner == BLACK
    assert board.legal_moves() == []
    with pytest.raises(UsageError, match="^move b2: the game is over$"):
        board.play(3)
    board.undo()
    assert board.winner == 0
    board.play(3)


@pytest.mark.parametrize(
    ("swap", "moves", "move", "message"),
    [
        (False, "b2", 4, "^move b2: the cell is taken after b2$"),
        (False, "b2", 9, "^move swap-pieces: this game is played without swap$"),
        (True, "", 9, "^move swap-pieces: only White's first move may be a swap$"),
        (True, "a1 b2", 9, "^move swap-pieces: only White's first move may be a swap$"),
        (True, "a1", 10, "^cell 10: a 3x3 board has the cells 0 to 8$"),
        (False, "", -1, "^cell -1: a 3x3 board has the cells 0 to 8$"),
    ],
)
def test_an_illegal_move_is_refused_and_changes_nothing(
    swap: bool, moves: str, move: int, message: str
) -> None:
    board = GameBoard(3, swap=swap, moves=moves)
    before = (board.moves, board.cells.tolist())
    with pytest.raises(UsageError, match=message):
        board.play(move)
    assert (board.moves, board.cells.tolist()) == before


def test_planes_are_those_of_the_mover() -> None:
    planes = GameBoard(3, swap=True, moves="c1").planes()[0]
    assert not planes[OWN].any()
    assert np.argwhere(planes[OPPONENT]).tolist() == [[2, 0]]  # c1, transposed for White
    assert planes[MAY_SWAP].all()


def test_the_text_leans_like_the_board() -> None:
    assert (
        str(GameBoard(3, moves="a1 c2"))
        == "   a b c\n 1 X . . 1\n  2 . . O 2\n   3 . . . 3\n      a b c"
    )
