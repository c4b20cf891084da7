"""Games as texts: what a page pastes or opens, and what it saves."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hexlit.errors import UsageError
from hexlit.hex.board import GameBoard
from hexlit.hex.geometry import BLACK
from hexlit.hex.notation import format_cell, parse_cell
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.formats import FORMATS, format_of_text, from_record
from hexlit.hex.records.game import RecordError, as_record
from hexlit.hex.records.variations import (
    Variation,
    Variations,
    main_line,
    read_variations,
    write_variations,
)
from hexlit.web.messages import Node, Read, Write
from hexlit.web.pages import node_entry

LARGEST_BOARD = 19


def game_of(request: Read) -> dict[str, Any]:
    """The first game of a text, see `hexlit.web.messages`; raises `UsageError` where there is
    none.
    """
    text = request.text.strip("\ufeff \t\r\n")
    if not text:
        raise UsageError("text: it is empty")
    form = format_of_text(text)
    if form is None:
        raise UsageError(
            f"text: no game of Hex in a known format; the formats are {', '.join(FORMATS)}"
        )
    first = next(form.read(text.splitlines(keepends=True), ""), None)
    if first is None:
        raise UsageError(f"text: there is no game in it, read as {form.name}")
    if isinstance(first, RecordError):
        raise UsageError(f"text, read as {form.name}: {first}")
    record = as_record(first)
    result = Variations(main_line(record.moves.tolist()), [])
    if form.name == "sgf":
        result = read_variations(text.splitlines(keepends=True), first.place)
    if record.size > LARGEST_BOARD:
        raise UsageError(
            f"text: the game has a board of {record.size} rows; this page shows {LARGEST_BOARD} at most"
        )
    return {
        "type": "game",
        "format": form.name,
        "size": record.size,
        "swap": record.swap,
        "moves": [format_cell(int(move), record.size) for move in record.moves],
        "nodes": [node_entry(node, record.size) for node in result.nodes],
        "unread": [str(error) for error in result.unread],
        "black": record.black,
        "white": record.white,
        "final": True,
    }


def text_of(request: Write, board: GameBoard) -> dict[str, Any]:
    """The game on `board` as text, see `hexlit.web.messages`; raises `UsageError` where the format
    cannot say it.
    """
    if request.format not in FORMATS:
        raise UsageError(
            f"format: there is no {request.format!a}; choose from {', '.join(FORMATS)}"
        )
    winner, ending = board.winner, Ending.CONNECTED if board.winner else Ending.UNFINISHED
    if request.given_up is not None and not winner:
        winner = -BLACK if request.given_up.loser == "black" else BLACK
        ending = Ending.RESIGNED if request.given_up.how == "resigned" else Ending.FORFEITED
    record = GameRecord(
        game_id=0,
        size=board.size,
        swap=board.swap and board.size**2 in board.moves,
        moves=np.array(board.moves, np.int16),
        winner=winner,
        ending=ending,
        black=request.black,
        white=request.white,
    )
    if request.format == "sgf" and request.nodes:
        text = write_variations(record, checked_nodes(request.nodes, board.size))
    else:
        text = FORMATS[request.format].write(from_record(record))
    return {
        "type": "text",
        "text": text,
        "suffix": FORMATS[request.format].suffixes[0],
        "final": True,
    }


def checked_nodes(given: Sequence[Node], size: int) -> list[Variation]:
    """The tree of a page; raises `UsageError` where it is none, or a move is no cell."""
    if given[0].parent != -1 or any(
        not 0 <= node.parent < number for number, node in enumerate(given) if number
    ):
        raise UsageError(
            "nodes: each but the first needs the number of an earlier node as its parent"
        )
    return [
        Variation(-1, -1),
        *(Variation(parse_cell(node.move, size), node.parent) for node in given[1:]),
    ]
