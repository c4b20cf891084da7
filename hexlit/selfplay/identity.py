"""Which games are the same: ids made of what was played, so that one game has one id in every store."""

from enum import StrEnum
from hashlib import blake2b

from hexlit.hex.record import GameRecord
from hexlit.hex.symmetry import rotate_moves


class Duplicates(StrEnum):
    """Which of several equal games a store keeps."""

    SYMMETRIC = "symmetric"
    """One, of the game and of the same turned by 180 degrees."""
    EXACT = "exact"
    """One of the game; turned it is another game."""
    KEEP = "keep"
    """All of them; only the same place in the same file is never taken twice."""


def game_identity(record: GameRecord, duplicates: Duplicates) -> tuple[int, bool]:
    """An id of 63 bits, made of size and moves, and whether it is the turned form of the game with this id.

    Of a game and the same turned by 180 degrees, the one whose moves come first by their numbers gives the id of both
    (`symmetric`), or each has its own (`exact`; that of the first form is the symmetric one). With `keep` the place
    where the game was read is part of it.
    """
    content = record.moves.astype(">i2").tobytes()
    turned = rotate_moves(record.moves, record.size).astype(">i2").tobytes()
    is_turned = turned < content
    if duplicates == Duplicates.SYMMETRIC and is_turned:
        content = turned
    place = record.source.encode() if duplicates == Duplicates.KEEP else b""
    digest = blake2b(bytes([record.size]) + content + place, digest_size=8).digest()
    return int.from_bytes(digest) >> 1, is_turned
