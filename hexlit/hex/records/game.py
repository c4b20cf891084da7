"""A game as people and programs wrote it, and the one way from it to a `GameRecord`.

Formats differ in the first player, in the kind of swap, and in the result they state. A
`RecordedGame` keeps all that a file holds, so that writing it again loses nothing. `as_record`
brings it to the project's frame and believes nothing that the board contradicts.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hexlit.errors import UsageError, printable
from hexlit.hex.engine import empty_stones, play_sequence
from hexlit.hex.frame import frame_action
from hexlit.hex.geometry import BLACK, WHITE, geometry
from hexlit.hex.notation import check_size, format_cell, parse_cell
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.symmetry import mirror_cell


@dataclass(frozen=True)
class Place:
    """A place in a file, as editors count: lines and columns from 1; 0 if unknown."""

    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """`file:line:column`, without what is not known."""
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part)

    def after(self, signs: int) -> "Place":
        """The place `signs` further on in the line."""
        return Place(self.file, self.line, self.column + signs)


class RecordError(UsageError):
    """A game that cannot be read, or is none.

    Attributes:
        reason: a few words for the kind of error, such as `illegal move`; an importer counts games
            by them.
        message: one sentence about this game.
        place: where it stands.
    """

    def __init__(self, reason: str, message: str, place: Place | None = None) -> None:
        """One line: the place, then what is wrong there."""
        message = printable(message)
        self.reason = reason
        self.message = message
        self.place = place or Place()
        where = str(self.place)
        super().__init__(f"{where}: {message}" if where else message)

    def at(self, place: Place) -> "RecordError":
        """The same error at `place`."""
        return RecordError(self.reason, self.message, place)


def read_lines(
    lines: Iterable[str], file: str, read: Callable[[str, Place], "RecordedGame"]
) -> Iterator["RecordedGame | RecordError"]:
    """The games of a file with one a line, or the error of a line; empty lines and comments (`# `)
    are skipped.

    `read` gets a line without blanks around it, and the place of its first character.
    """
    for number, line in enumerate(lines, 1):
        text = line.lstrip("\ufeff").strip()
        if not text or text.split()[0] == "#":
            continue
        try:
            yield read(text, Place(file, number, 1 + line.index(text[0])))
        except RecordError as error:
            yield error


def check_board(columns: int, rows: int, place: Place) -> int:
    """Rows of a Hex board; raises `RecordError` if it is none."""
    if columns != rows:
        message = f"a {columns}x{rows} board: boards have as many rows as columns here"
        raise RecordError("board size", message, place)
    try:
        return check_size(rows)
    except UsageError as error:
        raise RecordError("board size", str(error), place) from error


def parse_point(name: str, size: int, place: Place) -> int:
    """The cell called `name`, such as `e5`; raises `RecordError`."""
    try:
        cell = parse_cell(name, size)
    except UsageError:
        cell = size * size
    if cell == size * size:
        raise RecordError(
            "illegal move", f"{name[:20]!a} is no cell of a {size}x{size} board", place
        )
    return cell


SWAP_PIECES, SWAP_SIDES, PASS, RESIGN, FORFEIT = range(-1, -6, -1)
"""Actions other than a cell."""

NAMES = {
    SWAP_PIECES: "swap-pieces",
    SWAP_SIDES: "swap-sides",
    PASS: "pass",
    RESIGN: "resign",
    FORFEIT: "forfeit",
}


_COLOURS = {BLACK: "Black", WHITE: "White"}


class RecordedMove(NamedTuple):
    """One move as written."""

    colour: int
    """BLACK or WHITE; for a resignation or a forfeit the loser."""
    action: int
    """A cell (row * size + column), or one of the actions below 0."""


@dataclass(frozen=True)
class RecordedGame:
    """One game as its file states it. Black connects top to bottom, whoever moves first."""

    size: int
    moves: tuple[RecordedMove, ...]
    """In order, as written: after swap-sides the same colour moves again."""
    setup: tuple[RecordedMove, ...] = ()
    """Stones on the board before the first move."""
    winner: int = 0
    """Winner that the file claims, 0 if it names none."""
    ending: Ending | None = None
    """Ending that the file claims, None if it names none."""
    black: str = ""
    """Name of the player who had the black stones at the start."""
    white: str = ""
    event: str = ""
    date: str = ""
    comment: str = ""
    opening: int = 0
    """Moves at the start that neither player chose, such as random ones."""
    place: Place = field(default_factory=Place)
    """Place of the game in its file; no part of the game."""


def as_record(game: RecordedGame, game_id: int = 0) -> GameRecord:
    """The game with Black first, every move legal, and a result that the board or a resignation
    shows.

    A game that White begins is mirrored (the same game with the colours exchanged). Swap-sides
    leaves no move, but the people change colours. Stones that are set up become an opening of as
    many moves. A winner that only the file claims is kept with `Ending.UNFINISHED`.

    Raises:
        RecordError: with the place of the game and one of the reasons `board size`, `illegal move`,
            `moves after the end`, `pass`, `setup`, `swap`, `order of colours`.
    """
    size = check_board(game.size, game.size, game.place)
    first = begins(game)
    people = (game.black, game.white) if first == BLACK else (game.white, game.black)
    cells: list[int] = []
    taken: set[int] = set()
    swapped = False
    resigned = 0
    ending = None
    for number, (colour, action) in enumerate(
        (*_setup_in_turns(game), *game.moves), 1 - len(game.setup)
    ):
        turn = -first if len(cells) % 2 else first
        if ending:
            message = f"move {number} comes after {_COLOURS[resigned]} has {ending}"
            raise _error(game, "moves after the end", message)
        if action in (RESIGN, FORFEIT):
            resigned, ending = colour, Ending.RESIGNED if action == RESIGN else Ending.FORFEITED
        elif action == PASS:
            raise _error(
                game, "pass", f"move {number} is a pass, which the rules of Hex do not know"
            )
        elif action in (SWAP_PIECES, SWAP_SIDES):
            if swapped or len(cells) != 1 or colour == first:
                raise _error(
                    game,
                    "swap",
                    f"move {number} swaps, which only the answer to the first stone may do",
                )
            swapped = True
            if action == SWAP_PIECES:
                taken = {mirror_cell(cells[0], size)}
                cells.append(size**2)
            else:
                people = (people[1], people[0])
        elif not 0 <= action < size**2:
            raise _error(
                game, "illegal move", f"move {number} is on no cell of a {size}x{size} board"
            )
        elif colour != turn:
            message = f"move {number} is {_COLOURS[colour]}'s, but it is {_COLOURS[turn]}'s turn"
            raise _error(game, "order of colours", message)
        elif action in taken:
            message = f"ply {len(cells) + 1}, {format_cell(action, size)}: the cell is taken"
            raise _error(game, "illegal move", message)
        else:
            taken.add(action)
            cells.append(action)
    moves = np.array([frame_action(cell, first, size) for cell in cells], np.int16)
    won_after = play_sequence(empty_stones(1, size), 0, moves, geometry(size))
    winner = game.winner
    if won_after:
        winner, ending = first if won_after % 2 else -first, Ending.CONNECTED
        if won_after <= len(game.setup):
            raise _error(game, "setup", "somebody has connected with the stones that are set up")
        if won_after < len(cells):
            message = f"{_COLOURS[winner]} has connected after {won_after} of {len(cells)} moves"
            raise _error(game, "moves after the end", message)
    elif resigned:
        winner = -resigned
    elif winner and game.ending in (Ending.RESIGNED, Ending.FORFEITED):
        ending = game.ending
    return GameRecord(
        game_id=game_id,
        size=size,
        swap=swapped,
        moves=moves,
        winner=winner * first,
        ending=ending or Ending.UNFINISHED,
        opening=len(game.setup) or min(game.opening, len(cells)),
        black=people[0],
        white=people[1],
        source=str(Place(game.place.file, game.place.line)),
    )


def begins(game: RecordedGame) -> int:
    """Colour of the first stone; if all set-up stones came in turns, of the first of these."""
    balance = sum(move.colour for move in game.setup)
    if balance:
        return BLACK if balance > 0 else WHITE
    first = game.moves[0] if game.moves else RecordedMove(BLACK, PASS)
    return first.colour if first.action >= 0 else BLACK


def _setup_in_turns(game: RecordedGame) -> list[RecordedMove]:
    black = [move for move in game.setup if move.colour == BLACK]
    white = [move for move in game.setup if move.colour == WHITE]
    first, second = (black, white) if begins(game) == BLACK else (white, black)
    if len(first) - len(second) not in (0, 1):
        stones = f"{len(black)} black and {len(white)} white stones"
        raise _error(game, "setup", f"{stones} are set up, which no moves in turn give")
    moves = list(game.setup)
    moves[::2] = first
    moves[1::2] = second
    return moves


def _error(game: RecordedGame, reason: str, message: str) -> RecordError:
    return RecordError(reason, message, game.place)


def told_by_moves(game: RecordedGame) -> tuple[RecordedMove, ...]:
    """The moves of `game`, and a last resignation or forfeit that only its result shows."""
    action = {Ending.RESIGNED: RESIGN, Ending.FORFEITED: FORFEIT}.get(
        game.ending or Ending.UNFINISHED
    )
    if (
        action is None
        or not game.winner
        or (game.moves and game.moves[-1].action in (RESIGN, FORFEIT))
    ):
        return game.moves
    return (*game.moves, RecordedMove(-game.winner, action))


def written_moves(game: RecordedGame, who: str) -> tuple[RecordedMove, ...]:
    """`told_by_moves` of a game for `who`, a format of moves alone.

    Raises:
        UsageError: the game is illegal, has stones set up, or has a winner that neither board nor
            moves show.
    """
    record = as_record(game)
    if game.setup:
        raise UsageError(f"{who} has no stones set up")
    if record.ending == Ending.UNFINISHED and record.winner:
        raise UsageError(f"{who} has no winner whom neither the board nor a resignation shows")
    return told_by_moves(game)


def next_turn(move: RecordedMove) -> int:
    """Colour to move after `move`; after swap-sides it is the same colour, now of the other person."""
    return move.colour if move.action == SWAP_SIDES else -move.colour


def read_swaps(moves: Sequence[RecordedMove]) -> list[RecordedMove]:
    """`moves` with the true kind of every swap, for a format with one word for both.

    Old programs wrote swap-pieces and meant swap-sides. If the swapper also puts the next stone, it
    was swap-sides: the first stone has stayed, and the colour that answers it moves. If no stone
    follows, the word is taken literally.
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
