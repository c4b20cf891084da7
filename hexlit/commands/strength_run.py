"""A strength run: its measurements, the parts that its folder keeps, and its document, printed and
tracked.

`parts.json` is there from the beginning, with the settings in `.hydra/`: `resume=FOLDER` measures
only the others. It goes when `strength.json` is whole.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.arena import measures
from hexlit.arena.matches import most_openings
from hexlit.arena.measures import (
    OPENING_PLIES,
    Document,
    Part,
    Thoroughness,
    measure_variant,
    variants,
)
from hexlit.arena.positions import LIMITS, game_positions, limits_of, random_positions
from hexlit.commands.command_line import as_json, print_results, track
from hexlit.commands.composing import Composed
from hexlit.commands.player_factory import Evaluators, applied_profile
from hexlit.commands.report_files import STRENGTH, document_of, own_values, write_beside
from hexlit.commands.run_folder import resumable, settings_writer
from hexlit.commands.strength import StrengthConfig
from hexlit.errors import UsageError
from hexlit.files import cache_folder, read_json, replacing, write_text_atomic
from hexlit.reporting.board_svg import board_picture
from hexlit.reporting.html import drawn
from hexlit.reporting.page import OpeningsBoard
from hexlit.reporting.screen import work_bar
from hexlit.reporting.strength import figures_of, strength_page, table_of
from hexlit.reporting.text import as_rows, markdown, terminal
from hexlit.settings import check_word
from hexlit.tasks.hex.checkpoint import LoadedNetwork, load_network
from hexlit.tasks.hex.packaged import network_file
from hexlit.tracking.provenance import versions

if TYPE_CHECKING:
    from hexlit.tracking.tracked_run import TrackedRun

Advance = Callable[[str, float], None]
"""Called with the present activity, and the share of the work that is done, in [0, 1]."""

PARTS_FILE, RESULTS_FILE = "parts.json", "strength.json"
"""Files with the parts measured so far, and with the whole."""
FILES = (RESULTS_FILE, "strength.md", "reliability.svg", "growth.svg")
_COMMAND_SETTINGS = {"checkpoint", "what", "json", "markdown", "output", "resume"}
"""Settings that `evaluate` does not take."""
NETWORK = "the network's SHA-256"
SIMULATIONS = "strength/simulations"


def strength(settings: StrengthConfig, composed: Composed) -> None:
    """Run the requested measurement, or its missing parts, save it and print it."""
    folder = composed.folder
    finished = (
        settings.resume and (folder / RESULTS_FILE).exists() and not (folder / PARTS_FILE).exists()
    )
    document = document_of(folder, STRENGTH) if finished else measured(settings, composed)
    with own_values(folder, STRENGTH) if finished else nullcontext():
        page = strength_page(document)
    if settings.report:
        write_beside(folder)
    log_tables = partial(_log_levels if document["what"] == "truth" else _log_table, document)
    track(settings, composed, document, log_tables, "strength", [settings.checkpoint], FILES)
    console = terminal(wide=150)
    print_results(settings, document, page, console)
    if not (settings.json or settings.markdown):
        console.print(
            f"\nwritten to {os.path.relpath(folder)}", style="dim", soft_wrap=True, markup=False
        )


def measured(settings: StrengthConfig, composed: Composed) -> Document:
    """Measure what the run in the folder of `composed` lacks; each part, each row and the whole are
    saved at once.
    """
    folder = composed.folder
    loaded = network_of(settings)  # may be refused before anything is written
    if settings.resume is None:
        settings_writer(composed)()
    measure = measure_search if settings.what == "search" else measure_truth
    with resumable("hexlit strength", folder, composed.overrides), work_bar("measuring") as advance:
        evaluators, games, facts = subject(settings, loaded)
        parts = Parts(
            folder,
            network_file(settings.checkpoint),
            facts["device"],
            resume=settings.resume is not None,
        )
        for result in measure(settings, evaluators, games, advance, parts):
            document = {**facts, "device": parts.devices, **result}
            write_text_atomic(folder / RESULTS_FILE, as_json(document) + "\n")
            write_text_atomic(folder / "strength.md", markdown(strength_page(document)))
    if settings.what == "truth":
        for figure in figures_of(document):
            with replacing(folder / f"{figure.name}.svg") as temporary:
                temporary.write_bytes(drawn(figure))
    (folder / PARTS_FILE).unlink()  # the result has them all
    return document


def evaluate(checkpoint: str | Path, **settings: Any) -> dict[str, Any]:
    """Measure the network of `checkpoint` against the exact truth, with the `settings` of
    `StrengthConfig`.

    Nothing is printed or written.

    Raises:
        UsageError: there is no such setting, or its value is out of range.
    """
    known = {one.name for one in fields(StrengthConfig)} - _COMMAND_SETTINGS
    for name in settings:
        check_word("evaluate", name, sorted(known))
    config = StrengthConfig(checkpoint=str(checkpoint), **settings)
    evaluators, games, facts = subject(config, network_of(config))
    (result,) = measure_truth(config, evaluators, games, _ignore_progress, measures.measured_now)
    return facts | result


def _ignore_progress(what: str, share: float) -> None:
    """Show nothing."""


def network_of(settings: StrengthConfig) -> LoadedNetwork:
    """The network of the settings.

    Raises:
        UsageError: the board's positions cannot be solved, and nothing else would be measured.
    """
    loaded = load_network(settings.checkpoint)
    size = settings.board or loaded.size
    if settings.what == "truth":
        limits_of(size)
    elif size < 3 or (settings.what == "perfect" and size > 7):
        raise UsageError(
            f"board={size}: what={settings.what} needs 3 rows or more, what=perfect up to 7"
        )
    return loaded


def subject(settings: StrengthConfig, loaded: LoadedNetwork) -> tuple[Evaluators, int, Document]:
    """What is measured, on a device whose settings are applied.

    Returns:
        The network's evaluators, the number of positions searched at the same time, and the facts
        of the document.
    """
    size = settings.board or loaded.size
    profile = applied_profile(settings.accelerator)
    evaluators = Evaluators(loaded, size, profile)
    games = settings.games or profile.evaluation_batch
    evaluator = evaluators(games)
    backend = f"{evaluator.backend} {str(evaluator.dtype).removeprefix('torch.')}"
    facts = {
        "what": settings.what,
        "checkpoint": settings.checkpoint,
        "seed": settings.seed,
        "search": asdict(settings.search),
        "trained_on": loaded.size,
        "board": size,
        "swap": loaded.swap,
        "games": games,
        "device": f"{profile.device}, {profile.threads} threads, {backend}",
        "versions": versions(),
    }
    return evaluators, games, facts


def measure_truth(
    settings: StrengthConfig, evaluators: Evaluators, games: int, advance: Advance, part: Part
) -> Iterator[Document]:
    """Openings, optimality and calibration, or games against perfect play: without search, and by
    simulations.
    """
    size = evaluators.size
    seed = settings.seed
    cache = cache_folder() / "truth"
    levels = {0: evaluators.network.player(None, games)}
    for number in sorted(set(settings.simulations)):
        search = replace(settings.search, simulations=number)
        levels[number] = evaluators.network.player(search, games)
    if settings.what == "perfect":
        playing = partial(advance, "playing perfect play")
        yield measures.measure_perfect(
            levels, size=size, pairs=settings.pairs, seed=seed, advance=playing, part=part
        )
        return
    advance("solving positions", 0.0)
    positions = {
        "games": game_positions(size, settings.positions, seed, cache),
        "random": random_positions(size, settings.positions, seed, cache),
    }
    judging = partial(advance, "judging positions")
    yield measures.measure_truth(
        levels, positions, size=size, batch=games, advance=judging, part=part
    )


def measure_search(
    settings: StrengthConfig, evaluators: Evaluators, games: int, advance: Advance, part: Part
) -> Iterator[Document]:
    """Every way of searching: its match, its optimality, its speed. Yields the growing table, row
    by row.
    """
    size = evaluators.size
    cache = cache_folder() / "truth"
    how = Thoroughness(
        min(settings.pairs, most_openings(size, OPENING_PLIES)),
        settings.seed,
        games,
        settings.seconds,
    )
    advance("solving positions", 0.0)
    positions = (
        game_positions(size, settings.positions, settings.seed, cache) if size in LIMITS else None
    )
    ways = list(
        variants(settings.search, sorted(set(settings.simulations)), sorted(set(settings.leaves)))
    )
    # A row takes about as long as its searches plus those of its opponents, if these search.
    efforts = [way.config.simulations * (1 if way.opponent is None else 2) for way in ways]
    rows: list[Document] = []
    for number, way in enumerate(ways):
        advance(way.name, sum(efforts[:number]) / sum(efforts))
        rows.append(measure_variant(way, evaluators.network, positions, how, part))
        yield {"rows": rows}


class Parts:
    """Measures the missing parts of a run, and keeps each as soon as it is whole. See
    `hexlit.arena.measures.Part`.
    """

    def __init__(self, folder: Path, network: Path, device: str, *, resume: bool) -> None:
        """Of the run in `folder`, of the network in a file, measured on `device`; with `resume` the
        kept parts count.

        Raises:
            UsageError: the kept ones are of another network.
        """
        self._path = folder / PARTS_FILE
        digest = hashlib.sha256(network.read_bytes()).hexdigest()[:16]
        content: Document = {"subject": {NETWORK: digest}, "devices": [], "parts": {}}
        content |= read_json(self._path) if resume else {}
        was = content["subject"].get(NETWORK)
        if was != digest:
            raise UsageError(
                f"resume={folder}: {NETWORK} was {was} when its parts were measured, "
                f"and is {digest} now; start a new measurement"
            )
        content["devices"] = list(dict.fromkeys([*content["devices"], device]))
        self._content = content
        write_text_atomic(self._path, as_json(content) + "\n")

    @property
    def devices(self) -> str:
        """The devices that have measured parts."""
        return "; ".join(self._content["devices"])

    def __call__(self, name: str, measure: Callable[[], Any]) -> Any:
        """The result of the part `name`: kept, or else that of `measure`, which is kept from now
        on.
        """
        parts = self._content["parts"]
        if name not in parts:
            parts[name] = measure()
            write_text_atomic(self._path, as_json(self._content) + "\n")
        return parts[name]


def _log_table(document: Document, run: "TrackedRun") -> None:
    run.table("strength/searches", *as_rows(table_of(document)), 0)


def _log_levels(document: Document, run: "TrackedRun") -> None:
    """A row per number of simulations, 0 for the network alone, with the map of openings."""
    run.define_axes([SIMULATIONS], default=SIMULATIONS)
    openings = document["openings"]
    for step, level in enumerate(openings["levels"]):
        row = {SIMULATIONS: level["simulations"], "strength/openings_right": level["right"]}
        for kind, levels in document["optimality"].items():
            row[f"strength/{kind}_optimality"] = levels[step]["all"]["share"]
        run.log({name: value for name, value in row.items() if value is not None}, step)
        run.picture(
            "strength/opening_map",
            board_picture(OpeningsBoard("", level["map"], openings["truth"]))[1],
            step,
        )
