"""Rounds of self-play, one for each epoch of training; the next one can be played while the network is trained."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hexlit.errors import UsageError
from hexlit.hex.record import GameRecord
from hexlit.selfplay.actor import SelfPlayCounts, Snapshot
from hexlit.selfplay.reanalysis import NewTargets, PastPositions
from hexlit.selfplay.store import GameStore
from hexlit.selfplay.workers import LocalPlayer, Player

_SECONDS_BETWEEN_NEWS = 0.25


class RoundState(NamedTuple):
    """What it takes to go on with self-play as if it had not been interrupted."""

    in_progress: list[Snapshot]
    """The games in progress before the next round, as `Player.snapshot` gives them."""
    weights: Any
    """What that round is played with; None where it is not decided yet."""
    network_version: int
    """Epochs those weights had been trained."""


@dataclass
class _Round:
    weights: Any
    network_version: int
    in_progress: list[Snapshot]
    past: PastPositions | None = None
    counts: SelfPlayCounts = field(default_factory=SelfPlayCounts)
    records: list[GameRecord] = field(default_factory=list)
    targets: list[NewTargets] = field(default_factory=list)
    ended: Future[SelfPlayCounts] | None = None


class SelfPlayRounds:
    """Plays rounds of `positions` positions or more; games are in the store as soon as they end.

    A round may search `past` positions again. Each of them takes the place of a new one.

    With `ahead`, `set_off` begins the next round in the background, with the weights of that moment, and `play` waits
    for it: self-play is one round ahead of what consumes it, never more. What is played does not depend on timing.
    """

    def __init__(
        self, player: Player, store: GameStore, *, positions: int, ahead: bool, deadline: float | None = None
    ) -> None:
        """Rounds by `player`; after `deadline` (on `time.monotonic()`) they are cut short, and none is set off."""
        if ahead and isinstance(player, LocalPlayer):
            raise UsageError("selfplay.ahead=true: needs processes that play; set selfplay.workers to 1 or more")
        self.player = player
        self.store = store
        self._positions = positions
        self._ahead = ahead
        self._deadline = deadline
        self._pool = ThreadPoolExecutor(1, "self-play")
        self._next: _Round | None = None

    def play(
        self,
        weights: Any,
        network_version: int,
        show: Callable[[SelfPlayCounts], None],
        past: PastPositions | None = None,
        renew: Callable[[NewTargets], None] = lambda targets: None,
    ) -> tuple[list[GameRecord], SelfPlayCounts]:
        """The games of the round that was set off, or of one with `weights`, by game id; `show` hears how it goes.

        `renew` hears in the end what the searches of past positions have found. A round that begins only now, a
        restored one included, takes `past`.
        """
        current = self._next or _Round(weights, network_version, [])
        self._next = None
        if current.ended is None:
            current.past = past
            current.counts = self._run(current, show)
        else:
            while not wait([current.ended], _SECONDS_BETWEEN_NEWS).done:
                show(current.counts)
            current.counts = current.ended.result()
        show(current.counts)
        self.store.flush()
        for targets in current.targets:
            renew(targets)
        # Of several workers, whose games end in any order, those who learn from them must not take notice.
        return sorted(current.records, key=lambda record: record.game_id), current.counts

    def set_off(self, weights: Any, network_version: int, past: PastPositions | None = None) -> None:
        """Begin the next round now, where self-play may be ahead."""
        if self._ahead and (self._deadline is None or time.monotonic() < self._deadline):
            self._next = _Round(weights, network_version, self.player.snapshot(), past)
            self._next.ended = self._pool.submit(self._run, self._next, lambda _: None)

    def state(self) -> RoundState:
        """The state before the round that is under way, or the next one."""
        if self._next is None:
            return RoundState(self.player.snapshot(), None, 0)
        return RoundState(self._next.in_progress, self._next.weights, self._next.network_version)

    def restore(self, state: RoundState) -> None:
        """Go on from `state`; `play` begins the round that was under way again."""
        self.player.restore(state.in_progress)
        if state.weights is not None:
            self._next = _Round(state.weights, state.network_version, state.in_progress)

    def close(self) -> None:
        """End the round under way, and the player's processes; its games that have ended are kept."""
        self.player.close()
        self._pool.shutdown()
        self.store.close()

    def _run(self, current: _Round, show: Callable[[SelfPlayCounts], None]) -> SelfPlayCounts:
        def on_games(records: list[GameRecord], counts: SelfPlayCounts) -> None:
            self.store.append(records)
            current.records.extend(records)
            current.counts = counts
            show(counts)

        return self.player.play(
            current.weights,
            positions=self._positions - (0 if current.past is None else len(current.past.ply)),
            network_version=current.network_version,
            on_games=on_games,
            deadline=self._deadline,
            past=current.past,
            on_targets=current.targets.append,
        )
