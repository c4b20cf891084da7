"""What `hexlit plan` takes beside the settings of a recipe."""

import math
from dataclasses import dataclass, field

from hexlit.commands.application import register_schema
from hexlit.errors import UsageError

MEGABIT = 1e6 / 8


@dataclass
class TargetConfig:
    """How far the run has to go; nothing asks for the recipe's `trainer.max_epochs`."""

    epochs: int | None = None
    """So many epochs."""
    games: int | None = None
    """So many games of self-play."""
    score: float | None = None
    """As many games as a measured run needed to `strength.score`; of `run`."""
    run: str | None = None
    """Folder of that run."""

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
    """What `hexlit bench what=pace experiment=NAME output=FOLDER` wrote on the machine that plays: folder or file."""
    learner_rates: str | None = None
    """The same of the machine that trains; null: it is of the same kind."""
    workers: int | None = None
    """Processes that play beside the training; null: 0 with `hosts`, otherwise one on each core."""
    hosts: int = 0
    """Further machines, which only play."""
    host_workers: int | None = None
    """Processes that play on each of them; null: one on each core."""
    host_cores: int | None = None
    """Cores of each; null: as many as the rates were measured with."""
    cores: int | None = None
    """Cores of the machine that trains; null: as many as its rates were measured with."""
    gpus: int = 1
    """Devices that train together; 1 is the one that was measured."""
    gpu_scaling: float = 0.9
    """Share of its rate that each further device adds. It is assumed, not measured."""
    ahead: int | None = None
    """Epochs that self-play may be ahead of the training; null: as `selfplay.ahead` and
    `selfplay.versions_behind` say."""
    network: float = 1000.0
    """Speed of the learner's network, in megabit a second."""
    latency: float = 1.0
    """Its latency, in milliseconds."""
    host_price: float = 0.0
    """Price of a machine that plays, an hour, in any currency."""
    learner_price: float = 0.0
    """Price of the machine that trains, an hour."""
    json: bool = False
    """Print one JSON object instead of text."""
    target: TargetConfig = field(default_factory=TargetConfig)

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        if self.rates is None:
            raise UsageError("rates=FOLDER: name what hexlit bench what=pace experiment=NAME output=FOLDER has written")
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
            raise UsageError("workers=0 and hosts=0: somebody has to play; give one of them")


register_schema("plan", PlanConfig)
