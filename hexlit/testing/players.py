"""The promises of every player of the arena that plays many games at once."""

from collections.abc import Iterable

import numpy as np

from hexlit.arena.match import Player, play_match
from hexlit.arena.players import RandomPlayer
from hexlit.hex.symmetry import exchange_colours, exchange_moves
from hexlit.testing.positions import random_positions, wins_at_once


class PlayerConformance:
    """The promises of `hexlit.arena.match.Player`; see `hexlit.testing` for how to run them.

    A player that knows nothing of the game, such as `RandomPlayer`, sets the last three to False.

    Attributes:
        sizes: boards to try.
        takes_wins: whether it plays a win in one move.
        stops_losses: whether it stops a loss in one move.
        colours_alike: whether the mirror image with the colours exchanged gets the mirrored move.
    """

    sizes: Iterable[int] = (2, 3, 5)
    takes_wins = True
    stops_losses = True
    colours_alike = True

    def make(self, size: int, seed: int) -> Player:
        """A fresh player on boards of `size`; `seed` draws between moves where it draws at all."""
        raise NotImplementedError

    def test_moves_are_legal_on_every_board(self) -> None:
        """int16 `[B]`, and the positions are only read."""
        for size in self.sizes:
            cells, to_move, _ = random_positions(size, 8, size)
            given = cells.copy()
            moves = self.make(size, 0).choose(cells, to_move)
            assert moves.dtype == np.int16, f"moves are {moves.dtype}, int16 is needed"
            assert moves.shape == (8,), f"moves {moves.shape} for 8 positions"
            assert np.array_equal(cells, given), "the positions were changed"
            legal = ((moves >= 0) & (moves < size * size)).all() and not cells[np.arange(8), moves].any()
            assert legal, f"on {size}x{size} the moves {moves} are not all empty cells"

    def test_the_answer_to_a_first_stone_is_a_free_cell_or_the_swap(self) -> None:
        """`size*size` swaps. Of larger boards 25 to 49 stones are tried, spread over the board."""
        for size in self.sizes:
            own = np.arange(0, size * size, max(1, size * size // 25))
            cells = np.eye(size * size, dtype=np.int8)[own]
            replies = self.make(size, 0).reply(cells)
            assert replies.dtype == np.int16, f"replies are {replies.dtype}, int16 is needed"
            legal = (replies >= 0) & (replies <= size * size) & (replies != own)
            assert legal.all(), f"on {size}x{size}, reply {replies[~legal]} to the stone on {own[~legal]}"

    def test_a_win_in_one_move_is_taken(self) -> None:
        """If `takes_wins`."""
        for size in self.sizes if self.takes_wins else ():
            cells, to_move, _ = random_positions(size, 12, size, before_the_end=True)
            moves = self.make(size, 0).choose(cells, to_move)
            for board, colour, move in zip(cells, to_move.tolist(), moves.tolist(), strict=True):
                wins = wins_at_once(board, colour)
                assert move in wins, f"on {size}x{size} it plays {move}, {wins} win"

    def test_a_loss_in_one_move_is_stopped_where_it_can_be(self) -> None:
        """The same positions with the other player to move, if `stops_losses`."""
        stopped = 0
        for size in self.sizes if self.stops_losses else ():
            # Of few boards more positions, for not all have a threat that can be stopped.
            cells, to_move, _ = random_positions(size, 12 if size > 5 else 36, size, before_the_end=True)
            moves = self.make(size, 0).choose(cells, -to_move)
            for board, colour, move in zip(cells, to_move.tolist(), moves.tolist(), strict=True):
                threats = wins_at_once(board, colour)
                if len(threats) == 1 and not wins_at_once(board, -colour):
                    assert move == threats[0], f"on {size}x{size} it plays {move}, only {threats[0]} stops the loss"
                    stopped += 1
        assert stopped or not self.stops_losses, f"no position of the boards {self.sizes} has such a threat"

    def test_moves_depend_on_the_position_and_the_seed_alone(self) -> None:
        """Not on the games played beside it, nor on what was asked before."""
        size = max((size for size in self.sizes if size <= 5), default=min(self.sizes))
        cells, to_move, _ = random_positions(size, 24, 1)
        player = self.make(size, 3)
        moves = player.choose(cells, to_move)
        assert np.array_equal(self.make(size, 3).choose(cells, to_move), moves), "another player of this seed differs"
        for row in range(len(cells))[::-1]:
            alone = player.choose(cells[row : row + 1], to_move[row : row + 1])[0]
            assert alone == moves[row], f"it plays {moves[row]} among others and {alone} alone"

    def test_both_colours_play_alike(self) -> None:
        """The transposed position with exchanged colours gets the transposed move, if `colours_alike`."""
        for size in self.sizes if self.colours_alike else ():
            if size > 6:
                continue
            cells, to_move, _ = random_positions(size, 16, 2)
            moves = self.make(size, 1).choose(cells, to_move)
            mirrored = self.make(size, 1).choose(exchange_colours(cells), -to_move)
            assert np.array_equal(mirrored, exchange_moves(moves, size)), f"on {size}x{size} the colours differ"

    def test_whole_games_are_played_to_their_end(self) -> None:
        """Against random moves, each opening with either colour; an illegal move would be an error."""
        size = min(self.sizes)
        assert play_match(self.make(size, 0), RandomPlayer(1), size=size, pairs=2, seed=0, opening_plies=1).games == 4
