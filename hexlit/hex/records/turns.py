"""Whose turn it is, and what a swap was, where a record does not say."""

from collections.abc import Sequence

from hexlit.hex.records.game import SWAP_PIECES, SWAP_SIDES, RecordedMove


def next_turn(move: RecordedMove) -> int:
    """Who moves after `move`: after swap-sides its own colour, of which the people have changed."""
    return move.colour if move.action == SWAP_SIDES else -move.colour


def read_swaps(moves: Sequence[RecordedMove]) -> list[RecordedMove]:
    """`moves` with every swap named as what it was, where a format's one word stands for both.

    Old programs wrote swap-pieces and meant swap-sides. It was that where the swapper also puts the next stone: the
    first stone has stayed, and it is again its answer's turn. Where no stone follows, the word is taken as it is.
    """
    following = 0
    read = []
    for colour, action in reversed(moves):
        if action >= 0:
            following = colour
        elif action in (SWAP_PIECES, SWAP_SIDES) and following:
            action = SWAP_SIDES if following == colour else SWAP_PIECES
        read.append(RecordedMove(colour, action))
    return read[::-1]
