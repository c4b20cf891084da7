"""Distribution of the games of self-play over processes, and over calls of the network."""

from collections.abc import Sequence
from dataclasses import dataclass

from hexlit.errors import UsageError
from hexlit.selfplay.actor import rows_of
from hexlit.selfplay.config import SelfPlayConfig

BATCHES = {"cpu": 256, "cuda": 1024, "mps": 512}
"""Positions in a network call by device. Those of the cpu are measured; the others keep the device
busy with small networks, and take no more than a few hundred MiB.
"""

GROUPS = {"cpu": 1, "cuda": 2, "mps": 1}
"""Groups of games: on cuda the trees of one grow while the network works for the other."""

MOST_WORKERS = 8
"""A process of one thread evaluates more positions than its share of a call over all threads. But
each holds half a gigabyte, and a small share of the games.
"""

LEARNERS_SHARE = 0.5
"""Share of a device's memory cap, if processes play on it, too. Training holds activations, play
does not; but play has its own network, its batch and a CUDA graph.
"""


@dataclass(frozen=True)
class Placement:
    """Distribution of the games over processes and network calls."""

    batch: int
    """Most positions in one network call, in all processes together."""
    groups: int
    """Least number of groups of games that alternate."""
    workers: int
    """Processes that play in each rank; 0 is the rank itself."""
    ahead: int = 0
    """Epochs that they are ahead of the training; 0: play and training take turns."""
    devices: tuple[str, ...] = ()
    """Devices of the processes in turn; none: that of the learner."""

    @property
    def parts(self) -> int:
        """Parts of the games in each rank, at least one."""
        return max(1, self.workers)

    @property
    def memory_shares(self) -> tuple[float, float]:
        """Shares of a device's memory cap: of the learner, and of each process that plays."""
        if self.devices:
            return 1.0, 1 / -(-self.workers // len(self.devices))
        return (LEARNERS_SHARE, (1 - LEARNERS_SHARE) / self.workers) if self.workers else (1.0, 1.0)

    def cut(self, games: int, ranks: int = 1) -> tuple[int, int]:
        """Groups and rows of a call in each process, for `games` parallel games in all of them
        together.

        The number of groups keeps a call within `batch`.
        """
        parts = ranks * self.parts
        most = max(1, self.batch // parts)
        groups = min(max(self.groups, -(-games // (parts * most))), max(1, games // parts))
        return groups, rows_of(games, parts, groups)


def placement_of(
    config: SelfPlayConfig, device: str, threads: int, ranks: int = 1, others: Sequence[str] = ()
) -> Placement:
    """The configured placement, or the best one for the type of the `device` and its processor
    `threads`, per rank.

    Ranks on the cpu share it, so that their calls together are no larger than those of one.

    A cpu has one process per thread, less one if training goes on meanwhile: with one more, each
    step took a quarter longer on two cores. The time of its calls is proportional to their rows, so
    small ones lose nothing.

    cuda and mps have one process: `games` belongs to the recipe, and more processes would only cut
    the calls into smaller ones, each hardly faster. One process is enough to grow the trees and
    continue the games while the learner trains; the system shares the device between the two.

    `selfplay.devices=others` takes `others`, the devices without training, one per process. By
    default they stay free, because they may belong to other users.

    Raises:
        UsageError: there are no others.
    """
    if config.devices == "others" and not others:
        raise UsageError(
            f"selfplay.devices=others: training on {device} leaves no other device of this machine"
        )
    devices = tuple(others) if config.devices == "others" else ()
    own = min(max(1, threads - (config.ahead is not False)), MOST_WORKERS)
    usual = own if device == "cpu" else max(1, len(devices))
    workers = min(
        usual if config.workers is None else config.workers, max(1, config.games // ranks)
    )
    ahead = workers > 0 if config.ahead is None else config.ahead
    return Placement(
        batch=BATCHES[device] * (1 if device == "cpu" else ranks)
        if config.batch is None
        else config.batch,
        groups=GROUPS[device] if config.groups is None else config.groups,
        workers=workers,
        ahead=config.versions_behind if ahead else 0,
        devices=devices[:workers],
    )
