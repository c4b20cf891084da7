"""A network against the exact truth, with more and more simulations: one document for JSON and tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexlit.arena.parts import Part, measured_now
from hexlit.arena.players import Judge, Judgement
from hexlit.arena.shares import Share
from hexlit.arena.strength import keeps_the_win, opening_values
from hexlit.hex.judging import openings_right
from hexlit.hex.openings import SOLVED, solved_openings
from hexlit.hex.truth import STAGES, SolvedPositions
from hexlit.nets.calibration import calibrate

Document = dict[str, Any]

Advance = Callable[[int], None]
"""Called with the number of simulations done."""


@dataclass(frozen=True)
class Level:
    """One use of the network."""

    simulations: int
    """Simulations of a move; 0 is the network alone: its likeliest move, its value."""
    judge: Judge

    @property
    def effort(self) -> int:
        """Approximate number of evaluations for one judgement."""
        return max(1, self.simulations)


def effort_of(levels: Sequence[Level], positions: Mapping[str, SolvedPositions], size: int) -> int:
    """Total that `measure_truth` will report to `advance`."""
    judged = size**2 + sum(map(len, positions.values()))
    return sum(level.effort for level in levels) * judged


def measure_truth(
    levels: Sequence[Level],
    positions: Mapping[str, SolvedPositions],
    *,
    size: int,
    batch: int,
    advance: Advance = lambda done: None,
    part: Part = measured_now,
) -> Document:
    """Judge the openings and all `positions` (by the name of their kind) at every level.

    Each kind of positions at each level is a `part`, and the openings are one.

    Returns:
        `openings`: `truth` (None if unknown) and per level `simulations`, `map` (value for Black) and `right`.
        `positions`, `optimality`: see `describe_positions` and `optimality`, by kind. `calibration`: per level, for
        kinds with lost positions too, see `Calibration`.
    """
    truth = solved_openings(size) if size in SOLVED else None
    document: Document = {
        "openings": {"truth": None if truth is None else truth.tolist(), "levels": []},
        "positions": {kind: describe_positions(of_kind) for kind, of_kind in positions.items()},
        "optimality": {kind: [] for kind in positions},
        "calibration": {kind: [] for kind, of_kind in positions.items() if not of_kind.won.all()},
    }
    for level in levels:
        judge = _Stepwise(level, batch, advance)
        name, named = f"{level.simulations} simulations", {"simulations": level.simulations}
        found = part(f"{name}, openings", partial(_openings, judge, size, truth))
        document["openings"]["levels"].append(named | found)
        judge.catch_up(size**2)
        for kind, of_kind in positions.items():
            found = part(f"{name}, {kind}", partial(_positions, judge, of_kind))
            document["optimality"][kind].append(named | found["optimality"])
            if kind in document["calibration"]:
                document["calibration"][kind].append(named | found["calibration"])
            judge.catch_up(len(of_kind))
    return document


def _openings(judge: Judge, size: int, truth: NDArray[np.bool_] | None) -> Document:
    values = opening_values(judge, size)
    return {
        "map": values.tolist(),
        "right": None if truth is None else openings_right(values.tolist(), truth),
    }


def _positions(judge: Judge, positions: SolvedPositions) -> Document:
    found = judge.judge(positions.cells, positions.to_move)
    calibration = None if positions.won.all() else calibrate(found.value, positions.won).as_dict()
    return {"optimality": optimality(positions, found.action), "calibration": calibration}


def optimality(positions: SolvedPositions, moves: NDArray[np.int16]) -> Document:
    """Share of the won positions that the move keeps won: of `all`, by `stages` and by `sources`."""
    won = positions.won
    kept = keeps_the_win(positions, moves)
    return {
        "all": Share.of(kept[won]).as_dict(),
        "stages": {name: Share.of(kept[won & (positions.stage == i)]).as_dict() for i, name in enumerate(STAGES)},
        "sources": {
            name: Share.of(kept[won & (positions.source == i)]).as_dict() for i, name in enumerate(positions.sources)
        },
    }


def describe_positions(positions: SolvedPositions) -> Document:
    """Their number, sources, share of wins, and how often a random move keeps a win (`random_move`)."""
    won = positions.won
    good = positions.winning_moves[won].sum(1) / np.count_nonzero(positions.cells[won] == 0, axis=1)
    shares = []
    for source, name in enumerate(positions.sources):
        for stage, of_game in enumerate(STAGES):
            inside = (positions.source == source) & (positions.stage == stage)
            count = int(inside.sum())
            stones = float(positions.stones[inside].mean()) if count else None
            shares.append(
                {
                    "source": name,
                    "stage": of_game,
                    "count": count,
                    "share": count / len(positions),
                    "won": int((inside & won).sum()),
                    "mean_stones": stones,
                }
            )
    return {
        "count": len(positions),
        "won": int(won.sum()),
        "unsolved": positions.unsolved,
        "random_move": float(good.mean()) if len(good) else None,
        "shares": shares,
    }


class _Stepwise:
    """A level's judge, asked batch by batch, so that progress can be reported."""

    def __init__(self, level: Level, batch: int, advance: Advance) -> None:
        self._level = level
        self._batch = batch
        self._advance = advance
        self._judged = 0

    def judge(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> Judgement:
        """See `Judge`."""
        parts = list(self._parts(cells, to_move))
        return Judgement(
            np.concatenate([part.action for part in parts]), np.concatenate([part.value for part in parts])
        )

    def catch_up(self, positions: int) -> None:
        """Report the rest of a part of so many `positions`: all of them if it was kept from before."""
        self._advance(self._level.effort * (positions - self._judged))
        self._judged = 0

    def _parts(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> Iterator[Judgement]:
        for start in range(0, len(cells), self._batch):
            rows = slice(start, start + self._batch)
            yield self._level.judge.judge(cells[rows], to_move[rows])
            self._judged += len(cells[rows])
            self._advance(self._level.effort * len(cells[rows]))
