"""`hexlit solve`: the exact winner of a position with best play, and every winning move of the side to move."""

import json
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig
from rich.console import Console
from rich.text import Text

from hexlit.commands.application import register_schema, run, typed
from hexlit.errors import UsageError
from hexlit.settings import Settings, number

if TYPE_CHECKING:  # both compile kernels: imported only for a real position
    from hexlit.arena.position import Position
    from hexlit.hex.board import Board
    from hexlit.hex.solver import Solution

LARGEST_BOARD = 8

_NAMES = {1: "black", -1: "white"}


@dataclass
class SolveConfig(Settings):
    """Settings of `hexlit solve`."""

    board: int = number(5, f"[2, {LARGEST_BOARD}]")
    """Rows of the board."""
    moves: str = ""
    """Moves so far, Black first, such as `a3 c4`."""
    file: str | None = None
    """SGF file; its first game gives board and moves instead."""
    move: int | None = number(None, "[0, inf)")
    """Number of the file's moves to play, 0 or more. Null: all."""
    json: bool = False
    """Whether to print one JSON object instead of text."""

    def __post_init__(self) -> None:
        """Refuse moves from two places."""
        super().__post_init__()
        if self.file is not None and self.moves:
            raise UsageError(f"file={self.file} moves={self.moves}: the file has the moves; give one of the two")
        if self.move is not None and self.file is None:
            raise UsageError(f"move={self.move}: a number of the file's moves, beside file=GAME.sgf")


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides; returns the exit code."""
    return run(solve, "solve", argv)


def solve(config: DictConfig) -> None:
    """Solve the position and print the result."""
    settings = typed(config, SolveConfig)
    position = position_of_file(settings.file, settings.move) if settings.file else position_of_moves(settings)
    solution = solved_with_progress(position)
    if settings.json:
        print(json.dumps(as_json(position, solution)))
    else:
        Console(highlight=False, soft_wrap=True).print(as_text(position, solution))


def position_of_moves(settings: SolveConfig) -> "Board":
    """The position after `moves`; raises `UsageError` if one is illegal or the game is over."""
    from hexlit.hex.board import Board

    board = Board(settings.board, moves=settings.moves)
    if board.winner:
        raise UsageError(f"moves={settings.moves}: the game is over, {_NAMES[board.winner]} has won")
    return board


def position_of_file(file: str, move: int | None) -> "Position":
    """The position of the first game in the SGF `file`, after its first `move` moves or all.

    Raises:
        UsageError: no such game, an illegal move, a board that is too large, or a game that is over.
    """
    from hexlit.arena.position import moves_of, read_first_game, replay

    try:
        game = read_first_game(Path(file).expanduser())
        position = replay(game, move)
        played = moves_of(game)
    except UsageError as error:
        raise UsageError(f"file={file}: {error}") from error
    if move is not None and move > played:
        raise UsageError(f"move={move}: the game of {file} has {played} moves")
    if position.size > LARGEST_BOARD:
        raise UsageError(f"file={file}: a board of {position.size}; positions are solved up to {LARGEST_BOARD}")
    if position.winner:
        raise UsageError(f"file={file}: the game is over, {_NAMES[position.winner]} has won; move=N stops earlier")
    return position


def solved_with_progress(board: "Board | Position") -> "Solution":
    """Solve the position; a terminal shows the number of settled moves, and the estimated time left."""
    from concurrent.futures import Future, wait

    import numpy as np

    from hexlit.hex.solver import Solver
    from hexlit.reporting.screen import work_bar

    solver = Solver(board.size)
    answer: Future[Solution] = Future()

    def solve_it() -> None:
        try:
            Solver(2).wins(np.zeros(4, np.int8), 1)  # compiles, or loads compiled code; not counted as effort
            answer.set_result(solver.solve(board.cells, board.to_move))
        except Exception as error:
            answer.set_exception(error)

    # In a thread of its own, since compiled code does not react to Ctrl-C.
    threading.Thread(target=solve_it, daemon=True).start()
    with work_bar("solving") as advance:
        while not answer.done():
            wait([answer], 0.1)
            settled, moves = solver.progress
            advance(f"solving · {settled} of {moves} moves · {solver.nodes:,} nodes", settled / (moves or 1))
    return answer.result()


def as_json(board: "Board | Position", solution: "Solution") -> dict[str, object]:
    """The answer as plain values: colours are `black` and `white`, moves are names of cells."""
    from hexlit.hex.notation import format_cell

    return {
        "board": board.size,
        **_stones(board),
        "to_move": _NAMES[board.to_move],
        "winner": _NAMES[int(solution.winner)],
        "winning_moves": [format_cell(int(move), board.size) for move in solution.winning_moves],
        "nodes": int(solution.nodes),
        "seconds": round(float(solution.seconds), 6),
    }


def _stones(board: "Board | Position") -> dict[str, object]:
    """The moves if they are known, else the stones of each colour."""
    from hexlit.hex.board import Board
    from hexlit.hex.notation import format_cell

    if isinstance(board, Board):
        return {"moves": [format_cell(move, board.size) for move in board.moves]}
    cells = list(enumerate(board.cells.tolist()))
    return {name: [format_cell(cell, board.size) for cell, held in cells if held == c] for c, name in _NAMES.items()}


def as_text(board: "Board | Position", solution: "Solution") -> Text:
    """The answer for a person: the board with its winning moves marked, then the result in words."""
    from hexlit.hex.notation import format_moves
    from hexlit.reporting.board import SIDES, draw_board

    mover, winner = _NAMES[board.to_move].capitalize(), _NAMES[int(solution.winner)].capitalize()
    winning = [int(move) for move in solution.winning_moves]
    moves = format_moves(winning, board.size) if winning else f"none, every move of {mover} loses"
    return Text("\n").join(
        [
            draw_board(board.cells, board.size, marks=winning),
            Text(f"{SIDES}; * winning move\n"),
            Text(f"to move        {mover}"),
            Text(f"winner         {winner}, with best play"),
            Text(f"winning moves  {moves}"),
            Text(f"effort         {int(solution.nodes):,} nodes, {float(solution.seconds):.3f} s"),
        ]
    )


register_schema("solve", SolveConfig)
