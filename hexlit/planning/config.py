"""The settings of `hexlit plan` beside those of a recipe: machines, prices and the target."""

from dataclasses import dataclass, field

from hexlit.errors import UsageError
from hexlit.settings import Settings, number


@dataclass
class TargetConfig(Settings, section="target"):
    """Target of the run; without one the recipe's `trainer.max_epochs`."""

    epochs: int | None = number(None, "[1, inf)")
    """Number of epochs to reach."""
    games: int | None = number(None, "[1, inf)")
    """Number of self-play games to reach."""
    score: float | None = None
    """Value of `strength.score` to reach; the run in `run` tells how many games that takes."""
    run: str | None = None
    """Folder of the measured run for `score`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        asked = [name for name in ("epochs", "games", "score") if getattr(self, name) is not None]
        if len(asked) > 1:
            raise UsageError(f"{' and '.join(f'target.{name}' for name in asked)}: choose one of them")
        if (self.score is None) != (self.run is None):
            raise UsageError("target.score and target.run belong together: a strength, and the run that measured it")


@dataclass
class PlanConfig(Settings):
    """The machines of a plan, and their rates: one machine that trains, and may also play; others that only play."""

    rates: str | None = None
    """Folder or file written by `hexlit bench what=pace experiment=NAME output=FOLDER` on the playing machine."""
    learner_rates: str | None = None
    """The same for the training machine. Null: it is of the same kind."""
    workers: int | None = number(None, "[0, inf)")
    """Processes that play on the training machine. Null: 0 with `hosts`, otherwise one per core."""
    hosts: int = number(0, "[0, inf)")
    """Number of further machines, which only play."""
    host_workers: int | None = number(None, "[1, inf)")
    """Processes that play on each further machine. Null: one per core."""
    host_cores: int | None = number(None, "[1, inf)")
    """Cores of each further machine. Null: those of the measured machine."""
    cores: int | None = number(None, "[1, inf)")
    """Cores of the training machine. Null: those of the measured machine."""
    gpus: int = number(1, "[1, inf)")
    """Number of devices that train together; the measured rate is that of one."""
    gpu_scaling: float = number(0.9, "[0, 1]")
    """Share of one device's rate that each further device adds. It is assumed, not measured."""
    ahead: int | None = number(None, "[0, inf)")
    """Epochs that self-play may be ahead of the training. Null: from `selfplay.ahead` and
    `selfplay.versions_behind`.
    """
    network: float = number(1000.0, "(0, inf)", unit="megabits per second")
    """Speed of the training machine's network, in megabits per second."""
    latency: float = number(1.0, "[0, inf)", unit="milliseconds")
    """Latency of that network, in milliseconds."""
    host_price: float = number(0.0, "[0, inf)")
    """Price of a playing machine per hour, in any currency."""
    learner_price: float = number(0.0, "[0, inf)")
    """Price of the training machine per hour."""
    json: bool = False
    """Whether to print one JSON object instead of text."""
    target: TargetConfig = field(default_factory=TargetConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rates is None:
            raise UsageError("rates=FOLDER: name the output of hexlit bench what=pace experiment=NAME output=FOLDER")
        if self.hosts == 0 and self.workers == 0:
            raise UsageError("workers=0 and hosts=0: no process would play; set one of them above 0")
