"""Boards and games as text: positions, maps of openings, a game with its moves; in colours where
there are some.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text

from hexlit.hex.arrays import Int8Array
from hexlit.hex.board import GameBoard
from hexlit.hex.judging import judged_right, openings_right
from hexlit.hex.notation import format_cell
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.symmetry import stone_cells
from hexlit.reporting.page import StepGame
from hexlit.reporting.quantities import format_hundredths

BLACK_STYLE = "bold red"
WHITE_STYLE = "bold blue"
MARK_STYLE = "bold green"

SIDES = "X Black, top to bottom; O White, left to right"
"""Legend of `draw_board`: the stones, and the edges that each player connects."""

LAST = "(X) or (O) the last move"
"""Legend of the brackets around the `last` move."""

WIN_STYLE = "black on dark_sea_green2"
LOSS_STYLE = "black on light_pink1"
DOUBT_STYLE = "black on grey78"
WRONG_STYLE = "bold white on red3"
_CELL = 4  # characters per cell of a map; the shift from row to row is half of it

_STONES = {1: ("X", BLACK_STYLE), -1: ("O", WHITE_STYLE), 0: (".", "dim")}


def draw_board(
    cells: Int8Array, size: int, marks: Collection[int] = (), *, last: int | None = None
) -> Text:
    """The board, one row per line, each row half a cell further right than the one above; no
    newline at the end.

    Black's stones are `X` and Black's edges (the column letters) are red; White's are `O` and blue.
    `str()` of the result is plain ASCII, so it works in any text.

    Args:
        cells: int8 `[size*size]`, +1 black, -1 white, 0 empty, row 0 at the top.
        size: side of the board.
        marks: cells to point out: an empty one is drawn as `*`, a stone in reverse video.
        last: cell of the last move, shown in brackets.
    """
    letters = " ".join(chr(ord("a") + column) for column in range(size))
    board = Text(no_wrap=True)
    board.append(f"   {letters}\n", BLACK_STYLE)
    for row in range(size):
        board.append(f"{' ' * row}{row + 1:>2}", WHITE_STYLE)
        gaps = (
            dict(zip((last, last + 1), "()", strict=True))
            if last is not None and last // size == row
            else {}
        )
        for cell in range(row * size, (row + 1) * size):
            symbol, look = _STONES[int(cells[cell])]
            if cell in marks:
                symbol, look = ("*", MARK_STYLE) if symbol == "." else (symbol, f"{look} reverse")
            board.append(gaps.get(cell, " "), MARK_STYLE).append(symbol, look)
        board.append(gaps.get((row + 1) * size, " "), MARK_STYLE).append(
            f"{row + 1}\n", WHITE_STYLE
        )
    return board.append(f"{' ' * (size + 3)}{letters}", BLACK_STYLE)


def draw_openings(
    judged: Sequence[bool | float | None], truth: Sequence[bool] | None = None
) -> Text:
    """Draw the openings of an n×n board as a rhombus, one row per line, with a legend at the end.

    A cell shows the judgement from the opener's view: a searched value in [-1, 1] as `+99` to `-99`
    (hundredths), a bool as `W` (wins) or `L`, None or NaN as `?`. With `truth` a wrong cell has an
    exclamation mark and is red. The map is readable without colours too.

    Args:
        judged: `[n*n]`, index row * n + column; above 0 or True: the opener wins.
        truth: `[n*n]`, whether the opening at the cell wins with best play; None where it is not
            known.
    """
    size = math.isqrt(len(judged))
    board = Text(no_wrap=True)
    board.append(
        "    " + "".join(chr(ord("a") + column).center(_CELL) for column in range(size)) + "\n",
        "bold",
    )
    for row in range(size):
        board.append(" " * (row * _CELL // 2) + f"{row + 1:>3} ", "bold")
        for cell in range(row * size, (row + 1) * size):
            value = None if math.isnan(judged[cell] or 0) else judged[cell]
            wrong = truth is not None and value is not None and not judged_right(value, truth[cell])
            look = DOUBT_STYLE
            if wrong:
                look = WRONG_STYLE
            elif value is not None:
                look = WIN_STYLE if value > 0 else LOSS_STYLE
            board.append(f"{_judgement(value):>3}{'!' if wrong else ' '}", look)
        board.append("\n")
    board.append("    ").append(" wins ", WIN_STYLE).append(" loses ", LOSS_STYLE)
    if truth is not None:
        board.append(" wrong! ", WRONG_STYLE)
        board.append(f"  {openings_right(judged, truth)} of {size * size} as in perfect play")
    return board


def _judgement(value: bool | float | None) -> str:
    if value is None or isinstance(value, bool):
        return {None: "? ", True: "W", False: "L"}[value]
    return format_hundredths(max(-0.99, min(0.99, value)))


_MOVES_A_LINE = 8
_COLOURS = {1: "Black", -1: "White"}


@dataclass(frozen=True)
class ShownGame:
    """A game and the number of its moves to show."""

    record: GameRecord
    ply: int
    """Number of moves on the board."""
    facts: Mapping[str, str]
    """Further facts about the game, by name, such as its event."""

    @property
    def moves(self) -> tuple[int, ...]:
        """The moves up to the shown position."""
        return tuple(self.record.moves[: self.ply].tolist())

    @property
    def board(self) -> GameBoard:
        """The position after them."""
        return GameBoard(self.record.size, swap=True, moves=self.moves)

    @property
    def last(self) -> int | None:
        """Cell of the last placed or exchanged stone; None on the empty board."""
        return stone_cells(self.moves, self.record.size)[-1] if self.moves else None


def result_of(record: GameRecord) -> str:
    """How the game ended, in words."""
    colour = _COLOURS.get(record.winner)
    if record.ending == Ending.UNFINISHED:
        return f"unfinished; {colour} won by the record" if colour else "unfinished"
    how = {
        Ending.CONNECTED: "connects",
        Ending.RESIGNED: "wins by resignation",
        Ending.FORFEITED: "wins by forfeit",
    }
    return f"{colour} {how[record.ending]}"


def draw_game(shown: ShownGame) -> Text:
    """The game for a terminal; plain text carries the same information as the colours."""
    record = shown.record
    black, white = Text("X ", BLACK_STYLE), Text("O ", WHITE_STYLE)
    parts = [
        Text.assemble(
            black, record.black or "Black", (" – ", "dim"), white, record.white or "White"
        )
    ]
    parts += [Text.assemble((f"{name:<8}", "dim"), value) for name, value in shown.facts.items()]
    parts += [Text(), draw_board(shown.board.cells, record.size, last=shown.last)]
    parts += [Text(f"{SIDES}; {LAST}" if shown.ply else SIDES, "dim"), Text(), *_moves(shown)]
    if record.opening:
        parts.append(Text("[move]: part of the opening, chosen by no player", "dim"))
    of = (
        f" ({shown.ply} of {len(record.moves)} moves shown)"
        if shown.ply < len(record.moves)
        else ""
    )
    parts += [
        Text(),
        Text.assemble((f"{len(record.moves)} moves · {result_of(record)}", "bold"), of),
    ]
    return Text("\n").join(parts)


def _moves(shown: ShownGame) -> list[Text]:
    """Lines of numbered moves; moves chosen by no player in brackets, moves after the position
    dim.
    """
    lines = []
    for ply, name in enumerate(move_names(shown.record)):
        name = f"[{name}]" if ply < shown.record.opening else name
        style = BLACK_STYLE if ply % 2 == 0 else WHITE_STYLE
        if ply >= shown.ply:
            style = "dim"
        if ply % _MOVES_A_LINE == 0:
            lines.append(Text())
        lines[-1].append(f"{ply + 1:>3} ", "dim").append(name.ljust(6), style)
    return lines


def move_names(record: GameRecord) -> list[str]:
    """The moves in notation."""
    return [
        "swap" if move == record.size**2 else format_cell(move, record.size)
        for move in record.moves.tolist()
    ]


def step_game(record: GameRecord, title: str) -> StepGame:
    """The game of `record` under `title`, with its searches' values where it has them."""
    moves = record.moves.tolist()
    notes = {}
    for ply in range(1, len(moves) + 1):
        if ply <= record.opening:
            notes[ply] = "drawn at random"
        elif ply <= len(record.values) and record.simulations[ply - 1] > 0:
            value = float(record.values[ply - 1])
            simulations = int(record.simulations[ply - 1])
            notes[ply] = f"value {value:+.2f} for the player to move, {simulations} simulations"
    cells = stone_cells(moves, record.size)
    swapped = record.swap and moves[1:2] == [record.size**2]
    return StepGame(title, cells, move_names(record), swapped, result_of(record), notes)
