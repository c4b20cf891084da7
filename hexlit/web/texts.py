"""Games as texts: what a page pastes or opens, and what it saves."""

from itertools import islice
from typing import Any

import numpy as np

from hexlit.errors import UsageError
from hexlit.hex.board import GameBoard
from hexlit.hex.geometry import BLACK, LARGEST_BOARD
from hexlit.hex.notation import format_cell
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.formats import FORMATS, format_of_text, from_record
from hexlit.hex.records.game import RecordedGame, RecordError, as_record
from hexlit.web.messages import Read, Write
from hexlit.web.pages import end_of

MOST_GAMES = 1000
"""Of a text that a page may choose from."""


def game_of(request: Read) -> dict[str, Any]:
    """A game of a text, see `hexlit.web.messages`; raises `UsageError` where there is none."""
    text = request.text.strip("\ufeff \t\r\n")
    if not text:
        raise UsageError("text: it is empty")
    form = format_of_text(text)
    if form is None:
        raise UsageError(
            f"text: no game of Hex in a known format; the formats are {', '.join(FORMATS)}"
        )
    games = list(islice(form.read(text.splitlines(keepends=True), ""), MOST_GAMES))
    if request.game >= len(games):
        raise UsageError(f"text: there is no game {request.game + 1} in it, read as {form.name}")
    first = games[request.game]
    if isinstance(first, RecordError):
        raise UsageError(f"text, read as {form.name}: {first}")
    record = as_record(first)
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
        "black": record.black,
        "white": record.white,
        "event": first.event,
        "date": first.date,
        "end": end_of(record, claimed=True),
        "games": [label_of(game) for game in games],
        "final": True,
    }


def label_of(game: RecordedGame | RecordError) -> str:
    """A game of several in a few words."""
    if isinstance(game, RecordError):
        return str(game)
    people = f"{game.black or 'Black'} – {game.white or 'White'}"
    parts = [people, f"{game.size}×{game.size}", f"{len(game.moves)} moves", game.event, game.date]
    return ", ".join(part for part in parts if part)


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
    text = FORMATS[request.format].write(from_record(record))
    return {
        "type": "text",
        "text": text,
        "suffix": FORMATS[request.format].suffixes[0],
        "final": True,
    }
