"""The promises of every player of the arena that plays one game after another."""

from hexlit.arena.game_player import RESIGN, GamePlayer
from hexlit.hex.board import Board


class GamePlayerConformance:
    """The promises of `hexlit.arena.game_player.GamePlayer`; see `hexlit.testing` for how to run them.

    Attributes:
        sizes: boards to try, one after the other with one player.
        repeats: whether the same game gets the same moves again.
    """

    sizes: tuple[int, ...] = (3, 4, 3)
    repeats = True

    def make(self) -> GamePlayer:
        """A fresh player; the suite closes it."""
        raise NotImplementedError

    def test_it_plays_legal_games_on_one_board_after_another(self) -> None:
        """Both colours by itself, with and without the swap rule, from openings of a single stone."""
        player = self.make()
        try:
            for size in self.sizes:
                for swap in (False, True):
                    board = _game(player, size, swap, opening=[0])
                    assert board.winner, f"on {size}x{size} it gave up a game against itself: {board.moves}"
        finally:
            player.close()

    def test_the_same_game_gets_the_same_moves(self) -> None:
        """Other games between change nothing, if `repeats`."""
        if not self.repeats:
            return
        player = self.make()
        try:
            size = self.sizes[0]
            first = _game(player, size, False, opening=[0]).moves
            _game(player, size, False, opening=[1, 0])
            again = _game(player, size, False, opening=[0]).moves
            assert again == first, f"{first} the first time, {again} later"
        finally:
            player.close()


def _game(player: GamePlayer, size: int, swap: bool, opening: list[int]) -> Board:
    """A game of `player` against itself up to its end, or to where it resigns."""
    board = Board(size, swap=swap, moves=opening)
    player.begin(size, swap=swap)
    while not board.winner:
        move = player.answer(board.moves)
        if move == RESIGN:
            break
        assert move in board.legal_moves(), f"{move} after {board.moves} on {size}x{size}, swap={swap}, is not legal"
        board.play(move)
    return board
