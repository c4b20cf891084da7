"""Time of a recipe on machines that one does not have: a formula on the rates that `hexlit bench what=pace` measures.

An epoch follows the rounds of `hexlit.selfplay.rounds`: each process plays its share of the epoch's positions, in whole
games; the learner waits for all shares and trains on them. With `ahead` it trains while the next round is played.
"""

import json
import math
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from hexlit.errors import UsageError
from hexlit.settings import Settings, number

MEASURE = "hexlit bench what=pace experiment=NAME output=FOLDER writes them"
MEGABIT = 1e6 / 8
NICENESS_WEIGHT = 335 / 1024
"""Weight of a self-play process, five steps nicer than the training on its machine (Linux' table of weights)."""
BUSY = 0.9
"""A part with at least this share of busy time is the limit of all others."""
NETWORK_FACTOR = 10


@dataclass
class ActorRate(Settings, section="pace.actors"):
    """Self-play of some parallel processes with one thread each."""

    processes: int = number(0, "[1, inf)")
    games: int = number(0, "[1, inf)")
    """Games at a time in each process: rows of its network calls."""
    positions_per_second: float = number(0.0, "(0, inf)")
    """Positions searched in full per second, of all processes together."""


@dataclass
class Pace(Settings, section="pace"):
    """The work of one machine per second, and the content of a game: the section `pace` of `bench.json`."""

    cores: int = number(0, "[1, inf)")
    """Threads of self-play and training in the measurement."""
    actors: list[ActorRate] = field(default_factory=list)
    """Rates of one process with many and with few games, and of a process on each core."""
    training_positions_per_second: float = number(0.0, "(0, inf)")
    training_threads: int = number(-1, "[0, inf)")
    """Processor threads that a training step keeps busy; 0 if a device does the work."""
    positions_per_game: float = number(0.0, "(0, inf)")
    positions_per_game_deviation: float = number(-1.0, "[0, inf)")
    """Standard deviation of the positions of a game."""
    bytes_per_game: float = number(0.0, "(0, inf)")
    """Size of a game's record sent to the learner, in bytes."""
    weights_bytes: float = number(0.0, "(0, inf)")
    """Size of the network's weights sent to the players, in bytes."""

    @classmethod
    def read(cls, path: Path) -> "Pace":
        """The section `pace` of a file written by `hexlit bench`, or of `bench.json` in a folder.

        Raises:
            UsageError: there is no such file, it is no JSON, or its figures are missing or out of range.
        """
        try:
            result = json.loads((path / "bench.json" if path.is_dir() else path).read_text(encoding="utf-8"))
            pace = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(cls), result["pace"]))
            assert isinstance(pace, cls)
        except OSError as error:
            raise UsageError(f"rates={path}: cannot be read ({error.strerror}); {MEASURE}") from error
        except (ValueError, LookupError, TypeError, OmegaConfBaseException) as error:
            why = ", ".join(line.strip() for line in str(error).splitlines()[:2])
            raise UsageError(f"rates={path}: holds no figures of what=pace ({why}); {MEASURE}") from error
        if not any(actor.processes == 1 for actor in pace.actors):
            raise UsageError(f"rates={path}: pace.actors must hold the rate of one process alone; {MEASURE}")
        return pace

    def alone(self, games: float) -> float:
        """Positions per second of one process with `games` at a time and a core of its own.

        Between measured numbers of games the rate follows their logarithm; beyond them it is that of the nearest.
        """
        rows = sorted((actor.games, actor.positions_per_second) for actor in self.actors if actor.processes == 1)
        if games <= rows[0][0]:
            return rows[0][1] * min(1.0, games / rows[0][0])
        for (low, low_rate), (high, high_rate) in pairwise(rows):
            if games <= high:
                return low_rate + math.log(games / low) / math.log(high / low) * (high_rate - low_rate)
        return rows[-1][1]

    def speed(self, busy: float) -> float:
        """Speed of each of `busy` busy threads of the machine, as a share of that of a single one.

        Threads share caches, memory and often the units of a core. Only the full number of cores was measured; the
        speed falls evenly up to that number.
        """
        together = [actor for actor in self.actors if actor.processes > 1]
        if not together or busy <= 1:
            return 1.0
        most = max(together, key=lambda actor: actor.processes)
        least = most.positions_per_second / most.processes / self.alone(most.games)
        return 1.0 + (min(busy, most.processes) - 1) / (most.processes - 1) * (least - 1.0)


@dataclass(frozen=True)
class Machines:
    """One machine that trains, and may also play; others that only play."""

    cores: int
    workers: int
    hosts: int
    host_cores: int
    host_workers: int
    devices: int
    scaling: float
    """Share of one device's rate that each further device adds."""
    bytes_per_second: float
    """Of the learner's network."""
    latency: float
    """Of that network, in seconds."""

    @property
    def actors(self) -> int:
        """Number of playing processes on all machines."""
        return self.workers + self.hosts * self.host_workers


@dataclass(frozen=True)
class Outcome:
    """Rates of the recipe, once the first epochs are over."""

    epoch_seconds: float
    games_per_second: float
    positions_per_second: float
    """Positions searched in full per second."""
    actors_busy: float
    """Share of the time that a self-play process has work."""
    learner_busy: float
    """Share of the time that the learner trains."""
    link_busy: float
    """Share of the time that the learner's network carries data."""
    bytes_per_second: float
    staleness: float
    """Epochs between the weights that played a game and those that begin to train on it."""
    games_per_epoch: float


