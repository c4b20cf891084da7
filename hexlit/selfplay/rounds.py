"""Rounds of self-play, one for each epoch of training; the next one can be played while the network
is trained.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from hexlit.hex.record import GameRecord
from hexlit.selfplay.actor import SelfPlayCounts, Snapshot
from hexlit.selfplay.store import GameStore
from hexlit.selfplay.workers import RoundRequest, SelfPlayer

_PROGRESS_INTERVAL = 0.25
"""Seconds between two displays of the progress."""


class Begun(NamedTuple):
    """Network of a round that has begun."""

    weights: Any
    network_version: int
    """Epochs those weights had been trained."""


class RoundState(NamedTuple):
    """State that continues self-play as if it had not been interrupted."""

    in_progress: list[Snapshot]
    """The games in progress before the next round, from `SelfPlayer.snapshot`."""
    begun: Begun | None
    """The next round, if it has begun."""


@dataclass
class _Round:
    begun: Begun
    epoch: int = 0
    """Epoch that learns from it."""
    counts: SelfPlayCounts = field(default_factory=SelfPlayCounts)
    records: list[GameRecord] = field(default_factory=list)
    ended: Future[SelfPlayCounts] | None = None


def _ignore(counts: SelfPlayCounts) -> None:
    """Show no progress."""


class SelfPlayRounds:
    """Plays rounds of `positions` positions or more; games are in the store as soon as they end.

    With `ahead`, `start_async` begins the next round in the background, with the weights of that
    moment, and `play` waits for it. Each game records the network it began with. The games do not
    depend on timing.
    """

    def __init__(
        self,
        player: SelfPlayer,
        store: GameStore | None,
        *,
        positions: int,
        ahead: bool,
        deadline: float | None = None,
        gather: Callable[[Any], list[Any]] = lambda value: [value],
        board_of: Callable[[int], int | None] = lambda epoch: None,
    ) -> None:
        """Rounds by `player`, each on the board of its epoch, `board_of(epoch)`.

        After `deadline` (on `time.monotonic()`) they are cut short, and none begins ahead. Several
        processes that play rounds together get all games of all of them; `gather(value)` gives the
        values of all processes, in their order. One of them has the `store`.
        """
        self.player = player
        self.store = store
        self._positions = positions
        self._ahead = ahead
        self._deadline = deadline
        self._gather = gather
        self._board_of = board_of
        self._next: _Round | None = None
        self._in_progress: list[Snapshot] = []

    def play(
        self,
        weights: Any,
        network_version: int,
        show: Callable[[SelfPlayCounts], None],
    ) -> tuple[list[GameRecord], SelfPlayCounts]:
        """The games of the round that has begun, or of one with `weights`, by game id; `show` gets
        the progress.
        """
        current = self._next or _Round(Begun(weights, network_version))
        self._next = None
        current.epoch = network_version
        if current.ended is None:  # new, or of a run that was resumed
            current.counts = self.player.play(self._request(current, show))
        else:
            while not wait([current.ended], _PROGRESS_INTERVAL).done:
                show(current.counts)
            current.counts = current.ended.result()
        records: list[GameRecord] = []
        all_counts: list[SelfPlayCounts] = []
        for process_records, process_counts in self._gather((current.records, current.counts)):
            records += process_records
            all_counts.append(process_counts)
        seconds = max(counts.seconds for counts in all_counts)
        counts = SelfPlayCounts.total(all_counts, seconds)
        show(counts)
        if self.store is not None:
            self.store.append(records)  # the store has the games of this process already
            self.store.flush()
        # The games of several workers end in any order; learning must not depend on it.
        return sorted(records, key=lambda record: record.game_id), counts

    def start_async(self, weights: Any, network_version: int) -> None:
        """Begin the next round with these weights, if self-play is ahead."""
        late = self._deadline is not None and time.monotonic() >= self._deadline
        if late or not self._ahead:
            return
        self._in_progress = self.player.snapshot()
        self._next = _Round(Begun(weights, network_version), network_version + 1)
        self._next.ended = self.player.start_async(self._request(self._next, _ignore))

    def state(self) -> RoundState:
        """The state before the next round."""
        in_progress = self._in_progress if self._next else self.player.snapshot()
        of_all_processes = list(chain.from_iterable(self._gather(in_progress)))
        begun = self._next.begun if self._next else None
        return RoundState(of_all_processes, begun)

    def restore(self, state: RoundState) -> None:
        """Continue from `state`; a round that was being played begins again."""
        self.player.restore(state.in_progress)
        self._in_progress = self.player.snapshot()
        self._next = _Round(state.begun) if state.begun else None

    def close(self) -> None:
        """End the round being played, and the player's processes; games that have ended are kept."""
        self.player.close()
        if self.store is not None:
            self.store.close()

    def _request(self, current: _Round, show: Callable[[SelfPlayCounts], None]) -> RoundRequest:
        def on_games(records: list[GameRecord], counts: SelfPlayCounts) -> None:
            if self.store is not None:
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
            size=self._board_of(current.epoch),
        )
