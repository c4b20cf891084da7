"""The measured rates of a machine and a recipe, the basis of a plan: the section `pace` of `bench.json`."""

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
    """Self-play of some parallel processes with one thread each."""

    processes: int
    games: int
    """Games at a time in each process: rows of its network calls."""
    positions_per_second: float
    """Positions searched in full per second, of all processes together."""


@dataclass(frozen=True)
class Pace:
    """The work of one machine per second, and the content of a game."""

    cores: int
    """Threads of self-play and training in the measurement."""
    actors: tuple[ActorRate, ...]
    """Rates of one process with many and with few games, and of a process on each core."""
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

    @classmethod
    def read(cls, path: Path) -> "Pace":
        """The section `pace` of a file written by `hexlit bench`, or of `bench.json` in a folder.

        Raises:
            UsageError: there is no such file, it is no JSON, or its figures are missing or out of range.
        """
        file = path / "bench.json" if path.is_dir() else path
        try:
            result = json.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"rates={path}: cannot be read ({error.strerror}); {MEASURE}") from error
        except ValueError as error:
            raise UsageError(f"rates={path}: is no JSON; {MEASURE}") from error
        section = result.get("pace") if isinstance(result, dict) else None
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
        """Positions per second of one process with `games` at a time and a core of its own.

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
        """Speed of each of `busy` busy threads of the machine, as a share of that of a single one.

        Threads share caches, memory and often the units of a core. Only the full number of cores was measured; the
        speed falls evenly up to that number.
        """
        together = [actor for actor in self.actors if actor.processes > 1]
        if not together or busy <= 1:
            return 1.0
        most = max(together, key=lambda actor: actor.processes)
        least = most.positions_per_second / most.processes / self.alone(most.games)
        way = (min(busy, most.processes) - 1) / (most.processes - 1)
        return 1.0 + way * (least - 1.0)
