"""Conformance suites: what every evaluator and every block has to keep, to be run on your own.

A suite is a class of tests without a constructor. Subclass it under a name that begins with `Test`,
say how one of yours is made, and pytest runs it:

    from hexlit.testing import EvaluatorConformance

    class TestMine(EvaluatorConformance):
        def make(self, size, swap, batch):
            return MyEvaluator(size)

The suites are plain assertions with a message and need no pytest: every `test_` method can be
called by hand. hexlit's own implementations pass them. `hexlit.testing.stand_ins` has an evaluator
for tests that need no network.
"""

from hexlit.testing.blocks import BlockConformance
from hexlit.testing.evaluators import EvaluatorConformance

__all__ = ["BlockConformance", "EvaluatorConformance"]
