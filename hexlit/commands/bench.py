"""`hexlit bench`: how fast this machine plays, searches, evaluates and trains. Medians, with their spread."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.commands.application import register_schema, run, typed
from hexlit.errors import UsageError
from hexlit.nets.config import NetConfig
from hexlit.search.config import SearchConfig
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.training.config import OptimizerConfig, TrainerConfig

if TYPE_CHECKING:  # torch is imported only when something is measured
    from hexlit.accelerate.profile import DeviceProfile
    from hexlit.bench.grid import Grid
    from hexlit.bench.measure import Effort, Measurement
    from hexlit.bench.optimisation import Recipe
    from hexlit.nets.tower import HexNet

QUICK = ("games", "search", "forward", "train", "selfplay", "loader", "workers")
KINDS = (*QUICK, "leaves", "batch", "compare", "solver")


@dataclass
class BenchConfig:
    """What `hexlit bench` takes."""

    what: str = "all"
    """games, search, forward, train, selfplay, loader, workers, or all of these; leaves, batch, compare, solver."""
    board: int = 11
    """Size of the board, 2 to 19; for the solver 2 to 8."""
    checkpoint: str | None = None
    """Checkpoint whose network is measured, on the board it was trained for; null is a fresh `net`."""
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


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides; returns the exit code."""
    return run(bench, "bench", argv)


def bench(config: DictConfig) -> None:
    """Measure what the configuration asks for, and print it."""
    settings = typed(config, BenchConfig)
    import numba
    from rich.console import Console

    from hexlit.accelerate.profile import build_profile
    from hexlit.bench.report import Report
    from hexlit.files import write_text_atomic

    make_folders(settings)
    profile = build_profile(settings.accelerator)
    numba.set_num_threads(min(profile.threads, numba.config.NUMBA_NUM_THREADS))
    profile.apply()
    with Console(stderr=True).status("measuring") as status:
        report = Report(*measure(settings, profile, status.update))
    if settings.json:
        print(report.to_json())
    elif settings.markdown:
        print(report.to_markdown())
    else:
        report.print()
    if settings.output is not None:
        write_text_atomic(Path(settings.output) / "bench.json", report.to_json() + "\n")
        write_text_atomic(Path(settings.output) / "bench.md", report.to_markdown())


def make_folders(config: BenchConfig) -> None:
    """Make the folders that results go to, before minutes are spent on them."""
    for key, folder in (("output", config.output), ("write", config.write and Path(config.write).parent)):
        try:
            if folder:
                Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{key}={getattr(config, key)}: cannot be written ({error.strerror})") from error


def measure(
    config: BenchConfig, profile: "DeviceProfile", say: Callable[[str], None]
) -> tuple[int, dict[str, str | int], list["Measurement"], list[str], list["Grid"]]:
    """Size of the board, the machine, the lines of every kind that was asked for, what they say, and small tables.

    `say` is told what is being measured.
    """
    from hexlit.bench.engine import measure_games, measure_search
    from hexlit.bench.evaluation import measure_table
    from hexlit.bench.leaves import measure_leaves
    from hexlit.bench.loader import measure_games_loader, measure_loader
    from hexlit.bench.measure import Effort
    from hexlit.bench.optimisation import Recipe, advice, measure_training
    from hexlit.bench.play import Game, measure_selfplay, measure_workers
    from hexlit.bench.solver import measure_solver
    from hexlit.training.run import quiet_lightning

    quiet_lightning()
    effort = Effort(config.repeats, config.seconds)
    net, size = network(config)
    game = Game(size, config.search, config.selfplay)
    recipe = Recipe(size, config.optimizer, config.trainer)
    lines: list[Measurement] = []
    said: list[str] = []
    grids: list[Grid] = []
    kinds = QUICK if config.what == "all" else (config.what,)
    for number, kind in enumerate(kinds, start=1):
        say(f"measuring {kind} ({number} of {len(kinds)})")
        if kind == "games":
            lines += measure_games(size, effort, profile)
        elif kind == "search":
            lines += measure_search(size, effort, profile)
        elif kind == "forward":
            more, sentences, grid = measure_table(net, size, effort, profile, config.compiled)
            lines += more
            said += sentences
            grids.append(grid)
        elif kind == "train":
            found = measure_training(net, recipe, effort, profile)
            lines += found
            said += advice(found)
        elif kind == "selfplay":
            lines += measure_selfplay(net, game, effort, profile)
        elif kind == "loader":
            found = measure_loader(net, game, recipe, effort, profile)
            lines += [*found, measure_games_loader(size, found[-1], effort, profile)]
        elif kind == "workers":
            lines += measure_workers(net, game, effort, profile)
        elif kind == "solver":
            more, sentences = measure_solver(size, effort, profile)
            lines += more
            said += sentences
        elif kind == "leaves":
            lines += measure_leaves(net, size, config.search, effort, profile)
        else:
            more, sentences = (find_batch if kind == "batch" else compare_devices)(config, net, recipe, effort, profile)
            lines += more
            said += sentences
    return size, machine(profile), lines, said, grids


