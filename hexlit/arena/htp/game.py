"""Commands that move the game on: boards, moves, and what the rules say of a position."""

import logging
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hexlit.arena.htp.arguments import RESIGN, colour_letter, colour_name, parse_colour, parse_move, parse_whole
from hexlit.arena.htp.loadsgf import read_first_game, replay
from hexlit.arena.htp.protocol import quoted
from hexlit.arena.htp.session import Session
from hexlit.errors import UsageError
from hexlit.hex.notation import SWAP, format_cell
from hexlit.hex.records.sgf import board_of
from hexlit.search.search import LARGEST_BOARD

log = logging.getLogger(__name__)

SMALLEST_BOARD = 2


def boardsize(session: Session, arguments: Sequence[str]) -> str:
    """Start a new game on a board of this size; the second number, if there, must be the first."""
    sizes = [parse_whole(text, "size", 0, 999_999_999) for text in arguments]
    session.start(playable(sizes[0], sizes[-1]))
    return ""


def playable(width: int, height: int) -> int:
    """Rows of a playable board; raises `UsageError` for any other."""
    if width != height:
        raise UsageError(f"unsupported board size {width}x{height}: boards have as many rows as columns")
    if not SMALLEST_BOARD <= width <= LARGEST_BOARD:
        raise UsageError(f"unsupported board size {width}: sizes are {SMALLEST_BOARD} to {LARGEST_BOARD}")
    return width


def clear_board(session: Session, arguments: Sequence[str]) -> str:
    """Start a new game on a board of the same size."""
    del arguments
    session.start(session.size)
    return ""


def play(session: Session, arguments: Sequence[str]) -> str:
    """Play a move of either colour, whoever is to move."""
    colour, move = parse_colour(arguments[0]), parse_move(arguments[1], session.size)
    if move == SWAP:
        session.position = session.position.swap(colour)
    elif move == RESIGN:
        session.position = session.position.resign(colour)
    else:
        session.position = session.position.place(colour, int(move))
    return ""


def genmove(session: Session, arguments: Sequence[str]) -> str:
    """Choose a move and play it. A resignation is not played: a graphical program would not undo it."""
    colour = parse_colour(arguments[0])
    if session.position.winner:
        return RESIGN
    started = time.monotonic()
    thought = session.think(colour)
    session.clocks[colour].spend(time.monotonic() - started)
    if (1 + thought.value) / 2 < session.settings.resign:
        return RESIGN
    if thought.action == session.size**2:
        session.position = session.position.swap(colour)
    else:
        session.position = session.position.place(colour, thought.action)
    name = format_cell(thought.action, session.size)
    log.info("%s %s, winning chance %.3f", colour_letter(colour), name, (1 + thought.value) / 2)
    return name


def reg_genmove(session: Session, arguments: Sequence[str]) -> str:
    """Choose a move as genmove does, without playing it or using the clock."""
    colour = parse_colour(arguments[0])
    if session.position.winner:
        return RESIGN
    return format_cell(session.think(colour).action, session.size)


def undo(session: Session, arguments: Sequence[str]) -> str:
    """Take back the last move."""
    del arguments
    if session.position.previous is None:
        raise UsageError("cannot undo: no move has been played")
    session.position = session.position.previous
    return ""


def showboard(session: Session, arguments: Sequence[str]) -> str:
    """The board for a person."""
    del arguments
    position = session.position
    state = f"{colour_name(position.winner)} has won" if position.winner else f"{colour_name(position.to_move)} to move"
    return f"\n{position}\n{state}"


def final_score(session: Session, arguments: Sequence[str]) -> str:
    """Who has won."""
    del arguments
    return {1: "B+", -1: "W+", 0: "cannot score"}[session.position.winner]


def all_legal_moves(session: Session, arguments: Sequence[str]) -> str:
    """Moves of the side to move; none after the end."""
    del arguments
    position = session.position
    if position.winner:
        return ""
    cells = [format_cell(int(cell), position.size) for cell in np.flatnonzero(position.cells == 0)]
    return " ".join([*cells, SWAP] if session.swap and position.may_swap(position.to_move) else cells)


def loadsgf(session: Session, arguments: Sequence[str]) -> str:
    """Load the main line of an SGF file, all of it or its first N moves."""
    count = parse_whole(arguments[1], "number of moves", 0, 999_999_999) if len(arguments) == 2 else None
    try:
        game = read_first_game(Path(arguments[0]))
        size = playable(*board_of(game))
        position = replay(game, count)
    except UsageError as error:
        raise UsageError(f"file {quoted(arguments[0])}: {error}") from error
    if size == session.size:
        session.get_ready()
    else:
        session.start(size)
    session.position = position
    return ""


def leave(session: Session, arguments: Sequence[str]) -> str:
    """End the conversation, which the server does after the answer."""
    del session, arguments
    return ""
