"""An evaluator that knows everything, for the tests of what measures knowledge."""

import numpy as np

from hexlit.hex.arrays import FloatArray, Int8Array
from hexlit.hex.encoding import OPPONENT, OWN
from hexlit.hex.solver import ExactSolver


class Oracle:
    """Policy and value of the exact solver; or, `wrong`, the opposite of everything it says."""

    def __init__(self, size: int, *, wrong: bool = False) -> None:
        self.solver = ExactSolver(size)
        self.wrong = wrong
        self.known: dict[bytes, tuple[float, FloatArray]] = {}

    def evaluate(self, planes: Int8Array, policy: FloatArray, value: FloatArray) -> None:
        policy.fill(0.0)
        for row, position in enumerate(planes):
            cells = (position[OWN] - position[OPPONENT]).ravel()
            key = cells.tobytes()
            if key not in self.known:
                self.known[key] = self.judge(cells)
            value[row], policy[row, : cells.size] = self.known[key]

    def judge(self, cells: Int8Array) -> tuple[float, FloatArray]:
        solution = self.solver.solve(cells, 1)
        empty = cells == 0
        good = np.zeros(cells.size, np.bool_)
        good[list(solution.winning_moves)] = True
        liked = empty & ~good if self.wrong else good
        weights = np.where(liked if liked.any() else empty, 1.0, 0.0).astype(np.float32)
        return float(-solution.winner if self.wrong else solution.winner), weights / max(
            weights.sum(), 1
        )
