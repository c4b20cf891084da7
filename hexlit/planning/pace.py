"""The measured rates of a machine and a recipe that a plan starts from: the section `pace` of `bench.json`."""

import json
import math
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

from hexlit.errors import UsageError

MEASURE = "hexlit bench what=pace experiment=NAME output=FOLDER writes them"


@dataclass(frozen=True)
class ActorRate:
    """Self-play of some processes side by side, each of one thread."""

    processes: int
    games: int
    """Games side by side in each process: rows of its network calls."""
    positions_per_second: float
    """Positions searched in full, of all processes together."""


@dataclass(frozen=True)
class Pace:
    """What one machine does in a second, and what a game is made of."""

    cores: int
    """Threads that self-play and training were measured with."""
    actors: tuple[ActorRate, ...]
    """One process with many and with few games, and as many processes as cores."""
    training_positions_per_second: float
    training_threads: int
    """Threads of the processor that a training step keeps busy; 0 where a device does the work."""
    positions_per_game: float
    positions_per_game_deviation: float
    """Standard deviation of the positions of a game."""
    bytes_per_game: float
    """Of a game's record on its way to the learner."""
    weights_bytes: float
    """Of the network's weights on their way to those who play."""

    @classmethod
    def read(cls, path: Path) -> "Pace":
        """The section `pace` of a file that `hexlit bench` has written, or of `bench.json` in a folder.

        Raises:
            UsageError: there is no such file, it is no JSON, or its figures are missing or out of range.
        """
        file = path / "bench.json" if path.is_dir() else path
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"rates={path}: cannot be read ({error.strerror}); {MEASURE}") from error
        except ValueError as error:
            raise UsageError(f"rates={path}: is no JSON; {MEASURE}") from error
        section = found.get("pace") if isinstance(found, dict) else None
        if not isinstance(section, dict):
            raise UsageError(f"rates={path}: holds no figures of what=pace; {MEASURE}")
        return cls._checked(section, path)

    @classmethod
    def _checked(cls, section: dict[str, Any], path: Path) -> "Pace":
        def number(of: dict[str, Any], name: str, least: float) -> float:
            value = of.get(name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value < math.inf:
                raise UsageError(f"rates={path}: pace.{name}={value!r} must be a number of {least:g} or more")
            return value

        rows = section.get("actors")
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
            raise UsageError(f"rates={path}: pace.actors must list the rates of self-play; {MEASURE}")
        actors = tuple(
            ActorRate(
                int(number(row, "processes", 1)),
                int(number(row, "games", 1)),
                number(row, "positions_per_second", 1e-9),
            )
            for row in rows
        )
        if not any(actor.processes == 1 for actor in actors):
            raise UsageError(f"rates={path}: pace.actors must hold the rate of one process alone; {MEASURE}")
        least = {"cores": 1, "training_positions_per_second": 1e-9, "positions_per_game": 1e-3}
        whole = ("cores", "training_threads")
        plain: dict[str, Any] = {}
        for name in (field.name for field in fields(cls) if field.name != "actors"):
            value = number(section, name, least.get(name, 0))
            plain[name] = int(value) if name in whole else float(value)
        return cls(actors=actors, **plain)

    def alone(self, games: float) -> float:
        """Positions a second of one process with `games` side by side and a core for itself.

        Between measured numbers of games the rate follows their logarithm; beyond them it is that of the nearest.
        """
        rows = sorted((actor.games, actor.positions_per_second) for actor in self.actors if actor.processes == 1)
        if games <= rows[0][0]:
            return rows[0][1] * min(1.0, games / rows[0][0])
        for (low, low_rate), (high, high_rate) in pairwise(rows):
            if games <= high:
                way = math.log(games / low) / math.log(high / low)
                return low_rate + way * (high_rate - low_rate)
        return rows[-1][1]

    def speed(self, busy: int) -> float:
        """Speed of each of `busy` busy threads of the machine, as a share of that of one alone.

        Threads share caches, memory and often the units of a core. Only the number of cores was measured; the speed
        falls evenly up to there.
        """
        together = [actor for actor in self.actors if actor.processes > 1]
        if not together or busy <= 1:
            return 1.0
        most = max(together, key=lambda actor: actor.processes)
        least = most.positions_per_second / most.processes / self.alone(most.games)
        way = (min(busy, most.processes) - 1) / (most.processes - 1)
        return 1.0 + way * (least - 1.0)