@dataclass(frozen=True)
class Plan:
    """The machines, the recipe, and their measured rates."""

    pace: Pace
    """Of the machines that play."""
    learner: Pace
    machines: Machines
    positions: int
    """Least number of positions in an epoch's games."""
    games: int
    """Games at a time, in all processes together."""
    trained: int
    """Positions that the epoch trains on: whole batches."""
    ahead: int
    """Epochs that self-play may be ahead of the training; 0 takes turns."""

    def outcome(self) -> Outcome:
        """What the recipe comes to on these machines."""
        machines, learner = self.machines, self.learner
        games = self._games_of_a_share()
        positions, slots = games * self.pace.positions_per_game, self.games / machines.actors
        devices = 1 + (machines.devices - 1) * machines.scaling
        training = self.trained / (learner.training_positions_per_second * devices)
        beside = positions / learner.alone(slots)
        home = _seconds(beside, machines.workers, machines.cores, learner) if machines.workers else 0.0
        away = _seconds(positions / self.pace.alone(slots), machines.host_workers, machines.host_cores, self.pace)
        of_a_host = learner.weights_bytes + machines.host_workers * games * self.pace.bytes_per_game
        sent = machines.hosts * of_a_host
        carried = sent / machines.bytes_per_second
        if self.ahead and machines.workers and learner.training_threads:
            training, home = _side_by_side(training, beside, machines, learner)
        # Further ahead, hosts play at different times, so that one seldom waits for the network of another.
        queue = carried if self.ahead < 2 else of_a_host / machines.bytes_per_second
        remote = max(away + queue + 2 * machines.latency, carried) if machines.hosts else 0.0
        played = max(home, remote)
        epoch = max(played, training) if self.ahead else played + training
        busy = (home * machines.workers + away * machines.hosts * machines.host_workers) / machines.actors
        return Outcome(
            epoch_seconds=epoch,
            games_per_second=games * machines.actors / epoch,
            positions_per_second=positions * machines.actors / epoch,
            actors_busy=busy / epoch,
            learner_busy=training / epoch,
            link_busy=carried / epoch,
            bytes_per_second=sent / epoch,
            staleness=self.ahead if training >= played else min(self.ahead, 1),
            games_per_epoch=games * machines.actors,
        )

    def _games_of_a_share(self) -> float:
        """Mean number of whole games until one process has its share of the positions.

        It is 1 and the probability of each number of games that they are too few; their positions add up to about a
        normal distribution.
        """
        share, mean = self.positions / self.machines.actors, self.pace.positions_per_game
        deviation = max(self.pace.positions_per_game_deviation, 1e-9)
        most = math.ceil(share / mean + 10 * deviation / mean * math.sqrt(share / mean)) + 10
        sums = (NormalDist(count * mean, math.sqrt(count) * deviation) for count in range(1, most))
        return 1 + sum(one.cdf(share - 0.5) for one in sums)


def _seconds(work: float, processes: int, cores: int, pace: Pace) -> float:
    """Time of processes that each have `work`, in seconds of a core of their own."""
    return work / (min(1.0, cores / processes) * pace.speed(min(cores, processes)))


def _side_by_side(training: float, playing: float, machines: Machines, pace: Pace) -> tuple[float, float]:
    """Times of the training, and of the processes beside it, that begin together and share the cores by weight."""
    cores, threads, workers = machines.cores, pace.training_threads, machines.workers
    alone = [training, _seconds(playing, workers, cores, pace)]
    share = min(1.0, cores / (threads + workers * NICENESS_WEIGHT))
    rest = min(1.0, (cores - share * threads) / workers)
    speed = pace.speed(min(cores, threads + workers))
    # The rate of training was measured with all of its threads busy, so it includes their mutual slowing.
    together = [training * pace.speed(threads) / (share * speed), playing / (rest * speed)]
    first = min(together)
    return (*(first + (1 - first / both) * own for both, own in zip(together, alone, strict=True)),)  # type: ignore[return-value]


def changes(plan: Plan) -> list[tuple[str, Plan]]:
    """Half and twice the playing processes, twice the training, a faster network, and self-play further ahead."""
    machines = plan.machines
    kind, count = ("hosts", machines.hosts) if machines.hosts else ("workers", machines.workers)
    tried: dict[str, dict[str, Any]] = {f"{count // 2} {kind}": {kind: count // 2}} if count > 1 else {}
    tried[f"{count * 2} {kind}"] = {kind: count * 2}
    if machines.hosts:
        tried[f"network × {NETWORK_FACTOR}"] = {"bytes_per_second": machines.bytes_per_second * NETWORK_FACTOR}
    tried[f"{machines.devices * 2} devices train"] = {"devices": machines.devices * 2}
    result = [(what, replace(plan, machines=replace(machines, **changed))) for what, changed in tried.items()]
    result.append((f"ahead={plan.ahead + 1}", replace(plan, ahead=plan.ahead + 1)))
    return [(what, changed) for what, changed in result if changed.games >= changed.machines.actors]


def limit(plan: Plan, outcome: Outcome) -> str:
    """The part that the others wait for, in a sentence."""
    if outcome.learner_busy >= BUSY:
        return "Training is the limit: further processes that play would wait."
    if outcome.link_busy >= BUSY:
        return "The learner's network is the limit: records and weights wait for one another."
    if outcome.actors_busy >= BUSY:
        return "Self-play is the limit: the learner waits for games."
    if plan.ahead == 0:
        return "Self-play and training take turns: each waits for the other."
    return "No part is busy all the time: an epoch's shares are uneven, and all wait for the last one."
