"""A game as people and programs wrote it, and the one way from it to a `GameRecord`.

Formats differ in the first player, in the kind of swap, and in the result they state. A `RecordedGame` keeps all that a
file says, so that writing it again loses nothing. `as_record` brings it to the project's frame and believes nothing
that the board contradicts.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from hexlit.errors import UsageError
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
        reason: a few words for the kind of error, such as `illegal move`; an importer counts games by them.
        said: one sentence about this game.
        place: where it stands.
    """

    def __init__(self, reason: str, said: str, place: Place | None = None) -> None:
        """One line: the place, then what is wrong there."""
        said = said if said.isprintable() else "".join(sign if sign.isprintable() else " " for sign in said)
        self.reason = reason
        self.said = said
        self.place = place or Place()
        where = str(self.place)
        super().__init__(f"{where}: {said}" if where else said)

    def at(self, place: Place) -> "RecordError":
        """The same error at `place`."""
        return RecordError(self.reason, self.said, place)


def read_lines(
    lines: Iterable[str], file: str, read: Callable[[str, Place], "RecordedGame"]
) -> Iterator["RecordedGame | RecordError"]:
    """The games of a file with one a line, or the error of a line; empty lines and comments (`# `) are skipped.

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
        raise RecordError("illegal move", f"{name[:20]!a} is no cell of a {size}x{size} board", place)
    return cell


SWAP_PIECES, SWAP_SIDES, PASS, RESIGN, FORFEIT = range(-1, -6, -1)
"""Actions other than a cell."""

NAMES = {SWAP_PIECES: "swap-pieces", SWAP_SIDES: "swap-sides", PASS: "pass", RESIGN: "resign", FORFEIT: "forfeit"}


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
    """The game with Black first, every move legal, and a result that the board or a resignation shows.

    A game that White begins is mirrored (the same game with the colours exchanged). Swap-sides leaves no move, but the
    people change colours. Stones that are set up become an opening of as many moves. A winner that only the file claims
    is kept with `Ending.UNFINISHED`.

    Raises:
        RecordError: with the place of the game and one of the reasons `board size`, `illegal move`,
            `moves after the end`, `pass`, `setup`, `swap`, `order of colours`.
    """
    check_board(game.size, game.size, game.place)
    _check_actions(game)
    turned = begins(game) == WHITE
    if turned:
        game = mirrored(game)
    cells = [move.action for move in _setup_as_moves(game)]
    opening = len(cells) or game.opening
    people = (game.black, game.white)
    swapped = False
    resigned = 0
    ending = None
    for number, move in enumerate(game.moves):
        if resigned:
            before = NAMES[game.moves[number - 1].action]
            raise _error(game, "moves after the end", f"move {number + 1} comes after {before}")
        if move.action in (RESIGN, FORFEIT):
            resigned = move.colour
            ending = Ending.RESIGNED if move.action == RESIGN else Ending.FORFEITED
        elif move.action == PASS:
            raise _error(game, "pass", f"move {number + 1} is a pass, which the rules of Hex do not know")
        elif move.action in (SWAP_PIECES, SWAP_SIDES):
            if swapped or len(cells) != 1 or move.colour != WHITE:
                raise _error(game, "swap", f"move {number + 1} swaps, which only the answer to the first stone may do")
            swapped = True
            if move.action == SWAP_PIECES:
                cells.append(game.size**2)
            else:
                people = (people[1], people[0])
        else:
            colour = BLACK if len(cells) % 2 == 0 else WHITE
            if move.colour != colour:
                mover, wanted = _name(move.colour, turned), _name(colour, turned)
                message = f"move {number + 1} is {mover}'s, but it is {wanted}'s turn"
                raise _error(game, "order of colours", message)
            cells.append(move.action)
    _check_cells(game, cells, turned)
    moves = np.array(cells, np.int16)
    won_after = play_sequence(empty_stones(1, game.size), 0, moves, geometry(game.size))
    if won_after and won_after <= len(game.setup):
        raise _error(game, "setup", "somebody has connected with the stones that are set up")
    if won_after and won_after < len(cells):
        who = _name(BLACK if won_after % 2 else WHITE, turned)
        message = f"{who} has connected after {won_after} of {len(cells)} moves"
        raise _error(game, "moves after the end", message)
    if won_after:
        winner, ending = (BLACK if won_after % 2 else WHITE), Ending.CONNECTED
    elif resigned:
        winner = -resigned
    else:
        winner = game.winner
        ending = game.ending if winner and game.ending in (Ending.RESIGNED, Ending.FORFEITED) else Ending.UNFINISHED
    return GameRecord(
        game_id=game_id,
        size=game.size,
        swap=swapped,
        moves=moves,
        winner=winner,
        ending=ending or Ending.UNFINISHED,
        opening=min(opening, len(cells)),
        black=people[0],
        white=people[1],
        source=str(Place(game.place.file, game.place.line)),
    )


def mirrored(game: RecordedGame) -> RecordedGame:
    """The same game with rows and columns and the colours exchanged."""

    def turned(moves: tuple[RecordedMove, ...]) -> tuple[RecordedMove, ...]:
        return tuple(RecordedMove(-c, a if a < 0 else frame_action(a, WHITE, game.size)) for c, a in moves)

    return replace(
        game,
        moves=turned(game.moves),
        setup=turned(game.setup),
        winner=-game.winner,
        black=game.white,
        white=game.black,
    )


def begins(game: RecordedGame) -> int:
    """Colour of the first stone; if all set-up stones came in turns, of the first of these."""
    balance = sum(move.colour for move in game.setup)
    if balance:
        return BLACK if balance > 0 else WHITE
    first = game.moves[0] if game.moves else RecordedMove(BLACK, PASS)
    return first.colour if first.action >= 0 else BLACK


def _setup_as_moves(game: RecordedGame) -> list[RecordedMove]:
    black = [move for move in game.setup if move.colour == BLACK]
    white = [move for move in game.setup if move.colour == WHITE]
    if len(black) - len(white) not in (0, 1):
        message = f"{len(black)} black and {len(white)} white stones are set up, which no moves in turn give"
        raise _error(game, "setup", message)
    return [(black, white)[number % 2][number // 2] for number in range(len(game.setup))]


def _check_actions(game: RecordedGame) -> None:
    """Every move is a cell of the board or another action; every stone set up has a cell."""
    for moves, least, reason in ((game.moves, FORFEIT, "illegal move"), (game.setup, 0, "setup")):
        for number, move in enumerate(moves, 1):
            if not least <= move.action < game.size**2:
                message = f"stone {number} is on no cell of a {game.size}x{game.size} board"
                raise _error(game, reason, message)


def _check_cells(game: RecordedGame, cells: list[int], turned: bool) -> None:
    """Every cell is free; a swap moves the first stone to its mirror image."""
    taken: set[int] = set()
    for ply, cell in enumerate(cells):
        if cell == game.size**2:
            taken = {mirror_cell(cells[0], game.size)}
            continue
        if cell in taken:
            name = format_cell(mirror_cell(cell, game.size) if turned else cell, game.size)
            raise _error(game, "illegal move", f"ply {ply + 1}, {name}: the cell is taken")
        taken.add(cell)


def _name(colour: int, turned: bool) -> str:
    """Name of `colour` in the file; `turned` if the game has been mirrored."""
    return "Black" if (colour == BLACK) != turned else "White"


def _error(game: RecordedGame, reason: str, said: str) -> RecordError:
    return RecordError(reason, said, game.place)


def told_by_moves(game: RecordedGame) -> tuple[RecordedMove, ...]:
    """The moves of `game`, and a last resignation or forfeit that only its result tells."""
    action = {Ending.RESIGNED: RESIGN, Ending.FORFEITED: FORFEIT}.get(game.ending or Ending.UNFINISHED)
    if action is None or not game.winner or (game.moves and game.moves[-1].action in (RESIGN, FORFEIT)):
        return game.moves
    return (*game.moves, RecordedMove(-game.winner, action))


def check_told(game: RecordedGame, who: str) -> None:
    """Raise `RecordError` if `who`, a format of moves alone, cannot express `game`.

    That is a game with stones set up, with a winner that neither board nor moves show, or an illegal one.
    """
    record = legal(game)
    if game.setup:
        raise RecordError("cannot be written", f"{who} has no stones set up", game.place)
    if record.ending == Ending.UNFINISHED and record.winner:
        message = f"{who} has no winner whom neither the board nor a resignation shows"
        raise RecordError("cannot be written", message, game.place)


def legal(game: RecordedGame) -> GameRecord:
    """`as_record` of a game to be written."""
    try:
        return as_record(game)
    except RecordError as error:
        raise RecordError("cannot be written", f"no legal game: {error.said}", game.place) from error


def check_writable(game: RecordedGame) -> None:
    """Raise `RecordError` if `game` is on no board of Hex."""
    try:
        check_board(game.size, game.size, game.place)
    except RecordError as error:
        raise RecordError("cannot be written", error.said, game.place) from error


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
