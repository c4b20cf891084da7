"""Conformance suites: what every player, evaluator, search, block and record format has to keep, to be run on your own.

A suite is a class of tests without a constructor. Subclass it under a name that begins with `Test`, say how one of
yours is made, and pytest runs it:

    from hexlit.testing import EvaluatorConformance

    class TestMine(EvaluatorConformance):
        def make(self, size, swap, batch):
            return MyEvaluator(size)

The suites are plain assertions with a message and need no pytest: every `test_` method can be called by hand. hexlit's
own implementations pass them. `hexlit.testing.stand_ins` has evaluators for tests that no network is needed for.
"""

from hexlit.testing.blocks import BlockConformance
from hexlit.testing.evaluators import EvaluatorConformance
from hexlit.testing.formats import RecordFormatConformance
from hexlit.testing.game_players import GamePlayerConformance
from hexlit.testing.players import PlayerConformance
from hexlit.testing.searches import SearchConformance
from hexlit.testing.selfplay import SelfPlayConformance

__all__ = [
    "BlockConformance",
    "EvaluatorConformance",
    "GamePlayerConformance",
    "PlayerConformance",
    "RecordFormatConformance",
    "SearchConformance",
    "SelfPlayConformance",
]
