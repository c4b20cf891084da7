"""`hexlit strength`: a network against the exact truth, and the value of each way of searching."""

import math
import os
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import MISSING, DictConfig

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.choices import check_words, one_of
from hexlit.cluster.config import PLACES, RayConfig
from hexlit.commands.again import same_command
from hexlit.commands.application import register_schema, run, typed
from hexlit.commands.choices import refuse_tensorboard
from hexlit.commands.claim import claim
from hexlit.commands.place import refuse_unused
from hexlit.commands.report_files import write_beside
from hexlit.commands.strength_progress import Advance, progress
from hexlit.commands.strength_results import Document, show, write
from hexlit.errors import UsageError
from hexlit.interruption import says_how_to_continue
from hexlit.search.config import MOST_LEAVES, MOST_SIMULATIONS, SearchConfig
from hexlit.training.config import LoggerConfig

if TYPE_CHECKING:  # these import torch or compile kernels: only for a measurement
    from hexlit.commands.judges import Evaluators

KINDS = ("truth", "search")
RUNS = Path("runs") / "strength"
LARGEST_BOARD = 19


@dataclass
class StrengthConfig:
    """Settings of `hexlit strength`."""

    checkpoint: str = MISSING
    """Checkpoint, the folder of a run (its best checkpoint, else its last), or a packaged network: `hexlit:small`."""
    what: str = one_of(KINDS, "truth")
    """Subject of the measurement. `truth`: openings, optimality and calibration against the exact solver. `search`:
    strength and cost of searches."""
    board: int | None = None
    """Rows of the board. Null: the network's own board."""
    simulations: list[int] = field(default_factory=lambda: [16, 64, 256])
    """Simulations per move; each number is measured separately. `truth` also measures the network without search."""
    positions: int = 1000
    """Solved positions of each kind: from games, and with stones on random cells."""
    leaves: list[int] = field(default_factory=lambda: [4, 8, 16])
    """Leaves of one tree that are evaluated together, for `what=search`; each number is measured."""
    pairs: int = 50
    """Distinct openings of a match, for `what=search`; each is played twice."""
    games: int | None = None
    """Positions searched at the same time. Null: the device's default."""
    seconds: float = 1.0
    """Approximate length of one measurement of speed, in seconds, for `what=search`."""
    seed: int = 2026
    """Seed of the positions and openings."""
    json: bool = False
    """Whether to print one JSON object instead of tables."""
    markdown: bool = False
    """Whether to print Markdown instead of tables."""
    report: bool = True
    """Whether to write `report.html` beside the results."""
    output: str | None = None
    """Folder for the results. Null: a new one below runs/strength."""
    where: str = one_of(PLACES, "here")
    """Place of the work, for `what=truth`: `here` (this process) or `ray` (the cluster of the section `ray`)."""
    workers: int = 2
    """Number of actors of the cluster; each judges `games` positions at a time."""
    ray: RayConfig = field(default_factory=RayConfig)
    accelerator: AcceleratorConfig = field(default_factory=AcceleratorConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    logger: LoggerConfig = field(default_factory=LoggerConfig)

    def __post_init__(self) -> None:
        """Refuse impossible combinations."""
        check_words(self)
        refuse_tensorboard(self.logger)
        if self.where == "ray" and self.what == "search":
            raise UsageError("where=ray: what=search measures the speed of this machine; leave one of them out")
        if self.board is not None and not 2 <= self.board <= LARGEST_BOARD:
            raise UsageError(f"board={self.board}: networks and search take boards of 2 to {LARGEST_BOARD} rows")
        if not self.simulations or not all(1 <= number <= MOST_SIMULATIONS for number in self.simulations):
            raise UsageError(
                f"simulations={self.simulations}: numbers from 1 to {MOST_SIMULATIONS}, such as [16,64,256]"
            )
        for name in ("positions", "pairs", "games", "workers"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name}={value}: must be 1 or more")
        if not all(1 < number <= MOST_LEAVES for number in self.leaves):
            raise UsageError(f"leaves={self.leaves}: numbers of 2 or more, up to {MOST_LEAVES}, such as [4,8,16]")
        if not 0 < self.seconds < math.inf or self.seed < 0:
            raise UsageError(f"seconds={self.seconds:g}, seed={self.seed}: the first is above 0, the second 0 or more")
        if self.json and self.markdown:
            raise UsageError("json=true markdown=true: choose one of them")


register_schema("strength", StrengthConfig)


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides; returns the exit code."""
    return run(strength, "strength", argv)


def strength(config: DictConfig) -> None:
    """Run the requested measurement, save it and print it."""
    settings = typed(config, StrengthConfig)
    import numba
    from hydra.core.hydra_config import HydraConfig

    from hexlit.accelerate.profile import build_profile
    from hexlit.commands.judges import Evaluators
    from hexlit.tasks.hex.checkpoint import load_network

    refuse_unused(settings, HydraConfig.get().overrides.task)
    loaded = load_network(settings.checkpoint)
    size = settings.board or loaded.size
    check_board(settings.what, size)
    folder = new_folder(settings.output)
    again = same_command("hexlit strength", f"output={os.path.relpath(folder)}")
    with says_how_to_continue("hexlit strength", lambda: f"what was measured is in {folder}", lambda: again):
        profile = build_profile(settings.accelerator)
        numba.set_num_threads(min(profile.threads, numba.config.NUMBA_NUM_THREADS))
        profile.apply()
        evaluators = Evaluators(loaded, size, profile)
        games = settings.games or profile.evaluation_batch
        measure = measure_truth if settings.what == "truth" else measure_search
        facts = about(settings, evaluators, games)
        with progress() as advance:
            for found in measure(settings, evaluators, games, advance):
                document = facts | found
                write(folder, document)
    if settings.report:
        write_beside(folder)
    if settings.logger.wandb.mode != "disabled":
        from hexlit.commands.tracked_strength import track_strength

        track_strength(settings, folder, document)
    show(document, folder, json=settings.json, markdown=settings.markdown)


def evaluate(checkpoint: str | Path, **settings: Any) -> Document:
    """Measure the network of `checkpoint` against the exact truth, with the `settings` of `StrengthConfig`.

    Nothing is printed or written.

    Raises:
        UsageError: there is no such setting, or its value is out of range.
    """
    from hexlit.accelerate.profile import build_profile
    from hexlit.commands.judges import Evaluators
    from hexlit.tasks.hex.checkpoint import load_network

    known = {one.name for one in fields(StrengthConfig)} - {"checkpoint", "what", "json", "markdown", "output"}
    for name in settings.keys() - known:
        raise UsageError(f"{name}={settings[name]}: there is no such setting; choose from {', '.join(sorted(known))}")
    chosen = StrengthConfig(checkpoint=str(checkpoint), **settings)
    refuse_unused(chosen, settings)
    loaded = load_network(checkpoint)
    size = chosen.board or loaded.size
    check_board("truth", size)
    evaluators = Evaluators(loaded, size, build_profile(chosen.accelerator))
    games = chosen.games or evaluators.profile.evaluation_batch
    (found,) = measure_truth(chosen, evaluators, games, lambda what, share: None)
    return about(chosen, evaluators, games) | found


def check_board(what: str, size: int) -> None:
    """Refuse a board whose positions cannot be solved, if nothing else would be measured."""
    from hexlit.arena.positions import limits_of

    if what == "truth":
        limits_of(size)
    elif size < 3:
        raise UsageError(f"board={size}: two stones decide nothing only on boards of 3 rows and more")


def new_folder(output: str | None) -> Path:
    """The folder for the results, made and held before minutes are spent on them."""
    folder = Path(output) if output else RUNS / f"{datetime.now():%Y-%m-%d_%H-%M-%S}_{secrets.token_hex(3)}"
    try:
        claim(folder, below=False)
    except UsageError as error:
        raise UsageError(f"output={error}") from error
    return folder


def measure_truth(
    settings: StrengthConfig, evaluators: "Evaluators", games: int, advance: Advance
) -> Iterator[Document]:
    """Openings, optimality and calibration, without search and with each number of simulations."""
    from hexlit.arena.positions import game_positions, random_positions
    from hexlit.arena.truth_report import Level, effort_of
    from hexlit.arena.truth_report import measure_truth as against_truth
    from hexlit.commands.judges import JudgeWith, judges_here, judges_there
    from hexlit.files import cache_folder

    size, cache = evaluators.size, cache_folder() / "truth"
    advance("solving positions", 0.0)
    positions = {
        "games": game_positions(size, settings.positions, settings.seed, cache),
        "random": random_positions(size, settings.positions, settings.seed, cache),
    }
    place: AbstractContextManager[JudgeWith]
    if settings.where == "ray":
        batch = games * settings.workers
        place = judges_there(
            settings.ray,
            settings.workers,
            settings.accelerator,
            evaluators.loaded,
            settings.search,
            size=size,
            games=games,
        )
    else:
        batch, place = games, nullcontext(judges_here(evaluators, settings.search, games))
    with place as judge:
        levels = [Level(number, judge(number)) for number in (0, *sorted(set(settings.simulations)))]
        whole, done = effort_of(levels, positions, size), 0

        def judged(effort: int) -> None:
            nonlocal done
            done += effort
            advance("judging positions", done / whole)

        yield against_truth(levels, positions, size=size, batch=batch, advance=judged)


def measure_search(
    settings: StrengthConfig, evaluators: "Evaluators", games: int, advance: Advance
) -> Iterator[Document]:
    """Every way of searching: its match, its optimality, its speed. Yields the growing table, row by row."""
    from hexlit.arena.match import most_openings
    from hexlit.arena.positions import LIMITS, game_positions
    from hexlit.arena.search_quality import OPENING_PLIES, Network, measure_variant, variants
    from hexlit.files import cache_folder

    size = evaluators.size
    pairs = min(settings.pairs, most_openings(size, OPENING_PLIES))
    network = Network(evaluators, size, evaluators.loaded.swap)
    advance("solving positions", 0.0)
    positions = None
    if size in LIMITS:
        positions = game_positions(size, settings.positions, settings.seed, cache_folder() / "truth")
    ways = list(variants(settings.search, sorted(set(settings.simulations)), sorted(set(settings.leaves))))
    # A row takes about as long as its own searches plus those of its opponents, if these search.
    efforts = [way.config.simulations * (1 if way.opponent is None else 2) for way in ways]
    rows: list[Document] = []
    for number, way in enumerate(ways):
        what = f"{way.config.algorithm}, {way.config.simulations} simulations, {way.config.leaves} leaves"
        advance(what, sum(efforts[:number]) / sum(efforts))
        rows.append(
            measure_variant(
                way, network, positions, pairs=pairs, seed=settings.seed, games=games, seconds=settings.seconds
            )
        )
        yield {"rows": rows}


def about(settings: StrengthConfig, evaluators: "Evaluators", games: int) -> Document:
    """The subject of the figures: network, search and device."""
    device, workers = f"{settings.ray.device}, {settings.ray.threads} threads", settings.workers  # of each actor
    if settings.where == "here":
        evaluator, profile = evaluators(games), evaluators.profile
        backend = f"{evaluator.backend} {str(evaluator.dtype).removeprefix('torch.')}"
        device, workers = f"{profile.device}, {profile.threads} threads, {backend}", 0
    return {
        "what": settings.what,
        "checkpoint": settings.checkpoint,
        "trained_on": evaluators.loaded.size,
        "board": evaluators.size,
        "swap": evaluators.loaded.swap,
        "search": asdict(settings.search),
        "seed": settings.seed,
        "games": games,
        "where": settings.where,
        "workers": workers,
        "device": device,
        "versions": {name: version(name) for name in ("hexlit", "torch", "numba", "numpy")},
    }
