"""Evaluators for worker processes of the tests;
a module, so that a started process can import it.
"""

import os
import time
from typing import Any

from hexlit.errors import UsageError
from hexlit.hex.arrays import FloatArray, Int8Array
from hexlit.search.evaluator import Evaluator
from hexlit.testing.stand_ins import KeyedEvaluator


class KeyedHost:
    """A `NetworkHost` that takes bytes for weights, the salt of a `KeyedEvaluator`: `die` ends the
    process, `fail` and `refuse` raise.
    """

    def refreshed(self, weights: Any) -> Evaluator:
        return (
            Trap(weights)
            if weights in (b"die", b"fail", b"refuse")
            else KeyedEvaluator(salt=weights)
        )


class LargeHost(KeyedHost):
    """As `KeyedHost`, whose weights may be as large as one likes: only their first byte counts."""

    def refreshed(self, weights: Any) -> Evaluator:
        return super().refreshed(weights[:1])


class PatientHost(KeyedHost):
    """As `KeyedHost`, whose evaluators take a while and no processor time,
    as a network on a GPU does.
    """

    def __init__(self, seconds: float) -> None:
        """`seconds` are those of a call."""
        self.seconds = seconds

    def refreshed(self, weights: Any) -> Evaluator:
        return Patient(super().refreshed(weights), self.seconds)


class Patient:
    def __init__(self, inner: Evaluator, seconds: float) -> None:
        self.inner = inner
        self.seconds = seconds

    def evaluate(self, planes: Int8Array, policy: FloatArray, value: FloatArray) -> None:
        time.sleep(self.seconds)
        self.inner.evaluate(planes, policy, value)


class Trap:
    def __init__(self, weights: bytes) -> None:
        self.weights = weights

    def evaluate(self, planes: Int8Array, policy: FloatArray, value: FloatArray) -> None:
        if self.weights == b"die":
            os._exit(7)
        raise (
            UsageError("no such thing")
            if self.weights == b"refuse"
            else ArithmeticError("the network broke")
        )


class AnyHost:
    """As `KeyedHost`, whatever the weights are."""

    def refreshed(self, weights: Any) -> Evaluator:
        return KeyedEvaluator(salt=b"a")
