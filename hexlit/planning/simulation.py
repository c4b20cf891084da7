"""Self-play, the transport of its games to the learner, and training, as a discrete-event simulation.

It follows the rounds of `hexlit.selfplay.rounds`: each process plays its share of an epoch's positions with one set
of weights. The learner waits for all shares, stores them, and trains. With `ahead` the next round is played meanwhile.
"""

import random
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from simpy import Environment, Event, Resource

from hexlit.planning.cluster import Cluster, Work
from hexlit.planning.cores import Cores
from hexlit.planning.pace import Pace

NICENESS_WEIGHT = 335 / 1024
"""Weight of a self-play process, five steps nicer than the training on its machine (Linux' table of weights)."""

WARM_UP = 3
"""Epochs that do not count: the first one has nothing to overlap with."""

EPOCHS = 40
"""Epochs that count."""


@dataclass(frozen=True)
class Outcome:
    """Means over the counted epochs."""

    epoch_seconds: float
    games_per_second: float
    positions_per_second: float
    """Positions searched in full per second."""
    actors_busy: float
    """Share of the time that a self-play process has work."""
    learner_busy: float
    """Share of the time that the learner trains."""
    link_busy: float
    """Share of the time that the learner's link carries data."""
    bytes_per_second: float
    staleness: float
    """Epochs between the weights that played a game and those that begin to train on it."""
    games_per_epoch: float


@dataclass
class _Counts:
    """Sums over the counted epochs; times in seconds."""

    games: int = 0
    positions: int = 0
    actors: float = 0.0
    learner: float = 0.0
    link: float = 0.0
    bytes: float = 0.0
    stale: float = 0.0
    ends: list[float] = field(default_factory=list)


class _Run:
    """One run of the recipe on the cluster."""

    def __init__(self, pace: Pace, learner: Pace, cluster: Cluster, work: Work, seed: int) -> None:
        self.env = Environment()
        self.pace, self.learner, self.cluster, self.work = pace, learner, cluster, work
        self.counts = _Counts()
        self.random = random.Random(seed)
        self.link = Resource(self.env)
        self.home = Cores(self.env, cluster.cores, learner.speed)
        self.version = 0
        """Epochs of training behind the newest weights."""
        rounds = range(WARM_UP + EPOCHS + work.ahead)  # a process plays ahead up to the last epoch
        # By number of the round: the shares that came, and events for all being there, taken, and trained on.
        self.came = [0 for _ in rounds]
        self.full, self.begun, self.trained = ([self.env.event() for _ in rounds] for _ in range(3))
        self.played_with = [0 for _ in rounds]
        slots = work.games / cluster.actors
        for _ in range(cluster.workers):
            self.env.process(self.act(self.home, None, slots, learner))
        for _ in range(cluster.hosts):
            cores = Cores(self.env, cluster.host_cores, pace.speed)
            arrived: dict[int, Event] = {}
            for _ in range(cluster.host_workers):
                self.env.process(self.act(cores, arrived, slots, pace))
        self.end = self.env.process(self.learn())

    def act(
        self, cores: Cores, arrived: dict[int, Event] | None, slots: float, pace: Pace
    ) -> Generator[Event, Any, None]:
        """A process that plays round after round; `arrived` are the weights at its host, None beside the learner."""
        share = self.work.positions / self.cluster.actors
        rate = pace.alone(slots)
        for number in range(len(self.begun)):
            before = number - max(1, self.work.ahead)
            if before >= 0:
                yield (self.begun if self.work.ahead else self.trained)[before]
            version = self.version
            if arrived is not None:
                yield from self.fetch(arrived, version)
            games, positions = self.games_of(share)
            start = self.env.now
            yield from cores.work(positions / rate, weight=NICENESS_WEIGHT)
            if self.counting:
                self.counts.actors += self.env.now - start
            if arrived is not None:
                yield from self.carry(games * pace.bytes_per_game)
            self.played_with[number] = version
            self.came[number] += 1
            if self.counting:
                self.counts.games += games
                self.counts.positions += positions
            if self.came[number] == self.cluster.actors:
                self.full[number].succeed()

    def games_of(self, share: float) -> tuple[int, int]:
        """Games, and their positions, that a process plays to fill its share."""
        games = positions = 0
        pace = self.pace
        while positions < share:
            drawn = self.random.gauss(pace.positions_per_game, pace.positions_per_game_deviation)
            positions += max(0, round(drawn))
            games += 1
        return games, positions

    def fetch(self, arrived: dict[int, Event], version: int) -> Generator[Event, Any, None]:
        """Weights travel once to a host; its other processes wait for them."""
        if version not in arrived:
            arrived[version] = self.env.event()
            yield from self.carry(self.learner.weights_bytes)
            arrived[version].succeed()
        yield arrived[version]

    def carry(self, size: float) -> Generator[Event, Any, None]:
        """Data crosses the learner's link, one item after the other."""
        with self.link.request() as turn:
            yield turn
            start = self.env.now
            yield self.env.timeout(size / self.cluster.link.bytes_per_second)
            if self.counting:
                self.counts.link += self.env.now - start
                self.counts.bytes += size
        yield self.env.timeout(self.cluster.link.latency)

    def learn(self) -> Generator[Event, Any, None]:
        """The learner: waits for a round, trains on it, publishes the weights."""
        learner, threads = self.learner, self.learner.training_threads
        seconds = self.work.trained / (learner.training_positions_per_second * self.cluster.learners)
        for number in range(WARM_UP + EPOCHS):
            yield self.full[number]
            stale = self.version - self.played_with[number]
            self.begun[number].succeed()
            start = self.env.now
            if threads:
                # The rate was measured with all of its threads busy, so it includes their mutual slowing.
                yield from self.home.work(seconds * learner.speed(threads), threads=threads)
            else:
                yield self.env.timeout(seconds)
            if self.counting:
                self.counts.learner += self.env.now - start
                self.counts.stale += stale
            self.version += 1
            self.trained[number].succeed()
            self.counts.ends.append(self.env.now)

    @property
    def counting(self) -> bool:
        """Whether the warm-up is over."""
        return len(self.counts.ends) >= WARM_UP


def simulate(pace: Pace, cluster: Cluster, work: Work, *, learner: Pace | None = None, seed: int = 0) -> Outcome:
    """The recipe's `work` on the `cluster`; its hosts have `pace`, the training machine has `learner`."""
    run = _Run(pace, learner or pace, cluster, work, seed)
    run.env.run(run.end)
    counts = run.counts
    seconds = counts.ends[-1] - counts.ends[WARM_UP - 1]
    return Outcome(
        epoch_seconds=seconds / EPOCHS,
        games_per_second=counts.games / seconds,
        positions_per_second=counts.positions / seconds,
        actors_busy=counts.actors / seconds / cluster.actors,
        learner_busy=counts.learner / seconds,
        link_busy=counts.link / seconds,
        bytes_per_second=counts.bytes / seconds,
        staleness=counts.stale / EPOCHS,
        games_per_epoch=counts.games / EPOCHS,
    )
