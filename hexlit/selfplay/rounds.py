"""Rounds of self-play, one for each epoch of training;
the next ones can be played while the network is trained.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from hexlit.hex.record import GameRecord
from hexlit.selfplay.actor import SelfPlayCounts, Snapshot
from hexlit.selfplay.players import RoundRequest, RoundResult, SelfPlayer
from hexlit.selfplay.store import GameStore

_SECONDS_BETWEEN_NEWS = 0.25


class Begun(NamedTuple):
    """Network of a round that has begun."""

    weights: Any
    network_version: int
    """Epochs those weights had been trained."""


class RoundState(NamedTuple):
    """State that continues self-play as if it had not been interrupted."""

    in_progress: list[Snapshot]
    """The games in progress before the next round, from `SelfPlayer.snapshot`."""
    begun: list[Begun]
    """The rounds that have begun and are not consumed, the next one first."""


@dataclass
class _Round:
    begun: Begun
    number: int = 0
    """Epoch that it is for."""
    counts: SelfPlayCounts = field(default_factory=SelfPlayCounts)
    records: list[GameRecord] = field(default_factory=list)
    ended: Future[RoundResult] | None = None


class SelfPlayRounds:
    """Plays rounds of `positions` positions or more; games are in the store as soon as they end.

    With `ahead`, `start_async` begins rounds in the background, with the weights of that moment,
    and `play` waits for the next of them. Self-play is at most `ahead` rounds ahead of training,
    and each game records the network it began with. The games do not depend on timing.
    """

    def __init__(
        self,
        player: SelfPlayer,
        store: GameStore | None,
        *,
        positions: int,
        ahead: int,
        deadline: float | None = None,
        gather: Callable[[Any], list[Any]] = lambda own: [own],
        board_of: Callable[[int], int | None] = lambda epoch: None,
    ) -> None:
        """Rounds by `player`, each on the board of its epoch, `board_of(epoch)`.

        After `deadline` (on `time.monotonic()`) they are cut short, and none begins ahead. Several
        processes that play rounds together get all games of all of them; `gather(own)` gives the
        values of all processes, in their order. One of them has the `store`.
        """
        self.player = player
        self.store = store
        self._positions = positions
        self._ahead = ahead
        self._deadline = deadline
        self._gather = gather
        self._board_of = board_of
        self._queue: deque[_Round] = deque()
        self._in_progress: list[Snapshot] = []
        # Background rounds bring games while those of this round become a part of the store.
        self._storing = threading.Lock()

    def play(
        self,
        weights: Any,
        network_version: int,
        show: Callable[[SelfPlayCounts], None],
    ) -> tuple[list[GameRecord], SelfPlayCounts]:
        """The games of the round that has begun,
        or of one with `weights`, by game id; `show` gets the progress.
        """
        current = self._queue.popleft() if self._queue else _Round(Begun(weights, network_version))
        current.number = network_version
        if current.ended is None:
            current.counts = self.player.play(self._request(current, show))
            if self._queue:
                self._in_progress = self.player.snapshot()
        else:
            while not wait([current.ended], _SECONDS_BETWEEN_NEWS).done:
                show(current.counts)
            current.counts, self._in_progress = current.ended.result()
        everyones = self._gather((current.records, current.counts))
        played, counted = (list(own) for own in zip(*everyones, strict=True))
        records = list(chain.from_iterable(played))
        counts = SelfPlayCounts.total(counted, max(count.seconds for count in counted))
        show(counts)
        if self.store is not None:
            with self._storing:
                self.store.append(records)  # the store has this process's own already
                self.store.flush()
        # The games of several workers end in any order; learning must not depend on it.
        return sorted(records, key=lambda record: record.game_id), counts

    def start_async(self, weights: Any, network_version: int) -> None:
        """Begin as many rounds as self-play may be ahead, with these weights."""
        if not self._ahead or (self._deadline is not None and time.monotonic() >= self._deadline):
            return
        while len(self._queue) < self._ahead:
            if not self._queue:
                self._in_progress = self.player.snapshot()
            self._queue.append(_Round(Begun(weights, network_version)))
        for number, waiting in enumerate(self._queue, network_version + 1):
            waiting.number = number
            if waiting.ended is None:  # new, or of a run that was resumed
                waiting.ended = self.player.start_async(self._request(waiting, lambda _: None))

    def state(self) -> RoundState:
        """The state before the next round."""
        own = self._in_progress if self._queue else self.player.snapshot()
        return RoundState(
            list(chain.from_iterable(self._gather(own))), [waiting.begun for waiting in self._queue]
        )

    def restore(self, state: RoundState) -> None:
        """Continue from `state`; rounds that were under way are begun again."""
        self.player.restore(state.in_progress)
        self._in_progress = self.player.snapshot()
        self._queue = deque(_Round(begun) for begun in state.begun)

    def close(self) -> None:
        """End the rounds under way, and the player's processes; games that have ended are kept."""
        self.player.close()
        if self.store is not None:
            self.store.close()

    def _request(self, current: _Round, show: Callable[[SelfPlayCounts], None]) -> RoundRequest:
        def on_games(records: list[GameRecord], counts: SelfPlayCounts) -> None:
            if self.store is not None:
                with self._storing:
                    self.store.append(records)
            current.records.extend(records)
            current.counts = counts
            show(counts)

        return RoundRequest(
            current.begun.weights,
            self._positions,
            current.begun.network_version,
            on_games=on_games,
            deadline=self._deadline,
            size=self._board_of(current.number),
        )
