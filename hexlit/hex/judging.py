"""When the judgement of an opening is right: one rule for every count and every map; it knows no
truth itself.
"""

import math
from collections.abc import Iterable


def judged_right(value: float | None, wins: bool) -> bool:
    """Whether the judgement of an opening agrees with perfect play.

    Args:
        value: the judgement from the opener's view, unrounded: above 0 or True, the opener wins.
            Exactly 0 is a loss. None and NaN are no judgement, and never right.
        wins: whether the opening wins with best play.
    """
    return value is not None and not math.isnan(value) and bool(value > 0) == bool(wins)


def openings_right(values: Iterable[float | None], truth: Iterable[bool]) -> int:
    """Number of judgements that are `judged_right`; `values` and `truth` have an entry for each
    cell.
    """
    return sum(judged_right(value, wins) for value, wins in zip(values, truth, strict=True))
