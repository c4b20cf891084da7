"""Solved positions: the winner with best play, and all winning moves.

Ground truth for measuring players on small boards; nothing is ever trained on it.
"""

import logging
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hexlit.errors import UsageError
from hexlit.files import replacing
from hexlit.hex.arrays import BoolArray, Int8Array, Int16Array
from hexlit.hex.solver import ExactSolver, UnsolvedError
from hexlit.settings import check_numbers

_log = logging.getLogger(__name__)

STAGES = ("early", "middle", "late")
"""Thirds of what a position could come from: of a game, or of the possible numbers of stones."""

_ARRAYS = ("cells", "to_move", "stones", "winner", "winning_moves", "source", "stage")
_FORMAT = 4  # part of the cache's file names; raise it when the same arguments give other positions
_DRAWS = 20_000  # unsuitable draws in a row for one position before giving up
_UNSOLVED_DRAWS = 20  # unsolved draws in a row for one position before giving up


@dataclass(frozen=True)
class SolvedPositions:
    """Undecided positions with their exact value, in the absolute frame (Black +1 connects top to
    bottom).
    """

    cells: Int8Array  # [count, size*size]
    to_move: Int8Array  # [count], +1 or -1
    stones: Int16Array  # [count]
    winner: Int8Array  # [count], +1 or -1 with best play
    winning_moves: BoolArray  # [count, size*size]; none where the side to move loses
    source: Int8Array  # [count], index into `sources`
    stage: Int8Array  # [count], index into STAGES
    sources: tuple[str, ...]  # names of the sources
    unsolved: int  # draws skipped because the solver reached its node limit

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def won(self) -> BoolArray:
        """Whether the side to move wins, `[count]`."""
        won: BoolArray = self.winner == self.to_move
        return won

    def only(self, among: BoolArray | slice) -> "SolvedPositions":
        """Those selected by `among`, `[count]`, or by a slice; they are in random order."""
        rows = {name: getattr(self, name)[among] for name in _ARRAYS}
        return SolvedPositions(**rows, sources=self.sources, unsolved=self.unsolved)


def cached(path: Path | None, make: Callable[[], SolvedPositions]) -> SolvedPositions:
    """The positions in `path` (`.npz`, no pickle); without that file those of `make`, then kept
    there (None: not).
    """
    kept = None if path is None else _load(path)
    if kept is not None:
        return kept
    positions = make()
    if path is not None:
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(
                file,
                **{name: getattr(positions, name) for name in _ARRAYS},
                sources=np.array(positions.sources),
                unsolved=np.array(positions.unsolved),
            )
    return positions


def stage_of(stones: Int16Array, fewest: int, most: int) -> Int8Array:
    """Index into STAGES of positions with `fewest` to `most` stones: the third of that range that
    they lie in.
    """
    return (len(STAGES) * (stones - fewest) // (most - fewest + 1)).astype(np.int8)


def won_positions(
    size: int,
    count: int,
    seed: int,
    min_stones: int = 0,
    node_limit: int | None = None,
    cache: Path | None = None,
) -> SolvedPositions:
    """Random undecided positions that the side to move wins with best play, with its exact winning
    moves.

    Stones are put on random cells in turn, Black first. Every number of stones from `min_stones` to
    size*size - 1 (the last cell can still decide) comes equally often, in random order, as far as
    `count` divides. Positions are drawn independently, so the emptiest boards repeat; in some
    positions every move wins. Position i depends only on `seed` and its own number of stones; with
    a `node_limit` also on the solver's earlier proofs.

    Args:
        size: 2 to 8. From size 6 on raise `min_stones` or set `node_limit`: near the empty board
            solving takes long.
        count: positions to return.
        seed: at least 0.
        min_stones: the fewest stones of a position.
        node_limit: draws that the solver cannot settle within this many nodes are skipped and
            counted.
        cache: folder where the result is kept for the next call with the same arguments (`.npz`, no
            pickle).

    Raises:
        UsageError: an argument is out of range, or no suitable position turns up for a number of
            stones.
    """
    solver = ExactSolver(size)
    check_numbers("[1, inf)", count=count)
    check_numbers("[0, inf)", seed=seed)
    check_numbers(f"[0, {size * size - 1}]", min_stones=min_stones)
    path = None
    if cache is not None:
        path = (
            cache
            / f"won-v{_FORMAT}-size{size}-count{count}-seed{seed}-min{min_stones}-limit{node_limit}.npz"
        )
    return cached(path, lambda: _draw(solver, count, seed, min_stones, node_limit))


def _draw(
    solver: ExactSolver, count: int, seed: int, min_stones: int, node_limit: int | None
) -> SolvedPositions:
    total = solver.size * solver.size
    stones = (min_stones + np.arange(count) % (total - min_stones)).astype(np.int16)
    np.random.default_rng([seed, count]).shuffle(stones)
    cells = np.zeros((count, total), dtype=np.int8)
    to_move = np.where(stones % 2 == 0, 1, -1).astype(np.int8)
    wins = np.zeros((count, total), dtype=np.bool_)
    unsolved = 0
    for i in range(count):
        rng = np.random.default_rng([seed, i])
        failed = 0
        for _ in range(_DRAWS):
            board = np.zeros(total, dtype=np.int8)
            filled = rng.permutation(total)[: stones[i]]
            board[filled[0::2]] = 1
            board[filled[1::2]] = -1
            try:
                # Finished games and lost positions have no winning moves.
                moves = solver.solve(board, int(to_move[i]), node_limit).winning_moves
            except UnsolvedError:
                failed += 1
                unsolved += 1
                if failed == _UNSOLVED_DRAWS:
                    break
                continue
            if moves:
                cells[i] = board
                wins[i, list(moves)] = True
                break
        if not wins[i].any():
            raise UsageError(
                f"no solved won position with {stones[i]} stones on size {solver.size}: raise min_stones "
                f"(now {min_stones}) or node_limit (now {node_limit})"
            )
    source, stage = np.zeros(count, np.int8), stage_of(stones, min_stones, total - 1)
    return SolvedPositions(
        cells, to_move, stones, to_move, wins, source, stage, ("random cells",), unsolved
    )


def _load(path: Path) -> SolvedPositions | None:
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as kept:
            rows = {name: kept[name] for name in _ARRAYS}
            return SolvedPositions(
                **rows, sources=tuple(kept["sources"].tolist()), unsolved=int(kept["unsolved"])
            )
    # RuntimeError: the zip claims to be encrypted, or packed in an unknown way.
    except (
        OSError,
        ValueError,
        KeyError,
        EOFError,
        RuntimeError,
        zipfile.BadZipFile,
        zlib.error,
    ) as problem:
        _log.warning("cannot read %s (%s): the positions are computed again", path, problem)
        return None
