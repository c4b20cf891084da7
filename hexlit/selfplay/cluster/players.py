"""Self-play by the actors of a Ray cluster, behind the same calls as self-play on this machine."""

import time
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any

from hexlit.cluster.actors import Actors
from hexlit.cluster.config import RayConfig
from hexlit.selfplay.actor import SelfPlay, SelfPlayCounts, Snapshot
from hexlit.selfplay.cluster.game_actor import GameActor
from hexlit.selfplay.cluster.shares import Round, Share, Shares, check_parts
from hexlit.selfplay.player import PlayerSettings, RoundRequest, RoundResult


class RayPlayers:
    """Plays on the cluster of `config`: a `BackgroundSelfPlayer` whose rounds overlap.

    Its games are those of `WorkerPlayers` with as many workers. The end of an actor or of a node costs only the shares
    played there at the time. The end of this process ends all actors.
    """

    def __init__(self, workplace: PlayerSettings, parts: int, config: RayConfig) -> None:
        """Join the cluster, with `parts` actors for the games of `workplace`.

        Raises:
            UsageError: there is no such cluster.
        """
        self._workplace = workplace
        self._parts = parts
        self._actors: Actors[Share] = Actors(config, parts, GameActor, "self-play")
        self._in_progress: list[Snapshot] | Future[RoundResult] | None = None
        self._published: tuple[Any, Any] | None = None
        self._shares: Shares | None = None

    def prepare(self) -> None:
        """See `SelfPlayer`. It waits until one actor can play; the others join when they can."""
        self._start()
        self._actors.wait()

    def start_async(self, request: RoundRequest) -> Future[RoundResult]:
        """See `BackgroundSelfPlayer`. Weights go to the cluster once, however many rounds are played with them."""
        assert request.past is None, "the configuration refuses reanalysis on Ray"
        shares = self._start()
        if self._published is None or self._published[0] is not request.weights:
            self._published = request.weights, self._actors.put(request.weights)
        round_ = Round(replace(request, weights=self._published[1]), time.monotonic())
        self._in_progress = round_.ended
        self._actors.order(lambda: shares.add(round_))
        return round_.ended

    def play(self, request: RoundRequest) -> SelfPlayCounts:
        """See `SelfPlayer`."""
        return self.start_async(request).result().counts

    def snapshot(self) -> list[Snapshot]:
        """See `SelfPlayer`; it waits for the last round that was begun."""
        if self._in_progress is None:
            settings = self._workplace.settings | {"parts": self._parts}
            self._in_progress = [SelfPlay(**settings | {"part": part}).snapshot() for part in range(self._parts)]
        if isinstance(self._in_progress, Future):
            return self._in_progress.result().in_progress
        return self._in_progress

    def restore(self, snapshots: list[Snapshot]) -> None:
        """See `SelfPlayer`; not while a round is played."""
        check_parts(snapshots, self._parts)
        self._in_progress = snapshots
        if self._shares is not None:
            self._actors.order(partial(self._shares.restart, snapshots))

    def cpu_seconds(self) -> float:
        """See `SelfPlayer`: of the actors, wherever they are."""
        return self._actors.cpu_seconds()

    @property
    def ready(self) -> int:
        """Actors that can play now."""
        return self._actors.ready

    def close(self) -> None:
        """See `SelfPlayer`."""
        self._actors.close()

    def _start(self) -> Shares:
        if self._shares is None:
            starts = self.snapshot()
            self._shares = Shares(self._workplace.settings["games"], starts, time.monotonic)
            self._actors.start(self._shares, self._actors.put(self._workplace), self._parts)
        return self._shares
