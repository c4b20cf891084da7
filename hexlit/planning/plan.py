"""Time of a recipe on machines that one does not have: a formula on the rates that `hexlit bench
what=pace` measures.

An epoch follows the rounds of `hexlit.selfplay.rounds`: each process plays its share of the epoch's
positions, in whole games; the learner waits for all shares and trains on them. With `ahead` it
trains while the next round is played.
"""

import math
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from hexlit.settings import Settings, number

MEGABIT = 1e6 / 8
LATENCY = 0.001
"""Seconds that a message takes between two machines. It is assumed, like the next one."""
GPU_SCALING = 0.9
"""Share of one device's rate that each further device adds."""
NICENESS_WEIGHT = 335 / 1024
"""Weight of a self-play process, five steps nicer than the training on its machine (Linux' table of
weights).
"""


@dataclass
class TargetConfig(Settings, section="target"):
    """Target of the run; without one the recipe's `trainer.max_epochs`."""

    epochs: int | None = number(None, "[1, inf)")
    """Number of epochs to reach."""
    games: int | None = number(None, "[1, inf)")
    """Number of self-play games to reach."""


@dataclass
class PlanConfig(Settings):
    """The machines of a plan, and their rates: one machine that trains, and may also play; others
    that only play.
    """

    rates: str | None = None
    """Folder or file written by `hexlit bench what=pace experiment=NAME output=FOLDER` on the
    playing machine.
    """
    workers: int | None = number(None, "[0, inf)")
    """Processes that play on the training machine. Null: 0 with `hosts`, otherwise one per core."""
    hosts: int = number(0, "[0, inf)")
    """Number of further machines, which only play."""
    host_cores: int | None = number(None, "[1, inf)")
    """Cores of each further machine, each with a process that plays. Null: those of the measured
    machine.
    """
    cores: int | None = number(None, "[1, inf)")
    """Cores of the training machine. Null: those of the measured machine."""
    gpus: int = number(1, "[1, inf)")
    """Number of devices that train together; the measured rate is that of one."""
    ahead: bool | None = None
    """Whether self-play is an epoch ahead of the training. Null: from `selfplay.ahead`."""
    network: float = number(1000.0, "(0, inf)", unit="megabits per second")
    """Speed of the training machine's network, in megabits per second."""
    host_price: float = number(0.0, "[0, inf)")
    """Price of a playing machine per hour, in any currency."""
    learner_price: float = number(0.0, "[0, inf)")
    """Price of the training machine per hour."""
    json: bool = False
    """Whether to print one JSON object instead of text."""
    target: TargetConfig = field(default_factory=TargetConfig)

    @property
    def actors(self) -> int:
        """Number of playing processes on all machines, once null is replaced."""
        return (self.workers or 0) + self.hosts * (self.host_cores or 0)


@dataclass(frozen=True)
class Pace:
    """The work of one machine per second, and the content of a game: the section `pace` of
    `bench.json`.
    """

    cores: int
    """Threads of self-play and training in the measurement."""
    actors: list[dict[str, float]]
    """Rates of one process with many and with few games, and of a process on each core:
    `processes`, `games` at a time in each, `positions_per_second` searched in full by all together.
    """
    training_positions_per_second: float
    training_threads: int
    """Processor threads that a training step keeps busy; 0 if a device does the work."""
    positions_per_game: float
    positions_per_game_deviation: float
    """Standard deviation of the positions of a game."""
    bytes_per_game: float
    """Size of a game's record sent to the learner, in bytes."""
    weights_bytes: float
    """Size of the network's weights sent to the players, in bytes."""

    def alone(self, games: float) -> float:
        """Positions per second of one process with `games` at a time, alone on a core.

        Between measured numbers of games the rate follows their logarithm; beyond them it is that
        of the nearest.
        """
        alone = [one for one in self.actors if one["processes"] == 1]
        alone.sort(key=lambda one: (one["games"], one["positions_per_second"]))
        counts = [one["games"] for one in alone]
        rates = [one["positions_per_second"] for one in alone]
        rate = np.interp(math.log(games), np.log(counts), rates)
        share_of_fewest = min(1.0, games / counts[0])
        return float(share_of_fewest * rate)

    def speed(self, busy: float) -> float:
        """Speed of each of `busy` busy threads of the machine, as a share of that of a single one.

        Threads share caches, memory and often the units of a core. Only the full number of cores
        was measured; the speed falls evenly up to that number.
        """
        fullest = max(self.actors, key=lambda actor: actor["processes"])
        processes = fullest["processes"]
        rate_each = fullest["positions_per_second"] / processes
        slowest = rate_each / self.alone(fullest["games"])
        return float(np.interp(busy, (1, processes), (1.0, slowest)))

    def games_of_a_share(self, positions: float) -> float:
        """Mean number of whole games until one process has its share of the positions.

        It is 1 and the probability of each number of games that they are too few; their positions
        add up to about a normal distribution.
        """
        mean = self.positions_per_game
        deviation = max(self.positions_per_game_deviation, 1e-9)
        games = positions / mean
        most = math.ceil(games + 10 * deviation / mean * math.sqrt(games)) + 10
        too_few = []
        for count in range(1, most):
            positions_of_games = NormalDist(count * mean, math.sqrt(count) * deviation)
            too_few.append(positions_of_games.cdf(positions - 0.5))
        return 1 + math.fsum(too_few)

    def seconds(self, work: float, processes: int, cores: int) -> float:
        """Time of `processes` that each have `work`, in seconds of a core."""
        if processes == 0:
            return 0.0
        share_of_core = min(1.0, cores / processes)
        return work / (share_of_core * self.speed(min(cores, processes)))


