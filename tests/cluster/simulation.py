"""Workers that cost nothing, and a clock that is turned by hand: what `Dispatch` decides, without Ray and without play.

A light game takes no moves to speak of: a share brings the next games of its slots, one position each.
"""

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hexlit.cluster.config import RayConfig
from hexlit.cluster.dispatch import Dispatch
from hexlit.hex.record import Ending, GameRecord
from hexlit.selfplay.actor import SelfPlayCounts, Snapshot, slots_of
from hexlit.selfplay.cluster import GameNews, Round, Share, Shares
from hexlit.selfplay.players import RoundRequest


def light_game(game_id: int, version: int) -> GameRecord:
    return GameRecord(
        game_id=game_id,
        size=2,
        swap=False,
        moves=np.array([0, 1, 2], np.int16),
        winner=1,
        ending=Ending.CONNECTED,
        values=np.zeros(3, np.float32),
        simulations=np.ones(3, np.int16),
        policy_plies=np.array([0], np.int16),
        policies=np.full((1, 4), 0.25, np.float16),
        surprises=np.zeros(1, np.float32),
        network_version=version,
    )


def first_games(games: int, parts: int) -> list[Snapshot]:
    return [{"slot.game_id": np.array(slots_of(games, part, parts), np.int64)} for part in range(parts)]


@dataclass
class LightWorkers:
    """Hands of a `Dispatch`: each worker takes `seconds(worker)` for a share, and brings it in two batches."""

    games: int
    seconds: Callable[[int], float]
    start_seconds: float = 0.0
    places: int = 10**9
    now: float = 0.0
    events: list[tuple[float, int, int, str, Any]] = field(default_factory=list)
    order: int = 0
    hired: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    present: set[int] = field(default_factory=set)
    busy: dict[int, float] = field(default_factory=dict)
    dispatch: Dispatch[Share] = field(init=False)
    shares: Shares = field(init=False)

    def clock(self) -> float:
        return self.now

    def at(self, seconds: float, worker: int, what: str, detail: Any = None) -> None:
        self.order += 1
        heapq.heappush(self.events, (self.now + seconds, self.order, worker, what, detail))

    def hire(self, worker: int) -> None:
        self.hired.append(worker)
        self.waiting.append(worker)
        self.seat()

    def seat(self) -> None:
        while self.waiting and len(self.present) < self.places:
            worker = self.waiting.pop(0)
            self.present.add(worker)
            self.at(self.start_seconds, worker, "joins")

    def give(self, worker: int, share: Share) -> None:
        assert worker in self.present
        seconds = self.seconds(worker)
        self.busy[worker] = self.busy.get(worker, 0.0) + seconds
        ids = share.start["slot.game_id"]
        rounds = -(-share.positions // len(ids))
        games = [
            light_game(int(game), share.round.request.network_version)
            for turn in range(rounds)
            for game in ids + turn * self.games
        ]
        after = {"slot.game_id": ids + rounds * self.games}
        middle = len(games) // 2
        self.at(seconds / 2, worker, "tells", (games[:middle], None))
        self.at(seconds, worker, "tells", (games[middle:], after))

    def dismiss(self, worker: int) -> None:
        self.present.discard(worker)
        if worker in self.waiting:
            self.waiting.remove(worker)
        self.seat()

    def room(self) -> str:
        return f"{self.places} places"

    def kill(self, worker: int, reason: str = "killed") -> None:
        """End `worker` as a fault of its host would, and tell so."""
        self.dismiss(worker)
        self.dispatch.lost(worker, reason)

    def step(self) -> bool:
        """Continue to the next event; False where nothing will ever happen again."""
        self.dispatch.tick()
        if not self.events:
            return False
        self.now, _, worker, what, detail = heapq.heappop(self.events)
        if worker in self.present:
            if what == "joins":
                self.dispatch.arrived(worker, f"host-{worker % 7}")
                self.dispatch.ready(worker)
            else:
                records, after = detail
                self.dispatch.heard(worker, GameNews(records, SelfPlayCounts(evaluations=1), 0.1, after))
        return True


@dataclass
class Learner:
    """Adds rounds as `SelfPlayRounds` does, `ahead` of what it trains on, and trains `seconds` on each."""

    workers: LightWorkers
    positions: int
    ahead: int
    seconds: float
    rounds: list[Round] = field(default_factory=list)
    games: list[tuple[int, int]] = field(default_factory=list)
    idle: float = 0.0
    most_open: int = 0

    def add(self, version: int) -> None:
        def keep(records: list[GameRecord], counts: SelfPlayCounts) -> None:
            self.games.extend((record.game_id, record.network_version) for record in records)

        self.rounds.append(Round(RoundRequest(None, self.positions, version, keep), begun=self.workers.now))
        self.workers.shares.add(self.rounds[-1])
        self.most_open = max(self.most_open, len(self.workers.shares._rounds))

    def learn(self, epochs: int, between: Callable[[], None] = lambda: None) -> None:
        """Consume `epochs` rounds, while the workers continue."""
        for epoch in range(epochs):
            while len(self.rounds) <= epoch:
                self.add(epoch)
            began = self.workers.now
            while not self.rounds[epoch].ended.done():
                between()
                assert self.workers.step(), "nothing moves any more"
            self.idle += self.workers.now - began
            while len(self.rounds) <= epoch + self.ahead:
                self.add(epoch)
            self.workers.dispatch.tick()
            end = self.workers.now + self.seconds
            while self.workers.events and self.workers.events[0][0] <= end:
                between()
                self.workers.step()
            self.workers.now = max(self.workers.now, end)


def set_up(
    games: int, parts: int, seconds: Callable[[int], float], *, config: RayConfig | None = None, places: int = 10**9
) -> LightWorkers:
    """`parts` workers with `games` slots in all, ready to start."""
    workers = LightWorkers(games, seconds, places=places)
    workers.shares = Shares(games, first_games(games, parts), workers.clock)
    workers.dispatch = Dispatch(workers, workers.shares, config or RayConfig(), workers.clock)
    workers.dispatch.open()
    return workers


def killer(workers: LightWorkers, chance: random.Random, share: float, most: int) -> Callable[[], None]:
    """Before each event, with a chance of `share`, ends a worker that is there; `most` times at most."""
    left = most

    def maybe() -> None:
        nonlocal left
        if left and workers.present and chance.random() < share:
            left -= 1
            workers.kill(chance.choice(sorted(workers.present)))

    return maybe
