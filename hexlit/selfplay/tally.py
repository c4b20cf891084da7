"""Counts of games by reason, each with the first example."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Tally:
    """Counts by reason."""

    counts: dict[str, int] = field(default_factory=dict)
    """Reason -> count."""
    examples: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Reason -> place of the first one, and the sentence about it."""

    def add(self, reason: str, place: str, said: str = "") -> None:
        """One more for `reason`."""
        self.counts[reason] = self.counts.get(reason, 0) + 1
        self.examples.setdefault(reason, (place, said))

    @property
    def total(self) -> int:
        """Count of all reasons together."""
        return sum(self.counts.values())

    def as_json(self) -> dict[str, Any]:
        """Reason -> count, place and sentence of the first example; the most frequent first."""
        frequent = sorted(self.counts.items(), key=lambda item: -item[1])
        return {
            reason: {"count": count, "place": self.examples[reason][0], "said": self.examples[reason][1]}
            for reason, count in frequent
        }