def network(config: BenchConfig) -> tuple["HexNet", int]:
    """The network to measure, and the size of its board."""
    import torch

    from hexlit.nets.tower import build_net
    from hexlit.tasks.hex.checkpoint import load_network

    if config.checkpoint is not None:
        loaded = load_network(Path(config.checkpoint))
        return loaded.net, loaded.size
    torch.manual_seed(0)
    return build_net(config.net), config.board


def find_batch(
    config: BenchConfig, net: "HexNet", recipe: "Recipe", effort: "Effort", profile: "DeviceProfile"
) -> tuple[list["Measurement"], list[str]]:
    """Row A7: the batch size of this machine; written to a config where that is asked for."""
    from hexlit.bench.batches import SIZES, best_batch, measure_batches, write_accelerator

    found = dict(zip(SIZES, measure_batches(net, recipe, effort, profile), strict=False))
    batch = best_batch(found, config.accelerator.memory_cap)
    said = [f"batch {batch} is the smallest within 5% of the best rate: accelerator.train_batch={batch}"]
    if config.write is not None:
        command = write_accelerator(Path(config.write), profile, batch)
        said.append(f"written to {config.write}; use it by `{command}`")
    return list(found.values()), said


def compare_devices(
    config: BenchConfig, net: "HexNet", recipe: "Recipe", effort: "Effort", profile: "DeviceProfile"
) -> tuple[list["Measurement"], list[str]]:
    """Row A8: the CPU beside the accelerator."""
    from hexlit.accelerate.profile import build_profile
    from hexlit.bench.comparison import compare
    from hexlit.bench.optimisation import BATCHES

    cpu = build_profile(
        AcceleratorConfig(
            device="cpu",
            threads=config.accelerator.threads,
            train_batch=profile.train_batch,
            evaluation_batch=profile.evaluation_batch,
        )
    )
    found = compare(net, recipe, effort, cpu, None if profile.device.type == "cpu" else profile)
    said = [
        f"{kind}: {profile.device} at {ratio:.2f} times the rate of the cpu" for kind, ratio in found.speed_ups.items()
    ]
    said += [
        f"loss in float32 after the same {BATCHES} steps on {device}: {loss:.6f}"
        for device, loss in found.losses.items()
    ]
    if not found.speed_ups:
        said.append("there is no accelerator to compare the cpu with; `hexlit doctor` says why")
    return found.lines, said


def machine(profile: "DeviceProfile") -> dict[str, str | int]:
    """What the figures belong to."""
    import platform
    from importlib.metadata import version

    from hexlit.accelerate.backends import backend_versions
    from hexlit.accelerate.host import processor_identity

    return {
        "device": str(profile.device),
        "threads": profile.threads,
        "processor": f"{platform.machine()} {processor_identity()}",
        **backend_versions(),
        "numba": version("numba"),
        "hexlit": version("hexlit"),
    }
