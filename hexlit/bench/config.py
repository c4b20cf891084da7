"""The settings of `hexlit bench`, for Hex and for other tasks. Nothing heavy is imported here."""

from dataclasses import dataclass, field

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.errors import UsageError
from hexlit.nets.config import NetConfig
from hexlit.search.config import BOARDS, SearchConfig
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.settings import Settings, number, one_of
from hexlit.training.config import OptimizerConfig, TrainerConfig

MEASUREMENTS = {
    "search": "play:measure_search",
    "forward": "forward:measure_forward",
    "train": "training:measure_train",
    "selfplay": "play:measure_selfplay",
    "batch": "training:measure_batches",
    "compare": "training:compare_devices",
    "solver": "play:measure_solver",
    "pace": "play:measure_pace",
}
"""A value of `what` -> the module and the function that measure it; the unit stands in each
line.
"""
QUICK = ("search", "forward", "train", "selfplay")
"""The measurements of `what=all`."""


@dataclass
class BenchConfig(Settings):
    """Settings of `hexlit bench`."""

    what: str = one_of((*MEASUREMENTS, "all"), "all")
    """Subject of the measurement. `all`: search, forward, train and selfplay. `pace`: the rates for
    `hexlit plan`.
    """
    board: int = number(11, BOARDS)
    """Rows of the board; at most 8 for the solver."""
    checkpoint: str | None = None
    """Network to measure, on its own board, such as `hexlit:small`. Null: a fresh network from
    `net`.
    """
    repeats: int = number(7, "[2, inf)")
    """Number of measurements after the warm-up; the report shows their median and quartiles."""
    seconds: float = number(0.5, "(0, inf)", unit="seconds")
    """Approximate length of one measurement, in seconds."""
    compiled: bool = True
    """Whether what=forward also measures `torch.compile`, at the smallest and the largest batch. It
    takes minutes.
    """
    json: bool = False
    """Whether to print JSON instead of a table."""
    markdown: bool = False
    """Whether to print Markdown instead of a table."""
    output: str | None = None
    """Folder for `bench.json` and `bench.md`. Null: no files."""
    write: str | None = None
    """YAML file for the batch size that `what=batch` finds, in a folder `accelerator`. Null: no
    file.
    """
    accelerator: AcceleratorConfig = field(default_factory=AcceleratorConfig)
    net: NetConfig = field(default_factory=NetConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    selfplay: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)

    def __post_init__(self) -> None:
        """Refuse impossible combinations."""
        super().__post_init__()
        if self.what == "solver" and self.board > 8:
            raise UsageError(
                f"board={self.board}: the solver takes boards of 2 to 8 rows, such as board=6"
            )
        if self.json and self.markdown:
            raise UsageError(
                "json=true markdown=true: choose one of them, or output=FOLDER, which gets both"
            )
