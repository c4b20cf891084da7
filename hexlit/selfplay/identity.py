"""Ids of games, made of their moves: one game has one id in every store."""

from enum import StrEnum
from hashlib import blake2b

from hexlit.hex.record import GameRecord
from hexlit.hex.symmetry import rotate_moves


class Duplicates(StrEnum):
    """Rule for the equal games that a store keeps."""

    SYMMETRIC = "symmetric"
    """One of a game and the same game turned by 180 degrees."""
    EXACT = "exact"
    """One of equal games; a turned game is another one."""
    KEEP = "keep"
    """All of them; only the same place in the same file is never stored twice."""


def game_identity(record: GameRecord, duplicates: Duplicates) -> tuple[int, bool]:
    """An id of 63 bits, made of size and moves, and whether it is the turned form of the game with this id.

    Under `symmetric` a game and the same turned by 180 degrees share the id of the form with the smaller move numbers.
    Under `exact` each has its own; the smaller form has the symmetric id. Under `keep` the game's place in its file is
    part of the id.
    """
    content = record.moves.astype(">i2").tobytes()
    turned = rotate_moves(record.moves, record.size).astype(">i2").tobytes()
    is_turned = turned < content
    if duplicates == Duplicates.SYMMETRIC and is_turned:
        content = turned
    place = record.source.encode() if duplicates == Duplicates.KEEP else b""
    digest = blake2b(bytes([record.size]) + content + place, digest_size=8).digest()
    return int.from_bytes(digest) >> 1, is_turned
