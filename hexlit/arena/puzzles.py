"""Puzzles: positions with exactly one winning move, which a network's policy misses, graded by its
search.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

import numpy as np

from hexlit.arena.players import Network
from hexlit.arena.positions import GameSource, limits_of, play_games, symmetric_key
from hexlit.errors import UsageError
from hexlit.hex.arrays import Int8Array
from hexlit.hex.notation import format_cell
from hexlit.hex.records.game import RecordedGame, RecordedMove
from hexlit.hex.records.sgf import write_sgf
from hexlit.hex.solver import ExactSolver, UnsolvedError
from hexlit.search.config import SearchConfig

GRADES = tuple(2**step for step in range(11))
"""Numbers of simulations that a puzzle may have as its grade."""

_GAMES, _ROUNDS = (
    256,
    8,
)  # in a round; and in all, with one more for each puzzle: small boards run out of positions
_BATCH = 64  # positions in a call of the network
_DRAWN = 0.7  # share of the work
_TEMPERATURE = 1.5  # of the games; likelier moves hardly err


@dataclass
class Puzzle:
    """A position and its only winning move."""

    cells: Int8Array
    """Stones, int8 `[size*size]`, with as many moves of each player as in a game."""
    to_move: int
    """+1 Black, -1 White."""
    solution: int
    """The only cell that wins."""
    likeliest: int
    """The policy's likeliest move, which loses."""
    refutation: int
    """An answer that wins against it."""
    grade: int | None = None
    """The least of `GRADES` with which the search plays the solution, and plays it again with twice
    as many.

    Each search starts anew and has no noise. None: there is none.
    """

    def sgf(self, number: int) -> str:
        """The position as stones that are set up, with the grade as its comment.

        The likeliest move with its refutation is a variation, marked as bad (BM); the solution is
        the other one, marked as good (TE).
        """
        setup = tuple(
            RecordedMove(int(self.cells[cell]), int(cell)) for cell in np.flatnonzero(self.cells)
        )
        comment = f"Grade: {self.grade or f'above {GRADES[-1]}'}"
        size = round(len(self.cells) ** 0.5)
        root = write_sgf(RecordedGame(size, (), setup, comment=comment), f"Puzzle {number}")
        mover, other = ("B", "W") if self.to_move > 0 else ("W", "B")
        wrong, reply, right = (
            format_cell(cell, size) for cell in (self.likeliest, self.refutation, self.solution)
        )
        lines = f"(;{mover}[{wrong}]BM[1];{other}[{reply}])(;{mover}[{right}]TE[1])"
        return f"{root.rstrip().removesuffix(')')}PL[{mover}]{lines})\n"


def make_puzzles(
    network: Network, count: int, seed: int, advance: Callable[[str, float], None]
) -> list[Puzzle]:
    """Up to `count` puzzles of `network`, those of the lowest grades first.

    They come from games of the policy against itself, drawn by its shares after two random moves,
    at most one from a game, the first. No two are equal by a symmetry of the game. Each is proved
    again by a solver without the proofs of the others.

    Args:
        network: on a board with solved positions.
        count: as above; there are fewer where the games run out of new ones.
        seed: at least 0; it decides everything on one machine.
        advance: called with the present activity, and the share of the work that is done, in [0,
            1].

    Raises:
        UsageError: the board has no solved positions, or the games no puzzle.
    """
    puzzles: list[Puzzle] = []
    for puzzle in islice(_drawn(network, seed, _ROUNDS + count), count):
        # A solver without the proofs of the others.
        if ExactSolver(network.size).solve(puzzle.cells, puzzle.to_move).winning_moves != (
            puzzle.solution,
        ):
            raise AssertionError(f"{puzzle}: another solver does not find this solution alone")
        puzzles.append(puzzle)
        advance("drawing positions", _DRAWN * len(puzzles) / count)
    if not puzzles:
        raise UsageError(
            f"board={network.size}: no puzzle in {_GAMES * (_ROUNDS + count):,} games; try another seed"
        )
    _grade(network, puzzles, advance)
    return sorted(puzzles, key=lambda one: one.grade or 2 * GRADES[-1])


def _drawn(network: Network, seed: int, rounds: int) -> Iterator[Puzzle]:
    """Puzzles without grades, at most one from each game of `rounds`."""
    size = network.size
    limits = limits_of(network.size)
    seen = set[bytes]()
    solver = ExactSolver(size)
    policy = network.player(None, _BATCH)
    drawn = network.player(None, _BATCH, temperature=_TEMPERATURE, seed=seed)
    source = GameSource("policy", simulations=0, playouts=0, error=0.0, judge=drawn.judge)
    for number in range(rounds):
        for moves in play_games(source, size, _GAMES, np.random.default_rng([seed, size, number])):
            to_move = np.resize(np.array([1, -1], np.int8), len(moves))
            stones = np.where(np.arange(size**2) == moves[:, None], to_move[:, None], np.int8(0))
            cells = stones.cumsum(0, np.int8) - stones  # before each move
            positions = zip(
                cells, to_move.tolist(), policy.choose(cells, to_move).tolist(), strict=True
            )
            for board, colour, move in islice(positions, limits.fewest_stones, None):
                key = symmetric_key(board, colour)
                if key in seen:
                    continue
                seen.add(key)
                after = np.where(np.arange(size**2) == move, np.int8(colour), board)
                with suppress(UnsolvedError):
                    # A mistake is so rare that no more is solved for all others.
                    if not solver.wins(after, -colour, limits.nodes):
                        continue
                    wins = solver.solve(board, colour, limits.nodes).winning_moves
                    if len(wins) == 1:
                        answers = solver.solve(after, -colour, limits.nodes).winning_moves
                        yield Puzzle(board, colour, wins[0], move, answers[0])
                        break


def _grade(
    network: Network, puzzles: Sequence[Puzzle], advance: Callable[[str, float], None]
) -> None:
    """Give the puzzles their grades."""
    cells = np.array([one.cells for one in puzzles])
    solutions = np.array([one.solution for one in puzzles])
    to_move = np.array([one.to_move for one in puzzles], np.int8)
    left = np.arange(len(puzzles))
    before = np.zeros(len(puzzles), np.bool_)
    for simulations in (*GRADES, 2 * GRADES[-1]):
        advance(
            f"searching with {simulations:,} simulations",
            _DRAWN + (1 - _DRAWN) * simulations / 4 / GRADES[-1],
        )
        search = network.player(SearchConfig(simulations=simulations), _BATCH)
        finds = search.choose(cells[left], to_move[left]) == solutions[left]
        for row in left[finds & before[left]].tolist():
            puzzles[row].grade = simulations // 2
        graded = finds & before[left]
        before[left] = finds
        left = left[~graded]
