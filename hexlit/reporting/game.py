"""One game as text: the players, the board with the last move marked, the moves, the result."""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.text import Text

from hexlit.hex.board import Board
from hexlit.hex.notation import format_cell
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.symmetry import stone_cells
from hexlit.reporting.board import BLACK_STYLE, LAST, SIDES, WHITE_STYLE, draw_board
from hexlit.reporting.page import StepGame

_MOVES_A_LINE = 8
_COLOURS = {1: "Black", -1: "White"}
_STYLES = {1: BLACK_STYLE, -1: WHITE_STYLE}


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
    def board(self) -> Board:
        """The position after them."""
        return Board(self.record.size, swap=True, moves=self.moves)

    @property
    def last(self) -> int | None:
        """Cell of the last placed or exchanged stone; None on the empty board."""
        return stone_cells(self.moves, self.record.size)[-1] if self.moves else None


def result_of(record: GameRecord) -> str:
    """How the game ended, in words."""
    if record.ending == Ending.UNFINISHED:
        claim = f"; {_COLOURS[record.winner]} is said to have won" if record.winner else ""
        return f"unfinished{claim}"
    how = {Ending.CONNECTED: "connects", Ending.RESIGNED: "wins by resignation", Ending.FORFEITED: "wins by forfeit"}
    return f"{_COLOURS[record.winner]} {how[record.ending]}"


def draw_game(shown: ShownGame) -> Text:
    """The game for a terminal; plain text carries the same information as the colours."""
    record = shown.record
    names = Text.assemble(
        ("X ", BLACK_STYLE), record.black or "Black", (" – ", "dim"), ("O ", WHITE_STYLE), record.white or "White"
    )
    parts = [names, *(Text.assemble((f"{name:<8}", "dim"), value) for name, value in shown.facts.items())]
    parts += [Text(), draw_board(shown.board.cells, record.size, last=shown.last)]
    parts += [Text(f"{SIDES}; {LAST}" if shown.ply else SIDES, "dim"), Text()]
    parts += _moves(shown)
    if record.opening:
        parts.append(Text("[move]: part of the opening, chosen by no player", "dim"))
    of = f" ({shown.ply} of {len(record.moves)} moves shown)" if shown.ply < len(record.moves) else ""
    parts += [Text(), Text.assemble((f"{len(record.moves)} moves · {result_of(record)}", "bold"), of)]
    return Text("\n").join(parts)


def _moves(shown: ShownGame) -> list[Text]:
    """Lines of numbered moves; moves chosen by no player in brackets, moves after the position dim."""
    record = shown.record
    words = []
    for ply, action in enumerate(record.moves.tolist()):
        name = "swap" if action == record.size**2 else format_cell(action, record.size)
        name = f"[{name}]" if ply < record.opening else name
        style = "dim" if ply >= shown.ply else _STYLES[1 if ply % 2 == 0 else -1]
        words.append(Text.assemble((f"{ply + 1:>3} ", "dim"), (name, style), " " * max(0, 6 - len(name))))
    lines = [words[start : start + _MOVES_A_LINE] for start in range(0, len(words), _MOVES_A_LINE)]
    joined = [Text().join(line) for line in lines]
    for line in joined:
        line.rstrip()
    return joined


def step_game(record: GameRecord, title: str) -> StepGame:
    """The game of `record` under `title`, with its searches' values where it has them."""
    size = record.size
    names = ["swap" if move == size**2 else format_cell(move, size) for move in record.moves.tolist()]
    notes = {}
    for ply in range(1, len(names) + 1):
        if ply <= record.opening:
            notes[ply] = "drawn at random"
        elif ply <= len(record.values) and record.simulations[ply - 1] > 0:
            value, simulations = float(record.values[ply - 1]), int(record.simulations[ply - 1])
            notes[ply] = f"value {value:+.2f} for the player to move, {simulations} simulations"
    return StepGame(
        title=title,
        cells=stone_cells(record.moves.tolist(), size),
        names=names,
        swapped=record.swap and size**2 in record.moves[1:2],
        result=result_of(record),
        notes=notes,
    )
