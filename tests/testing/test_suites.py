"""A suite that lets a broken implementation pass is worth nothing:
each break below is found by the test it is for.
"""

from collections.abc import Callable

import numpy as np
import pytest
from torch import Tensor, nn
from torch.nn import functional

from hexlit import testing
from hexlit.hex.arrays import FloatArray, Int8Array
from hexlit.nets.config import NetConfig
from hexlit.search.evaluator import Evaluator, UniformEvaluator
from hexlit.testing.stand_ins import KeyedEvaluator
from tests.nets.brought_blocks import Doubled, Noisy, Plain, Wider, single

Answer = Callable[[Int8Array, FloatArray, FloatArray], object]


class Changed(UniformEvaluator):
    """A uniform evaluator whose answers `change` then spoils."""

    def __init__(self, change: Answer) -> None:
        self.change = change

    def evaluate(self, planes: Int8Array, policy: FloatArray, value: FloatArray) -> None:
        super().evaluate(planes, policy, value)
        self.change(planes, policy, value)


def _of_the_row(planes: Int8Array, policy: FloatArray, value: FloatArray) -> None:
    value += np.linspace(0, 1, len(value), dtype=np.float32)


def _everywhere(planes: Int8Array, policy: FloatArray, value: FloatArray) -> None:
    policy.fill(1 / policy.shape[1])


LEGAL = "test_policies_are_distributions_over_the_legal_actions"
RANGE = "test_values_lie_between_a_loss_and_a_win"
READ = "test_positions_are_only_read"
BROKEN_EVALUATORS: dict[str, tuple[Answer, str, str]] = {
    "no distribution": (
        lambda planes, policy, value: np.multiply(policy, 2, out=policy),
        LEGAL,
        "policies sum to",
    ),
    "illegal moves": (_everywhere, LEGAL, "an illegal action has a probability"),
    "no number": (lambda planes, policy, value: value.fill(np.nan), RANGE, "values"),
    "writes planes": (
        lambda planes, policy, value: planes.fill(0),
        READ,
        "the planes were changed",
    ),
    "looks at the row": (
        _of_the_row,
        "test_an_answer_depends_on_the_position_alone",
        "the row matters",
    ),
}


@pytest.mark.parametrize("broken", BROKEN_EVALUATORS)
def test_a_broken_evaluator_is_found(broken: str) -> None:
    change, test, said = BROKEN_EVALUATORS[broken]

    class Suite(testing.EvaluatorConformance):
        def make(self, size: int, swap: bool, batch: int) -> Evaluator:
            return Changed(change)

    with pytest.raises(AssertionError, match=said):
        getattr(Suite(), test)()


class Unlearned(Plain):
    """Its bias has no gradient."""

    def forward(self, x: Tensor) -> Tensor:
        return x + functional.conv2d(x, self.conv.weight, padding=1)


class Mixed(Plain):
    """It looks at the whole batch in evaluation, too."""

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.conv(x - x.mean(0))
        return x + y


class Forgetful(Plain):
    """A number outside of its state changes in training."""

    calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += self.training
        y: Tensor = self.conv(x) * self.calls
        return x + y


BROKEN_BLOCKS: dict[Callable[[NetConfig], nn.Module], tuple[str, str]] = {
    Wider: ("test_shape_and_number_format_stay", "on 2x2: it returned"),
    Doubled: ("test_shape_and_number_format_stay", "on 2x2: it returned"),
    Unlearned: ("test_every_weight_learns", "conv.bias has no gradient"),
    Mixed: ("test_an_answer_in_evaluation_depends_on_the_position_alone", "answers differ by"),
    Noisy: ("test_an_answer_in_evaluation_depends_on_the_position_alone", "answers differ by"),
    Forgetful: (
        "test_its_state_is_all_that_another_one_needs",
        "with the same state answers differ by",
    ),
    single: ("test_its_state_is_all_that_another_one_needs", "returned twice"),
}


@pytest.mark.parametrize("broken", BROKEN_BLOCKS)
def test_a_broken_block_is_found(broken: Callable[[NetConfig], nn.Module]) -> None:
    test, said = BROKEN_BLOCKS[broken]

    class Suite(testing.BlockConformance):
        def make(self, config: NetConfig) -> nn.Module:
            return broken(config)

    with pytest.raises(AssertionError, match=said):
        getattr(Suite(), test)()


def test_the_stand_in_answers_by_position_and_salt() -> None:
    planes = np.zeros((2, 5, 3, 3), np.int8)
    answers = []
    for salt in (b"a", b"b"):
        policy, value = np.zeros((2, 9), np.float32), np.zeros(2, np.float32)
        KeyedEvaluator(salt).evaluate(planes, policy, value)
        assert np.array_equal(policy[0], policy[1])
        answers.append(policy[0])
    assert not np.array_equal(*answers)
