"""What `hexlit bench` takes for Hex, and of it for any task. Nothing heavy is imported here."""

from dataclasses import dataclass, field
from pathlib import Path

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.cluster.config import RayConfig
from hexlit.commands.application import register_schema
from hexlit.errors import UsageError
from hexlit.nets.config import NetConfig
from hexlit.search.config import SearchConfig
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.training.config import OptimizerConfig, TrainerConfig

QUICK = ("games", "search", "forward", "train", "selfplay", "loader", "workers")
KINDS = (*QUICK, "leaves", "batch", "compare", "solver", "trials", "pace", "actors")


@dataclass
class BenchConfig:
    """What `hexlit bench` takes."""

    what: str = "all"
    """games, search, forward, train, selfplay, loader, workers, or all of these; leaves, batch, compare, solver,
    trials; pace, from which `hexlit plan` works out larger machines; actors, those of the Ray cluster of the section
    `ray` beside as many workers of this machine."""
    board: int = 11
    """Size of the board, 2 to 19; for the solver 2 to 8."""
    checkpoint: str | None = None
    """Network that is measured on the board it was trained for, such as `hexlit:small`; null is a fresh `net`."""
    repeats: int = 7
    """Measurements after the warm-up; their median and quartiles are shown."""
    seconds: float = 0.5
    """Length of one measurement, about."""
    compiled: bool = True
    """Whether what=forward measures `torch.compile`, too, at the smallest and the largest batch: a minute or more."""
    json: bool = False
    """Print JSON instead of a table."""
    markdown: bool = False
    """Print Markdown instead of a table."""
    output: str | None = None
    """Folder for `bench.json` and `bench.md`; null writes neither."""
    write: str | None = None
    """For `what=batch`: a YAML in a folder `accelerator` to write the batch size found to."""
    accelerator: AcceleratorConfig = field(default_factory=AcceleratorConfig)
    net: NetConfig = field(default_factory=NetConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    selfplay: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    ray: RayConfig = field(default_factory=RayConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)

    def __post_init__(self) -> None:
        """Refuse what no part can check alone."""
        if self.what not in (*KINDS, "all"):
            raise UsageError(f"what={self.what}: choose one of {', '.join((*KINDS, 'all'))}")
        if not 2 <= self.board <= 19:
            raise UsageError(f"board={self.board}: networks and search take boards of 2 to 19 rows")
        if self.what == "solver" and self.board > 8:
            raise UsageError(f"board={self.board}: the solver takes boards of 2 to 8 rows, such as board=6")
        if self.repeats < 2 or not self.seconds > 0:
            raise UsageError(f"repeats={self.repeats}, seconds={self.seconds}: 2 repeats or more, of above 0 seconds")
        if self.json and self.markdown:
            raise UsageError("json=true markdown=true: choose one of them, or output=FOLDER, which gets both")
        if self.write is not None:
            if self.what != "batch":
                raise UsageError(f"write={self.write}: only what=batch finds something to write")
            path = Path(self.write)
            if path.suffix != ".yaml" or path.resolve().parent.name != "accelerator":
                raise UsageError(f"write={path}: a config of this group is a .yaml in a folder named accelerator")


register_schema("bench", BenchConfig)
