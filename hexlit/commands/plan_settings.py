"""The settings of `hexlit plan` beside those of a recipe."""

import math
from dataclasses import dataclass, field

from hexlit.commands.application import register_schema
from hexlit.errors import UsageError

MEGABIT = 1e6 / 8


@dataclass
class TargetConfig:
    """Target of the run; without one the recipe's `trainer.max_epochs`."""

    epochs: int | None = None
    """Number of epochs to reach."""
    games: int | None = None
    """Number of self-play games to reach."""
    score: float | None = None
    """Value of `strength.score` to reach; the run in `run` tells how many games that takes."""
    run: str | None = None
    """Folder of the measured run for `score`."""

    def __post_init__(self) -> None:
        asked = [name for name in ("epochs", "games", "score") if getattr(self, name) is not None]
        if len(asked) > 1:
            raise UsageError(f"{' and '.join(f'target.{name}' for name in asked)}: choose one of them")
        for name in ("epochs", "games"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"target.{name}={value}: must be 1 or more")
        if (self.score is None) != (self.run is None):
            raise UsageError("target.score and target.run belong together: a strength, and the run that measured it")


@dataclass
class PlanConfig:
    """The machines of a plan, and their rates."""

    rates: str | None = None
    """Folder or file written by `hexlit bench what=pace experiment=NAME output=FOLDER` on the playing machine."""
    learner_rates: str | None = None
    """The same for the training machine. Null: it is of the same kind."""
    workers: int | None = None
    """Processes that play on the training machine. Null: 0 with `hosts`, otherwise one per core."""
    hosts: int = 0
    """Number of further machines, which only play."""
    host_workers: int | None = None
    """Processes that play on each further machine. Null: one per core."""
    host_cores: int | None = None
    """Cores of each further machine. Null: those of the measured machine."""
    cores: int | None = None
    """Cores of the training machine. Null: those of the measured machine."""
    gpus: int = 1
    """Number of devices that train together; the measured rate is that of one."""
    gpu_scaling: float = 0.9
    """Share of one device's rate that each further device adds. It is assumed, not measured."""
    ahead: int | None = None
    """Epochs that self-play may be ahead of the training. Null: from `selfplay.ahead` and
    `selfplay.versions_behind`.
    """
    network: float = 1000.0
    """Speed of the training machine's network, in megabits per second."""
    latency: float = 1.0
    """Latency of that network, in milliseconds."""
    host_price: float = 0.0
    """Price of a playing machine per hour, in any currency."""
    learner_price: float = 0.0
    """Price of the training machine per hour."""
    json: bool = False
    """Whether to print one JSON object instead of text."""
    target: TargetConfig = field(default_factory=TargetConfig)

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        if self.rates is None:
            raise UsageError("rates=FOLDER: name the output of hexlit bench what=pace experiment=NAME output=FOLDER")
        for name, least in (
            ("workers", 0),
            ("hosts", 0),
            ("host_workers", 1),
            ("host_cores", 1),
            ("cores", 1),
            ("gpus", 1),
            ("ahead", 0),
            ("host_price", 0),
            ("learner_price", 0),
            ("latency", 0),
        ):
            value = getattr(self, name)
            if value is not None and not least <= value < math.inf:
                raise UsageError(f"{name}={value}: must be {least} or more")
        if not 0 <= self.gpu_scaling <= 1:
            raise UsageError(f"gpu_scaling={self.gpu_scaling}: a share lies between 0 and 1")
        if not 0 < self.network < math.inf:
            raise UsageError(f"network={self.network}: must be above 0 megabit a second")
        if self.hosts == 0 and self.workers == 0:
            raise UsageError("workers=0 and hosts=0: no process would play; set one of them above 0")


register_schema("plan", PlanConfig)
