"""The player to move, and the kind of a swap, for records that do not say it."""

from collections.abc import Sequence

from hexlit.hex.records.game import SWAP_PIECES, SWAP_SIDES, RecordedMove


def next_turn(move: RecordedMove) -> int:
    """Colour to move after `move`; after swap-sides it is the same colour, now of the other person."""
    return move.colour if move.action == SWAP_SIDES else -move.colour


def read_swaps(moves: Sequence[RecordedMove]) -> list[RecordedMove]:
    """`moves` with the true kind of every swap, for a format with one word for both.

    Old programs wrote swap-pieces and meant swap-sides. If the swapper also puts the next stone, it was swap-sides: the
    first stone has stayed, and the colour that answers it moves. If no stone follows, the word is taken literally.
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
