"""`hexlit solve`: the exact winner of a position and every winning move, the map of all openings,
or a proof.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console
from rich.text import Text

from hexlit.commands.application import command
from hexlit.errors import UsageError
from hexlit.settings import Settings, number

if TYPE_CHECKING:  # both compile kernels: imported only for a real position
    from hexlit.arena.position import Position
    from hexlit.hex.board import GameBoard
    from hexlit.hex.solver import ExactSolver, Policy, Solution

T = TypeVar("T")

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
    openings: bool = False
    """Whether to solve every first move of Black on the empty board."""
    output: str | None = None
    """Folder of `openings=true` for the map and the proofs so far, saved every minute. What it
    holds is not solved again.
    """
    threads: int | None = number(None, "[1, 1024]")
    """Threads that search together. Null: one for each core."""
    memory: float | None = number(None, "[0.001, 1e6]", unit="GiB")
    """Memory for the table of proofs. Null: 0.25; openings and certificates of 8 rows take half of
    the free, to 8.
    """
    checkpoint: str | None = None
    """Network that orders the moves of costly positions: a checkpoint, the folder of a run, or such
    as `hexlit:large`. It changes no answer. Null: a small learned function alone orders them.
    """
    certificate: str | None = None
    """File for the winner's strategy, which a checker can follow without the solver. Only the
    winner is searched.
    """
    json: bool = False
    """Whether to print one JSON object instead of text."""

    def __post_init__(self) -> None:
        """Refuse moves from two places."""
        super().__post_init__()
        if self.file is not None and self.moves:
            raise UsageError(
                f"file={self.file} moves={self.moves}: the file has the moves; give one of the two"
            )
        if self.move is not None and self.file is None:
            raise UsageError(
                f"move={self.move}: a number of the file's moves, next to file=GAME.sgf"
            )
        if self.openings and (self.moves or self.file or self.certificate):
            raise UsageError(
                "openings=true: the empty board, without moves=, file= and certificate="
            )
        if self.output and not self.openings:
            raise UsageError(f"output={self.output}: the folder of openings=true")


def solve(settings: SolveConfig) -> None:
    """Solve the position and print the result."""
    from hexlit.hex.board import GameBoard

    if settings.openings:
        solve_openings(settings)
        return
    file = settings.file
    moves = settings.moves
    position = (
        position_of_file(file, settings.move) if file else GameBoard(settings.board, moves=moves)
    )
    if position.winner:
        raise UsageError(f"the game is over, {_NAMES[position.winner]} has won: name fewer moves")
    if settings.certificate:
        certify(position, settings, Path(settings.certificate).expanduser())
        return
    solver = new_solver(position.size, settings)

    def state() -> tuple[str, float]:
        settled, moves = solver.progress
        return f"solving · {settled} of {moves} moves · {solver.nodes:,} nodes", settled / (
            moves or 1
        )

    solution = with_progress(lambda: solver.solve(position.cells, position.to_move), state)
    if settings.json:
        print(json.dumps(as_json(position, solution)))
    else:
        Console(highlight=False, soft_wrap=True).print(as_text(position, solution))


def position_of_file(file: str, move: int | None) -> "Position":
    """The position of the first game in the SGF `file`, after its first `move` moves or all.

    Raises:
        UsageError: no such game, an illegal move, or a board that is too large.
    """
    from hexlit.arena.position import moves_of, read_first_game, replay

    try:
        game = read_first_game(Path(file).expanduser())
        position, played = replay(game, move), moves_of(game)
    except UsageError as error:
        raise UsageError(f"file={file}: {error}") from error
    if move is not None and move > played:
        raise UsageError(f"move={move}: the game of {file} has {played} moves")
    if position.size > LARGEST_BOARD:
        raise UsageError(
            f"file={file}: a board of {position.size}; positions are solved up to {LARGEST_BOARD}"
        )
    return position


def certify(position: "GameBoard | Position", settings: SolveConfig, path: Path) -> None:
    """Prove who wins, and write the certificate."""
    from hexlit.hex.solver.certificate import Certificate

    solver = new_solver(position.size, settings)
    proof = Certificate(solver, position.cells, position.to_move)
    path.parent.mkdir(parents=True, exist_ok=True)
    with_progress(
        proof.prove,
        lambda: (f"proving · {solver.nodes:,} nodes · {len(proof.claims.all):,} claims", 0.0),
    )
    answer = {"winner": _NAMES[proof.winner], "first": proof.first, "claims": proof.write(path)}
    print(
        json.dumps(answer)
        if settings.json
        else "{winner} wins: {claims:,} claims in {0}".format(path, **answer)
    )


def new_solver(size: int, settings: SolveConfig) -> "ExactSolver":
    """A solver with the threads and the memory of the settings.

    Raises:
        UsageError: so much memory is not free, or the checkpoint cannot be read.
    """
    from hexlit.accelerate.host import free_host_bytes, usable_cores
    from hexlit.hex.solver import ExactSolver, Ingredients
    from hexlit.hex.solver.table import ROW_BYTES

    free = free_host_bytes() / 2**30
    memory = settings.memory
    if memory is not None and memory > free:
        raise UsageError(f"memory={memory:g}: {free:.1f} GiB are free")
    if memory is None and (settings.openings or settings.certificate) and size == LARGEST_BOARD:
        memory = min(8.0, free / 2)
    rows = None if memory is None else int(memory * 2**30 / ROW_BYTES)
    solver = ExactSolver(
        size, rows, settings.threads or usable_cores(), Ingredients(stones=not settings.certificate)
    )
    if settings.checkpoint is not None:
        solver.policy = network_policy(settings.checkpoint, size)
    return solver


def network_policy(checkpoint: str, size: int) -> "Policy":
    """The policy of the network of `checkpoint`.

    Raises:
        UsageError: the checkpoint cannot be read.
    """
    import numpy as np

    from hexlit.accelerate.config import AcceleratorConfig
    from hexlit.commands.player_factory import networks_by_board
    from hexlit.hex.encoding import encode
    from hexlit.nets.evaluator import answers

    networks = networks_by_board(checkpoint, size, AcceleratorConfig())
    knows_swap = networks.knows_swap(size)
    evaluator = networks.make_evaluator(size, knows_swap, 1)
    mover = np.ones(1, np.int8)
    actions = size**2 + knows_swap
    return lambda cells: answers(evaluator.evaluate, encode(cells[None], mover), 1, actions)[0][
        0, : size**2
    ]


def solve_openings(settings: SolveConfig) -> None:
    """Solve every first move of Black, and print the map."""
    from hexlit.commands.kernels import compile_solver
    from hexlit.hex.notation import format_cell
    from hexlit.hex.solver.first_moves import FirstMoves
    from hexlit.reporting.board import draw_openings
    from hexlit.reporting.screen import work_bar

    folder = Path(settings.output).expanduser() if settings.output else None
    first = FirstMoves(new_solver(settings.board, settings), folder)
    with work_bar("solving") as advance:
        compile_solver()  # not counted as effort
        for cell in first.solve():
            known = int(abs(first.values).sum())
            rate = first.nodes / max(first.seconds, 1e-9)
            what = f"{format_cell(cell, settings.board)} · {known} of {first.values.size} · {first.rows}"
            advance(f"{what} · {first.nodes:,} nodes · {rate:,.0f}/s", known / first.values.size)
    if settings.json:
        print(json.dumps(first.as_json()))
        return
    effort = (
        f"Black's first move\n{first.rows}\neffort  {first.nodes:,} nodes, {first.seconds:.1f} s"
    )
    board = draw_openings((first.values > 0).tolist(), None)
    Console(highlight=False, soft_wrap=True).print(Text("\n").join([board, Text(effort)]))


def with_progress(work: Callable[[], T], state: Callable[[], tuple[str, float]]) -> T:
    """Do `work` while a terminal shows its `state`: what is being done, and the share that is
    done.
    """
    from multiprocessing.pool import ThreadPool

    from hexlit.commands.kernels import compile_solver
    from hexlit.reporting.screen import work_bar

    def compiled() -> T:
        compile_solver()  # not counted as effort
        return work()

    # In another thread, since compiled code does not react to Ctrl-C.
    with ThreadPool(1) as pool, work_bar("solving") as advance:
        answer = pool.apply_async(compiled)
        while not answer.ready():
            answer.wait(0.1)
            advance(*state())
        return answer.get()


def as_json(board: "GameBoard | Position", solution: "Solution") -> dict[str, object]:
    """The answer as plain values: colours are `black` and `white`, moves are names of cells.

    The moves so far stand for the position if they are known, else the stones of each colour.
    """
    import numpy as np

    from hexlit.hex.board import GameBoard
    from hexlit.hex.notation import format_moves

    cells = {name: np.flatnonzero(board.cells == colour) for colour, name in _NAMES.items()}
    shown = {"moves": board.moves} if isinstance(board, GameBoard) else cells
    return {
        "board": board.size,
        **{name: format_moves(moves, board.size).split() for name, moves in shown.items()},
        "to_move": _NAMES[board.to_move],
        "winner": _NAMES[int(solution.winner)],
        "winning_moves": format_moves(solution.winning_moves, board.size).split(),
        "nodes": solution.nodes,
        "seconds": round(solution.seconds, 6),
    }


def as_text(board: "GameBoard | Position", solution: "Solution") -> Text:
    """The answer for a person: the board with its winning moves marked, then the result in
    words.
    """
    from hexlit.hex.notation import format_moves
    from hexlit.reporting.board import SIDES, draw_board

    mover = _NAMES[board.to_move].capitalize()
    winner = _NAMES[int(solution.winner)].capitalize()
    moves = format_moves(solution.winning_moves, board.size) or f"none, every move of {mover} loses"
    lines = [
        f"{SIDES}; * winning move\n",
        f"to move        {mover}",
        f"winner         {winner}, with best play",
        f"winning moves  {moves}",
        f"effort         {solution.nodes:,} nodes, {solution.seconds:.3f} s",
    ]
    return Text("\n").join(
        [draw_board(board.cells, board.size, marks=solution.winning_moves), *map(Text, lines)]
    )


main = command("solve", SolveConfig, solve)
