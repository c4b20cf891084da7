"""Distance of reduced precision from the plain network: errors of policy and value, and changed moves."""

from dataclasses import dataclass

import numpy as np
import torch

from hexlit.nets.backends import Planes
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.nets.fold import folded_twin
from hexlit.nets.heads import masked_logits
from hexlit.nets.tower import HexNet

LEAST_SAME_MOVES = 0.98
"""Least share of positions with the same likeliest move."""

HARMLESS_ERROR = 0.01
"""Below this error of the policy, changed moves mean nothing: a network that has learned little rates many alike."""


@dataclass(frozen=True)
class Agreement:
    """An evaluator beside the plain network in float32, over some positions."""

    positions: int
    policy_error: float
    """Mean over positions of half the summed differences of probabilities (total variation), in [0, 1]."""
    value_error: float
    """Mean difference of values, in [0, 2]."""
    largest_value_error: float
    same_move: float
    """Share of positions with the same likeliest move."""

    @property
    def good_enough(self) -> bool:
        """Whether the evaluator may play for the network."""
        return self.same_move >= LEAST_SAME_MOVES or self.policy_error < HARMLESS_ERROR


def measure_agreement(net: HexNet, evaluator: NetworkEvaluator, planes: Planes) -> Agreement:
    """Compare `evaluator`, which has the weights of `net`, with `net` in float32 on the CPU.

    Args:
        net: the network, in any mode and on any device.
        evaluator: the evaluator of self-play.
        planes: int8 `[P, 5, n, n]`, any number of positions P from 1 on.
    """
    policies, values = [], []
    for start in range(0, len(planes), evaluator.batch):
        part = planes[start : start + evaluator.batch]
        batch = np.resize(part, (evaluator.batch, *planes.shape[1:]))  # the last batch is padded with repetitions
        policy = np.zeros((evaluator.batch, evaluator.actions), np.float32)
        value = np.zeros(evaluator.batch, np.float32)
        evaluator.evaluate(np.ascontiguousarray(batch), policy, value)
        policies.append(policy[: len(part)])
        values.append(value[: len(part)])
    twin = folded_twin(net, torch.device("cpu"), torch.float32, channels_last=True)
    seen = torch.from_numpy(planes)
    with torch.inference_mode():
        expected = [twin(part.float()) for part in torch.split(seen, 256)]
        logits = torch.cat([output.policy_logits[:, : evaluator.actions] for output in expected])
        probabilities = torch.softmax(masked_logits(logits, seen), 1).numpy()
        value_error = np.abs(np.concatenate(values) - torch.cat([output.value for output in expected]).numpy())
    policy = np.concatenate(policies)
    return Agreement(
        positions=len(planes),
        policy_error=float(np.abs(policy - probabilities).sum(1).mean() / 2),
        value_error=float(value_error.mean()),
        largest_value_error=float(value_error.max()),
        same_move=float((policy.argmax(1) == probabilities.argmax(1)).mean()),
    )
