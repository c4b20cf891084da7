"""Rounds of self-play, one for each epoch of training; the next one can be played while the network is trained."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hexlit.errors import UsageError
from hexlit.hex.record import GameRecord
from hexlit.selfplay.actor import SelfPlayCounts, Snapshot
from hexlit.selfplay.store import GameStore
from hexlit.selfplay.workers import LocalPlayer, Player, total_of

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
    counts: SelfPlayCounts = field(default_factory=SelfPlayCounts)
    records: list[GameRecord] = field(default_factory=list)
    ended: Future[SelfPlayCounts] | None = None


class SelfPlayRounds:
    """Plays rounds of `positions` positions or more; games are in the store as soon as they end.

    With `ahead`, `set_off` begins the next round in the background, with the weights of that moment, and `play` waits
    for it: self-play is one round ahead of what consumes it, never more. What is played does not depend on timing.
    """

    def __init__(
        self,
        player: Player,
        store: GameStore | None,
        *,
        positions: int,
        ahead: bool,
        deadline: float | None = None,
        gather: Callable[[Any], list[Any]] = lambda own: [own],
    ) -> None:
        """Rounds by `player`; after `deadline` (on `time.monotonic()`) they are cut short, and none is set off.

        Where several processes play rounds together, all of them have all games; `gather(own)` is what each of them
        has of something, in their order. One of them has the `store`.
        """
        if ahead and isinstance(player, LocalPlayer):
            raise UsageError("selfplay.ahead=true: needs processes that play; set selfplay.workers to 1 or more")
        self.player = player
        self.store = store
        self._positions = positions
        self._ahead = ahead
        self._deadline = deadline
        self._gather = gather
        self._pool = ThreadPoolExecutor(1, "self-play")
        self._next: _Round | None = None

    def play(
        self, weights: Any, network_version: int, show: Callable[[SelfPlayCounts], None]
    ) -> tuple[list[GameRecord], SelfPlayCounts]:
        """The games of the round that was set off, or of one with `weights`, by game id; `show` hears how it goes."""
        current = self._next or _Round(weights, network_version, [])
        self._next = None
        if current.ended is None:
            current.counts = self._run(current, show)
        else:
            while not wait([current.ended], _SECONDS_BETWEEN_NEWS).done:
                show(current.counts)
            current.counts = current.ended.result()
        played = self._gather((current.records, current.counts))
        records = [record for some, _ in played for record in some]
        counts = total_of([counts for _, counts in played], max(counts.seconds for _, counts in played))
        show(counts)
        if self.store is not None:
            self.store.append(records)  # which has this process's own already
            self.store.flush()
        # Of several workers, whose games end in any order, those who learn from them must not take notice.
        return sorted(records, key=lambda record: record.game_id), counts

    def set_off(self, weights: Any, network_version: int) -> None:
        """Begin the next round now, where self-play may be ahead."""
        if self._ahead and (self._deadline is None or time.monotonic() < self._deadline):
            self._next = _Round(weights, network_version, self.player.snapshot())
            self._next.ended = self._pool.submit(self._run, self._next, lambda _: None)

    def state(self) -> RoundState:
        """The state before the round that is under way, or the next one."""
        own = self.player.snapshot() if self._next is None else self._next.in_progress
        in_progress = [snapshot for some in self._gather(own) for snapshot in some]
        if self._next is None:
            return RoundState(in_progress, None, 0)
        return RoundState(in_progress, self._next.weights, self._next.network_version)

    def restore(self, state: RoundState) -> None:
        """Go on from `state`; `play` begins the round that was under way again."""
        self.player.restore(state.in_progress)
        if state.weights is not None:
            self._next = _Round(state.weights, state.network_version, self.player.snapshot())

    def close(self) -> None:
        """End the round under way, and the player's processes; its games that have ended are kept."""
        self.player.close()
        self._pool.shutdown()
        if self.store is not None:
            self.store.close()

    def _run(self, current: _Round, show: Callable[[SelfPlayCounts], None]) -> SelfPlayCounts:
        def on_games(records: list[GameRecord], counts: SelfPlayCounts) -> None:
            if self.store is not None:
                self.store.append(records)
            current.records.extend(records)
            current.counts = counts
            show(counts)

        return self.player.play(
            current.weights,
            positions=self._positions,
            network_version=current.network_version,
            on_games=on_games,
            deadline=self._deadline,
        )
