"""Where the games of self-play are played: how many positions a network call takes, in which processes.

It is a matter of speed and memory. What is learned does not depend on it.
"""

from dataclasses import dataclass

from hexlit.selfplay.actor import rows_of
from hexlit.selfplay.config import SelfPlayConfig

BATCHES = {"cpu": 256, "cuda": 1024, "mps": 512}
"""Positions in a network call by device. Those of the cpu are measured; the others keep the device busy with small
networks, and take no more than a few hundred MiB."""

GROUPS = {"cpu": 1, "cuda": 2, "mps": 1}
"""Groups of games: on cuda the trees of one grow while the network works for the other."""

MOST_WORKERS = 8
"""A process of one thread evaluates more positions than its share of a call over all threads. But each holds half a
gigabyte, and a small share of the games."""


@dataclass(frozen=True)
class Placement:
    """How the games are spread over processes and network calls."""

    batch: int
    """Most positions in one network call, in all processes together."""
    groups: int
    """Groups of games that alternate, at least."""
    workers: int
    """Processes that play in each rank; 0 is the rank itself."""

    @property
    def parts(self) -> int:
        """Parts of the games in each rank, at least one."""
        return max(1, self.workers)

    def cut(self, games: int, ranks: int = 1) -> tuple[int, int]:
        """Groups and rows of a call in each process, where `games` go on side by side in all of them together.

        There are as many groups as keep a call within `batch`.
        """
        parts = ranks * self.parts
        most = max(1, self.batch // parts)
        groups = min(max(self.groups, -(-games // (parts * most))), max(1, games // parts))
        return groups, rows_of(games, parts, groups)


def placement_of(config: SelfPlayConfig, device: str, threads: int, ranks: int = 1) -> Placement:
    """As configured, or what suits the type of the `device` and its processor `threads`, in each of `ranks`.

    Ranks on the cpu share it, so that their calls together are no larger than those of one.

    On every device at least one process plays, so that games are one epoch ahead of the training on all of them.
    """
    usual = min(threads, MOST_WORKERS) if device == "cpu" else 1
    return Placement(
        batch=BATCHES[device] * (1 if device == "cpu" else ranks) if config.batch is None else config.batch,
        groups=GROUPS[device] if config.groups is None else config.groups,
        workers=min(usual if config.workers is None else config.workers, max(1, config.games // ranks)),
    )
