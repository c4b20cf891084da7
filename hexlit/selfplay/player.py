"""The interface of all players of self-play games, and the player in this process."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, Protocol, runtime_checkable

from hexlit.errors import UsageError
from hexlit.hex.record import GameRecord
from hexlit.search.evaluator import Evaluator, UniformEvaluator
from hexlit.selfplay.actor import SelfPlay, SelfPlayCounts, Snapshot, part_of, rows_of, share_of
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.selfplay.reanalysis import NewTargets, PastPositions, chosen_positions

OnGames = Callable[[list[GameRecord], SelfPlayCounts], None]
OnTargets = Callable[[NewTargets], None]


def no_targets(targets: NewTargets) -> None:
    """Ignore `targets`: for play without past positions."""


class NetworkHost(Protocol):
    """Builds an evaluator once and refreshes its weights."""

    def refreshed(self, weights: Any) -> Evaluator:
        """An evaluator with `weights`."""
        ...


@dataclass(frozen=True)
class RoundRequest:
    """A round of self-play, as a player gets it."""

    weights: Any
    """Weights of the network, as `NetworkHost.refreshed` takes them."""
    positions: int
    """Least number of positions in the games that end, for all processes that play."""
    network_version: int
    """Version of these weights, for the records of the games."""
    on_games: OnGames
    """Gets the games as they end, with the counts so far."""
    deadline: float | None = None
    """Time on `time.monotonic()` when the round is cut short. None: never."""
    past: PastPositions | None = None
    """Positions to be searched again."""
    on_targets: OnTargets = no_targets
    """Gets the new targets of `past`, in any order."""


class RoundResult(NamedTuple):
    """A round of self-play that has ended."""

    counts: SelfPlayCounts
    in_progress: list[Snapshot]
    """The games in progress after the round, from `SelfPlayer.snapshot`."""


@dataclass(frozen=True)
class PlayerSettings:
    """Settings of a player, in this process or in another one; they can be sent there."""

    settings: dict[str, Any]
    """Arguments of `SelfPlay`."""
    make_host: Callable[[], NetworkHost]
    """Makes the evaluator's host, in the process that plays."""
    hosts: tuple[Callable[[], NetworkHost], ...] = ()
    """Makers for the processes that play, in turn, if they differ: each may have another device."""

    def of_process(self, number: int, part: int, parts: int) -> "PlayerSettings":
        """The workplace of process `number`, which plays part number `part` of `parts`."""
        make_host = self.hosts[number % len(self.hosts)] if self.hosts else self.make_host
        return PlayerSettings(self.settings | {"part": part, "parts": parts}, make_host)


class SelfPlayer(Protocol):
    """Plays the games of an epoch, here or elsewhere."""

    def prepare(self) -> None:
        """Compile or load the kernels of play."""
        ...

    def play(self, request: RoundRequest) -> SelfPlayCounts:
        """Play until the games that ended hold this player's share of the positions; see `SelfPlay.play`.

        Then search this player's share of the past positions again, unless the deadline is over.
        """
        ...

    def snapshot(self) -> list[Snapshot]:
        """The games in progress, one snapshot for each process that plays."""
        ...

    def restore(self, snapshots: list[Snapshot]) -> None:
        """Continue this player's share of the games of `snapshots`, those of all processes in order."""
        ...

    def cpu_seconds(self) -> float:
        """Processor time so far of the processes that play, other than this one."""
        ...

    def close(self) -> None:
        """End all processes and the play under way."""
        ...


@runtime_checkable
class BackgroundSelfPlayer(SelfPlayer, Protocol):
    """A player that also plays while its caller does something else."""

    def start_async(self, request: RoundRequest) -> Future[RoundResult]:
        """As `play`, for the games after the round begun before; the functions of `request` run in another thread."""
        ...


