"""The measurements of `hexlit strength`: against the exact truth, and of each way of searching."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from hexlit.commands.strength_results import Document
from hexlit.errors import UsageError

if TYPE_CHECKING:  # these import torch or compile kernels: only for a measurement
    from hexlit.arena.measures import Part
    from hexlit.commands.judges import Evaluators, JudgeWith
    from hexlit.commands.strength import StrengthConfig


Advance = Callable[[str, float], None]
"""Called with the present activity, and the share of the work that is done, in [0, 1]."""


def check_board(what: str, size: int) -> None:
    """Refuse a board whose positions cannot be solved, if nothing else would be measured."""
    from hexlit.arena.positions import limits_of

    if what == "truth":
        limits_of(size)
    elif size < 3:
        raise UsageError(f"board={size}: two stones decide nothing only on boards of 3 rows and more")


def measure_truth(
    settings: "StrengthConfig", evaluators: "Evaluators", games: int, advance: Advance, part: "Part"
) -> Iterator[Document]:
    """Openings, optimality and calibration, without search and with each number of simulations."""
    from hexlit.arena.measures import measure_truth as against_truth
    from hexlit.arena.positions import game_positions, random_positions
    from hexlit.commands.judges import judges_here, judges_there
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
        judges = {number: judge(number) for number in (0, *sorted(set(settings.simulations)))}
        judged = partial(advance, "judging positions")
        yield against_truth(judges, positions, size=size, batch=batch, advance=judged, part=part)


def measure_search(
    settings: "StrengthConfig", evaluators: "Evaluators", games: int, advance: Advance, part: "Part"
) -> Iterator[Document]:
    """Every way of searching: its match, its optimality, its speed. Yields the growing table, row by row."""
    from hexlit.arena.matches import most_openings
    from hexlit.arena.measures import OPENING_PLIES, Network, Thoroughness, measure_variant, variants
    from hexlit.arena.positions import LIMITS, game_positions
    from hexlit.files import cache_folder

    size = evaluators.size
    pairs = min(settings.pairs, most_openings(size, OPENING_PLIES))
    how = Thoroughness(pairs, settings.seed, games, settings.seconds)
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
        advance(way.name, sum(efforts[:number]) / sum(efforts))
        rows.append(measure_variant(way, network, positions, how, part))
        yield {"rows": rows}


def about(settings: "StrengthConfig", evaluators: "Evaluators", games: int) -> Document:
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


@contextmanager
def progress() -> Iterator[Advance]:
    """A bar with the time left on the error stream; nothing if that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from hexlit.reporting.screen import is_screen

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), "left", TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not is_screen(console), transient=True) as bar:
        task = bar.add_task("measuring", total=1.0)
        yield lambda what, share: bar.update(task, description=what, completed=share)
