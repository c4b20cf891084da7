"""The interface of all players of self-play games, and the player in this process."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, Protocol, runtime_checkable

from hexlit.hex.record import GameRecord
from hexlit.search.evaluator import Evaluator, UniformEvaluator
from hexlit.selfplay.actor import SelfPlay, SelfPlayCounts, Snapshot, part_of, share_of
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
class Order:
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


class Played(NamedTuple):
    """A round of self-play that has ended."""

    counts: SelfPlayCounts
    in_progress: list[Snapshot]
    """The games in progress after the round, from `SelfPlayer.snapshot`."""


@dataclass(frozen=True)
class Workplace:
    """Settings of a player, in this process or in another one; they can be sent there."""

    settings: dict[str, Any]
    """Arguments of `SelfPlay`."""
    make_host: Callable[[], NetworkHost]
    """Makes the evaluator's host, in the process that plays."""
    hosts: tuple[Callable[[], NetworkHost], ...] = ()
    """Makers for the processes that play, in turn, if they differ: each may have another device."""

    def of_process(self, number: int, part: int, parts: int) -> "Workplace":
        """The workplace of process `number`, which plays part number `part` of `parts`."""
        make_host = self.hosts[number % len(self.hosts)] if self.hosts else self.make_host
        return Workplace(self.settings | {"part": part, "parts": parts}, make_host)


class SelfPlayer(Protocol):
    """Plays the games of an epoch, here or elsewhere."""

    def prepare(self) -> None:
        """Compile or load the kernels of play."""
        ...

    def play(self, order: Order) -> SelfPlayCounts:
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

    def begin(self, order: Order) -> Future[Played]:
        """As `play`, for the games after the round begun before; the functions of `order` run in another thread."""
        ...


class LocalPlayer:
    """Plays in this process."""

    def __init__(self, workplace: Workplace) -> None:
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

    def play(self, order: Order) -> SelfPlayCounts:
        """See `SelfPlayer`."""
        evaluator = self._host.refreshed(order.weights)
        counts = self._actor.play(
            evaluator,
            positions=share_of(order.positions, *self._share),
            network_version=order.network_version,
            on_games=order.on_games,
            deadline=order.deadline,
        )
        again = None if order.past is None else order.past.part(*self._share[1:])
        if again is not None and len(again.ply) and (order.deadline is None or time.monotonic() < order.deadline):
            order.on_targets(self._actor.search_again(evaluator, again, counts))
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
