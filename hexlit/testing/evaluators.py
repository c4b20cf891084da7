"""The promises of every evaluator, and the random positions that show them."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

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
        """Whether an action of the board is legal, `[B, A]`; a swap comes last."""
        count, cells = self.cells.shape
        legal = np.zeros((count, actions), np.bool_)
        legal[:, :cells] = self.cells == 0
        if actions > cells:
            legal[:, cells] = self.may_swap
        return legal


def random_positions(
    size: int, count: int, seed: int, *, swap: bool = False, before_the_end: bool = False
) -> Positions:
    """Positions of `count` random games: after any number of moves, or just before the winning
    one.
    """
    moves = np.zeros((count, size * size), np.int16)
    lengths = np.zeros(count, np.int16)
    random_games(count, seed, geometry(size), moves, empty_stones(1, size), lengths)
    random = np.random.default_rng(seed)
    plies = lengths.astype(np.int64) - 1
    if not before_the_end:
        plies = random.integers(0, lengths)
        if swap:
            plies[0] = 1  # so that the swap is open once at least
    cells = np.zeros((count, size * size), np.int8)
    for row, length in enumerate(plies.tolist()):
        played = moves[row, :length]
        cells[row, played[0::2]] = BLACK
        cells[row, played[1::2]] = WHITE
    to_move = np.where(plies % 2 == 0, BLACK, WHITE).astype(np.int8)
    return Positions(cells, to_move, (plies == 1) & swap)


class EvaluatorConformance:
    """The promises of `hexlit.search.evaluator.Evaluator`; see `hexlit.testing` for how to run
    them.

    Attributes:
        sizes: boards to try.
        batch: positions a call, 2 at least.
        tolerance: by how much an answer may differ where the same position stands at another row of a
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
        for case, positions, evaluator, actions in self._cases():
            policy, _ = _evaluated(evaluator, positions.planes, actions)
            size = math.isqrt(positions.cells.shape[1])
            legal = frame_maps(positions.legal(actions), positions.to_move, size)
            sums = policy.sum(1)
            assert (policy >= 0).all(), f"{case}: a probability is below 0, or no number"
            assert np.allclose(sums, 1, atol=1e-3), f"{case}: policies sum to {sums}"
            assert not policy[~legal].any(), f"{case}: an illegal action has a probability"

    def test_values_lie_between_a_loss_and_a_win(self) -> None:
        """In [-1, 1], and a number."""
        for case, positions, evaluator, actions in self._cases():
            _, value = _evaluated(evaluator, positions.planes, actions)
            assert (np.abs(value) <= 1).all(), f"{case}: values {value}"

    def test_positions_are_only_read(self) -> None:
        """The planes are the search's own, which writes only the stones of the next leaf."""
        for case, positions, evaluator, actions in self._cases():
            planes = positions.planes
            _evaluated(evaluator, planes, actions)
            unchanged = np.array_equal(planes, positions.planes)
            assert unchanged, f"{case}: the planes were changed"

    def test_an_answer_depends_on_the_position_alone(self) -> None:
        """Not on its row, on the positions next to it, nor on what was asked before."""
        order = np.arange(self.batch)[::-1]
        for case, positions, evaluator, actions in self._cases():
            planes = positions.planes
            backwards_planes = planes[order].copy()
            repeated = np.repeat(planes[1:2], self.batch, 0)
            first = _evaluated(evaluator, planes, actions)
            turned = _evaluated(evaluator, backwards_planes, actions)
            alike = _evaluated(evaluator, repeated, actions)
            for whole, backwards, one in zip(first, turned, alike, strict=True):
                same_row = np.allclose(whole, backwards[order], atol=self.tolerance)
                assert same_row, f"{case}: the row matters"
                same_batch = np.allclose(one, whole[1], atol=self.tolerance)
                assert same_batch, f"{case}: the rest of the batch matters"

    def _cases(self) -> Iterator[tuple[str, Positions, Evaluator, int]]:
        """Name of the case, positions, evaluator, and number of actions."""
        for size in self.sizes:
            for swap in (False, True):
                positions = random_positions(size, self.batch, size, swap=swap)
                evaluator = self.make(size, swap, self.batch)
                case = f"on {size}x{size}, swap={swap}"
                actions = size * size + swap
                yield case, positions, evaluator, actions


def _evaluated(
    evaluator: Evaluator, planes: Int8Array, actions: int
) -> tuple[FloatArray, FloatArray]:
    """Policies `[B, A]` and values `[B]`, which begin as NaN."""
    policy = np.full((len(planes), actions), np.nan, np.float32)
    value = np.full(len(planes), np.nan, np.float32)
    evaluator.evaluate(planes, policy, value)
    return policy, value
