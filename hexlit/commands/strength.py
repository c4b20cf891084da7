"""`hexlit strength`: a network against the exact truth, and the value of each way of searching."""

from dataclasses import dataclass, field

from omegaconf import MISSING

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.commands.application import command
from hexlit.commands.command_line import refuse_tensorboard
from hexlit.commands.run_folder import resumed_arguments, resumed_folder
from hexlit.errors import UsageError
from hexlit.search.config import BOARDS, MOST_LEAVES, MOST_SIMULATIONS, SearchConfig
from hexlit.settings import Settings, number, one_of
from hexlit.training.config import LoggerConfig
from hexlit.tuning.space import quoted

MAY_CHANGE = ("json=", "markdown=", "report=", "accelerator", "logger")
"""Beginnings of the overrides that a resumed measurement takes."""


@dataclass
class StrengthConfig(Settings):
    """Settings of `hexlit strength`."""

    checkpoint: str = MISSING
    """Checkpoint, the folder of a run (its best checkpoint, else its last), or a packaged network:
    `hexlit:small`.
    """
    what: str = one_of(("truth", "perfect", "search"), "truth")
    """Subject of the measurement. `truth`: openings, optimality and calibration against the exact
    solver. `perfect`: Elo below perfect play, by games against the solver. `search`: strength and
    cost of searches.
    """
    board: int | None = number(None, BOARDS)
    """Rows of the board. Null: the network's board."""
    simulations: list[int] = number([16, 64, 256], f"[1, {MOST_SIMULATIONS}]")
    """Simulations per move; each number is measured separately. `truth` also measures the network
    without search.
    """
    positions: int = number(1000, "[1, inf)")
    """Solved positions of each kind: from games, and with stones on random cells."""
    leaves: list[int] = number([4, 8, 16], f"[2, {MOST_LEAVES}]")
    """Leaves of one tree that are evaluated together, for `what=search`; each number is
    measured.
    """
    pairs: int = number(50, "[1, inf)")
    """Distinct openings of a match, for `what=perfect` and `search`; each is played twice.
    `perfect` takes those of one stone first.
    """
    games: int | None = number(None, "[1, inf)")
    """Positions searched at the same time. Null: the device's default."""
    seconds: float = number(1.0, "(0, inf)", unit="seconds")
    """Approximate length of one measurement of speed, in seconds, for `what=search`."""
    seed: int = number(2026, "[0, inf)")
    """Seed of the positions and openings."""
    json: bool = False
    """Whether to print one JSON object instead of tables."""
    markdown: bool = False
    """Whether to print Markdown instead of tables."""
    report: bool = True
    """Whether to write `report.html` next to the results."""
    output: str | None = None
    """Folder for the results. Null: a new one below runs/strength."""
    resume: str | None = None
    """Folder of an interrupted measurement to continue. Its measured parts are kept."""
    accelerator: AcceleratorConfig = field(default_factory=AcceleratorConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    logger: LoggerConfig = field(default_factory=LoggerConfig)

    def __post_init__(self) -> None:
        """Refuse impossible combinations."""
        super().__post_init__()
        refuse_tensorboard(self.logger)
        if not self.simulations:
            raise UsageError("simulations=[]: name at least one number, such as [16,64,256]")
        if self.json and self.markdown:
            raise UsageError("json=true markdown=true: choose one of them")


def arguments(argv: list[str]) -> list[str]:
    """`argv` for Hydra, with the folder; with `resume=FOLDER` the settings of that measurement,
    then those of `argv`.

    Raises:
        UsageError: the folder holds no measurement, or the overrides change its settings.
    """
    folders = [
        word.removeprefix("output=").strip("'\"") for word in argv if word.startswith("output=")
    ]
    place = [f"hydra.run.dir={quoted(folders[-1])}"] if folders and folders[-1] != "null" else []
    return resumed_arguments([*argv, *place] if resumed_folder(argv) is None else argv, MAY_CHANGE)


main = command("strength", StrengthConfig, "strength_run:strength", prepare=arguments, whole=True)