class LocalPlayer:
    """Plays in this process."""

    def __init__(self, workplace: PlayerSettings) -> None:
        """Set up the games of `workplace`."""
        self._settings = workplace.settings
        self._share: tuple[int, int, int] = (
            workplace.settings["games"],
            workplace.settings.get("part", 0),
            workplace.settings.get("parts", 1),
        )
        self._host = workplace.make_host()  # first, for it sets the number of threads

    @cached_property
    def _actor(self) -> SelfPlay:
        """The games, made on first use because starting them needs compiled code."""
        return SelfPlay(**self._settings)

    def prepare(self) -> None:
        """See `SelfPlayer`."""
        alone = {"games": 1, "groups": 1, "part": 0, "parts": 1}
        games: list[GameRecord] = []
        actor = SelfPlay(**self._settings | alone)
        counts = actor.play(UniformEvaluator(), positions=1, on_games=lambda ended, _: games.extend(ended))
        if self._settings["config"].reanalyse_share:
            past = chosen_positions(games, 1, seed=0, round=0)
            assert past is not None
            actor.search_again(UniformEvaluator(), past, counts)

    def play(self, request: RoundRequest) -> SelfPlayCounts:
        """See `SelfPlayer`."""
        evaluator = self._host.refreshed(request.weights)
        counts = self._actor.play(
            evaluator,
            positions=share_of(request.positions, *self._share),
            network_version=request.network_version,
            on_games=request.on_games,
            deadline=request.deadline,
        )
        again = None if request.past is None else request.past.part(*self._share[1:])
        if again is not None and len(again.ply) and (request.deadline is None or time.monotonic() < request.deadline):
            request.on_targets(self._actor.search_again(evaluator, again, counts))
        return counts

    def snapshot(self) -> list[Snapshot]:
        """See `SelfPlayer`."""
        return [self._actor.snapshot()]

    def restore(self, snapshots: list[Snapshot]) -> None:
        """See `SelfPlayer`."""
        self.restore_own(part_of(snapshots, *self._share))

    def restore_own(self, snapshot: Snapshot) -> None:
        """Continue the games of `snapshot`, all of them this player's."""
        self._actor.restore(snapshot)

    def cpu_seconds(self) -> float:
        """See `SelfPlayer`."""
        return 0.0

    def close(self) -> None:
        """See `SelfPlayer`; there is nothing to end."""


def sum_of(counts: list[SelfPlayCounts], seconds: float) -> SelfPlayCounts:
    """Sum of the counts of several processes over `seconds`; the time inside the network is their mean."""
    total = SelfPlayCounts(*(sum(getattr(count, field.name) for count in counts) for field in fields(SelfPlayCounts)))
    total.network_seconds /= len(counts)
    total.seconds = seconds
    return total


BATCHES = {"cpu": 256, "cuda": 1024, "mps": 512}
"""Positions in a network call by device. Those of the cpu are measured; the others keep the device busy with small
networks, and take no more than a few hundred MiB."""

GROUPS = {"cpu": 1, "cuda": 2, "mps": 1}
"""Groups of games: on cuda the trees of one grow while the network works for the other."""

MOST_WORKERS = 8
"""A process of one thread evaluates more positions than its share of a call over all threads. But each holds half a
gigabyte, and a small share of the games."""

LEARNERS_SHARE = 0.5
"""Share of a device's memory cap, if processes play on it, too. Training holds activations, play does not; but play has
its own network, its batch and a CUDA graph."""


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
        """Groups and rows of a call in each process, for `games` parallel games in all of them together.

        The number of groups keeps a call within `batch`.
        """
        parts = ranks * self.parts
        most = max(1, self.batch // parts)
        groups = min(max(self.groups, -(-games // (parts * most))), max(1, games // parts))
        return groups, rows_of(games, parts, groups)


def placement_of(
    config: SelfPlayConfig, device: str, threads: int, ranks: int = 1, others: Sequence[str] = ()
) -> Placement:
    """The configured placement, or the best one for the type of the `device` and its processor `threads`, per rank.

    Ranks on the cpu share it, so that their calls together are no larger than those of one.

    A cpu has one process per thread. The time of its calls is proportional to their rows, so small ones lose nothing.
    cuda and mps have one process: `games` belongs to the recipe, and more processes would only cut the calls into
    smaller ones, each hardly faster. One process is enough to grow the trees and continue the games while the learner
    trains; the system shares the device between the two.

    `selfplay.devices=others` takes `others`, the devices without training, one per process. By default they stay free,
    because they may belong to other users.

    Raises:
        UsageError: there are no others.
    """
    if config.devices == "others" and not others:
        raise UsageError(
            f"selfplay.devices=others: training on {device} leaves no other device of this machine; leave it out"
        )
    devices = tuple(others) if config.devices == "others" else ()
    usual = min(threads, MOST_WORKERS) if device == "cpu" else max(1, len(devices))
    workers = min(usual if config.workers is None else config.workers, max(1, config.games // ranks))
    ahead = workers > 0 if config.ahead is None else config.ahead
    return Placement(
        batch=BATCHES[device] * (1 if device == "cpu" else ranks) if config.batch is None else config.batch,
        groups=GROUPS[device] if config.groups is None else config.groups,
        workers=workers,
        ahead=config.versions_behind if ahead else 0,
        devices=devices[:workers],
    )