def epoch_of(
    machines: PlanConfig, pace: Pace, *, positions: int, games: int, trained: int
) -> dict[str, float]:
    """Rates of a recipe on these machines, once the first epochs are over.

    Args:
        machines: without null.
        pace: of each machine.
        positions: least number of positions in an epoch's games.
        games: games at a time, in all processes together.
        trained: positions that the epoch trains on: whole batches.

    Returns:
        `epoch_seconds`, `games_per_second`, `positions_per_second` searched in full,
        `games_per_epoch`; the share of the time that a self-play process has work (`actors_busy`),
        that the learner trains (`learner_busy`), and that its network carries data (`link_busy`);
        its `bytes_per_second`; and `staleness`, epochs between the weights that played a game and
        those that begin to train on it.
    """
    workers = machines.workers or 0
    host_workers = machines.host_cores or 0
    ahead = bool(machines.ahead)
    actors = machines.actors
    cores = machines.cores or 0
    share = pace.games_of_a_share(positions / actors)
    work = share * pace.positions_per_game
    slots = games / actors
    speedup = 1 + (machines.gpus - 1) * GPU_SCALING
    training = trained / pace.training_positions_per_second / speedup
    work_seconds = work / pace.alone(slots)
    home = pace.seconds(work_seconds, workers, cores)
    away = pace.seconds(work_seconds, host_workers, host_workers)
    if ahead and workers and pace.training_threads:
        training, home = _side_by_side(training, work_seconds, workers, cores, pace)
    host_bytes = pace.weights_bytes + host_workers * share * pace.bytes_per_game
    all_bytes = machines.hosts * host_bytes
    speed = machines.network * MEGABIT
    remote = away + all_bytes / speed + 2 * LATENCY if machines.hosts else 0.0
    played = max(home, remote)
    seconds = max(played, training) if ahead else played + training
    busy = home * workers + away * machines.hosts * host_workers
    return {
        "epoch_seconds": seconds,
        "games_per_second": share * actors / seconds,
        "positions_per_second": work * actors / seconds,
        "actors_busy": busy / actors / seconds,
        "learner_busy": training / seconds,
        "link_busy": all_bytes / speed / seconds,
        "bytes_per_second": all_bytes / seconds,
        "staleness": float(ahead),
        "games_per_epoch": share * actors,
    }


def _side_by_side(
    training: float, playing: float, workers: int, cores: int, pace: Pace
) -> tuple[float, float]:
    """Times of the training, and of the processes next to it, that begin together and share the
    cores by weight.
    """
    threads = pace.training_threads
    share = min(1.0, cores / (threads + workers * NICENESS_WEIGHT))
    speed = pace.speed(min(cores, threads + workers))
    # The rate of training was measured with all of its threads busy, so it includes their mutual
    # slowing.
    trains = training * pace.speed(threads) / (share * speed)
    plays = playing / (min(1.0, (cores - share * threads) / workers) * speed)
    # When the first one has ended, the other is alone.
    together = min(trains, plays)
    trains_alone = (1 - together / trains) * training
    plays_alone = (1 - together / plays) * pace.seconds(playing, workers, cores)
    return float(together + trains_alone), float(together + plays_alone)
