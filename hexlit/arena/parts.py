"""Parts of a long measurement, which its caller may keep."""

from collections.abc import Callable
from typing import Any

Part = Callable[[str, Callable[[], Any]], Any]
"""Gives the result of a named part in plain values: of the function that measures it, or kept from an earlier call."""


def measured_now(name: str, measure: Callable[[], Any]) -> Any:
    """A `Part` that keeps nothing."""
    return measure()
