"""The promises of every evaluator, and the random positions that show them."""

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.arrays import BoolArray, FloatArray, Int8Array, Int16Array
from hexlit.hex.encoding import encode
from hexlit.hex.engine import empty_stones
from hexlit.hex.frame import frame_maps
from hexlit.hex.geometry import BLACK, WHITE, geometry
from hexlit.hex.playout import random_games
from hexlit.search.evaluator import Evaluator


class Positions(NamedTuple):
    """B undecided positions on one board."""

    cells: Int8Array
    """+1 black, -1 white, 0 empty, `[B, size*size]`."""
    to_move: Int8Array
    """+1 Black, -1 White, `[B]`."""
    may_swap: BoolArray
    """Whether the mover may swap, `[B]`."""

    @property
    def ply(self) -> Int16Array:
        """Moves played before, `[B]`."""
        stones: Int16Array = np.count_nonzero(self.cells, axis=1).astype(np.int16)
        return stones

    @property
    def planes(self) -> Int8Array:
        """Input of an evaluator, `[B, PLANES, size, size]`."""
        return encode(self.cells, self.to_move, self.may_swap)

    def legal(self, actions: int) -> BoolArray:
        """Whether an action of the board is legal, `[B, A]`; the swap, where there is one, comes
        last.
        """
        swap = np.tile(self.may_swap[:, None], (1, actions - self.cells.shape[1]))
        return np.concatenate([self.cells == 0, swap], axis=1)

    def rows(self, rows: NDArray[np.integer] | slice) -> "Positions":
        """The positions `rows` alone."""
        return Positions(self.cells[rows], self.to_move[rows], self.may_swap[rows])


def random_positions(
    size: int, count: int, seed: int, *, swap: bool = False, before_the_end: bool = False
) -> Positions:
    """Positions of `count` random games: after any number of moves, or just before the winning
    one.
    """
    moves, lengths = np.zeros((count, size * size), np.int16), np.zeros(count, np.int16)
    random_games(count, seed, geometry(size), moves, empty_stones(1, size), lengths)
    random = np.random.default_rng(seed)
    plies = lengths - 1 if before_the_end else random.integers(0, lengths)
    if swap and not before_the_end:
        plies[0] = 1  # so that the swap is open once at least
    cells = np.zeros((count, size * size), np.int8)
    for row, length in enumerate(plies.tolist()):
        cells[row, moves[row, :length]] = [
            BLACK if ply % 2 == 0 else WHITE for ply in range(length)
        ]
    to_move = np.where(plies % 2 == 0, BLACK, WHITE).astype(np.int8)
    return Positions(cells, to_move, (plies == 1) & swap)


class EvaluatorConformance:
    """The promises of `hexlit.search.evaluator.Evaluator`; see `hexlit.testing` for how to run
    them.

    Attributes:
        sizes: boards to try.
        batch: positions a call, 2 at least.
        tolerance: by how much an answer may differ where the same position stands elsewhere in a
            batch.
    """

    sizes: tuple[int, ...] = (2, 3, 5)
    batch = 8
    tolerance = 1e-5

    def make(self, size: int, swap: bool, batch: int) -> Evaluator:
        """An evaluator of `batch` positions a call on boards of `size`, with or without the swap
        action.
        """
        raise NotImplementedError

    def test_policies_are_distributions_over_the_legal_actions(self) -> None:
        """Every answer is written again, sums to 1, and is exactly 0 for what is illegal in the
        mover's frame.
        """
        for size, swap, positions, evaluator in self._cases():
            policy, _ = _answers(evaluator, positions, size * size + swap)
            legal = _in_movers_frame(positions.legal(size * size + swap), positions.to_move, size)
            case = f"on {size}x{size}, swap={swap}"
            assert (policy >= 0).all(), f"{case}: a probability is below 0, or no number"
            assert np.allclose(policy.sum(1), 1, atol=1e-3), (
                f"{case}: policies sum to {policy.sum(1)}"
            )
            assert not policy[~legal].any(), f"{case}: an illegal action has a probability"

    def test_values_lie_between_a_loss_and_a_win(self) -> None:
        """In [-1, 1], and a number."""
        for size, swap, positions, evaluator in self._cases():
            _, value = _answers(evaluator, positions, size * size + swap)
            assert (np.abs(value) <= 1).all(), f"on {size}x{size}, swap={swap}: values {value}"

    def test_positions_are_only_read(self) -> None:
        """The planes are the search's own, which writes only the stones of the next leaf."""
        for size, swap, positions, evaluator in self._cases():
            planes = positions.planes
            _evaluated(evaluator, planes, size * size + swap)
            assert np.array_equal(planes, positions.planes), (
                f"on {size}x{size}: the planes were changed"
            )

    def test_an_answer_depends_on_the_position_alone(self) -> None:
        """Not on its row, on the positions beside it, nor on what was asked before."""
        for size, swap, positions, evaluator in self._cases():
            actions = size * size + swap
            order = np.arange(self.batch)[::-1]
            first = _answers(evaluator, positions, actions)
            turned = _answers(evaluator, positions.rows(order), actions)
            alike = _answers(evaluator, positions.rows(np.full(self.batch, 1)), actions)
            for whole, backwards, one in zip(first, turned, alike, strict=True):
                case = f"on {size}x{size}, swap={swap}"
                assert np.allclose(whole, backwards[order], atol=self.tolerance), (
                    f"{case}: the row matters"
                )
                assert np.allclose(one, whole[1], atol=self.tolerance), (
                    f"{case}: the rest of the batch matters"
                )

    def _cases(self) -> list[tuple[int, bool, Positions, Evaluator]]:
        cases = []
        for size, swap in product(self.sizes, (False, True)):
            positions = random_positions(size, self.batch, size, swap=swap)
            cases.append((size, swap, positions, self.make(size, swap, self.batch)))
        return cases


Answers = tuple[FloatArray, FloatArray]


def _answers(evaluator: Evaluator, positions: Positions, actions: int) -> Answers:
    return _evaluated(evaluator, positions.planes, actions)


def _evaluated(evaluator: Evaluator, planes: Int8Array, actions: int) -> Answers:
    """Policies `[B, A]` and values `[B]`, which begin as NaN."""
    policy = np.full((len(planes), actions), np.nan, np.float32)
    value = np.full(len(planes), np.nan, np.float32)
    evaluator.evaluate(planes, policy, value)
    return policy, value


def _in_movers_frame(legal: BoolArray, to_move: Int8Array, size: int) -> BoolArray:
    return frame_maps(legal, to_move, size)
