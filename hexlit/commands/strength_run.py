"""A strength run: its measurements, the parts that its folder keeps, and its document, printed and tracked.

`parts.json` appears with the first part, after the settings in `.hydra/`: `resume=FOLDER` measures only the others. It
goes when `strength.json` is whole.
"""

import hashlib
import json
import os
import secrets
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from hexlit.arena import measures
from hexlit.arena.matches import most_openings
from hexlit.arena.measures import (
    OPENING_PLIES,
    Network,
    Part,
    Thoroughness,
    measure_variant,
    variants,
)
from hexlit.arena.positions import LIMITS, game_positions, limits_of, random_positions
from hexlit.commands.command_line import facts_of, refuse_unused, same_command
from hexlit.commands.elsewhere import JudgeWith, judges_here, judges_there
from hexlit.commands.players import Evaluators, applied_profile
from hexlit.commands.report_files import write_beside
from hexlit.commands.run_folder import PARTS_FILE, RESULTS_FILE, claim, settings_writer
from hexlit.errors import UsageError
from hexlit.files import cache_folder, replacing, write_text_atomic
from hexlit.interruption import says_how_to_continue
from hexlit.reporting.board_svg import board_picture
from hexlit.reporting.html import drawn
from hexlit.reporting.page import OpeningsBoard
from hexlit.reporting.screen import work_bar
from hexlit.reporting.strength import figures_of, search_table, strength_page
from hexlit.reporting.text import as_rows, terminal
from hexlit.reporting.text import markdown as markdown_of
from hexlit.reporting.text import show as show_page
from hexlit.tasks.hex.checkpoint import LoadedNetwork, load_network, network_file
from hexlit.tracking.opening import open_run
from hexlit.tracking.provenance import versions
from hexlit.tracking.tracked_run import Files, TrackedRun
from hexlit.training.loggers import checkpoint_files

if TYPE_CHECKING:
    from hexlit.commands.strength import StrengthConfig

Document = dict[str, Any]
Advance = Callable[[str, float], None]
"""Called with the present activity, and the share of the work that is done, in [0, 1]."""

RUNS = Path("runs") / "strength"
FILES = (RESULTS_FILE, "strength.md", "reliability.svg", "growth.svg")
NETWORK = "the network's SHA-256"
SIMULATIONS = "strength/simulations"


def strength_run(config: DictConfig, settings: "StrengthConfig") -> None:
    """Run the requested measurement, or its missing parts, save it and print it."""
    # A resumed measurement keeps the cluster's settings of its beginning.
    overrides = HydraConfig.get().overrides.task if settings.resume is None else ()
    refuse_unused(settings.where, settings.ray, settings.accelerator, overrides)
    folder = None if settings.resume is None else held_folder("resume", Path(os.path.relpath(settings.resume)))
    document = None if folder is None else finished(folder)
    if document is None:
        folder, document = measured(config, settings, folder)
    assert folder is not None
    if settings.report:
        write_beside(folder)
    if settings.logger.wandb.mode != "disabled":
        track_strength(settings, folder, document)
    show(document, folder, json=settings.json, markdown=settings.markdown)


def measured(config: DictConfig, settings: "StrengthConfig", folder: Path | None) -> tuple[Path, Document]:
    """Measure the missing parts of the run in `folder`, or all in a new folder. Returns the folder and the result."""
    loaded = load_network(settings.checkpoint)
    size = settings.board or loaded.size
    check_board(settings.what, size)
    place = folder or held_folder("output", Path(settings.output) if settings.output else new_folder())
    parts = Parts(place, settings_writer(config, place))

    def again() -> str:
        where = os.path.relpath(place)
        if folder is None and not parts:
            return same_command("hexlit strength", f"output={where}")
        return f"hexlit strength {shlex.join([f'resume={where}'])}"

    with says_how_to_continue("hexlit strength", lambda: f"what was measured is in {place}", again):
        evaluators = evaluators_of(loaded, size, settings)
        games = settings.games or evaluators.profile.evaluation_batch
        facts = about(settings, evaluators, games)
        parts.open(network_file(settings.checkpoint), facts["device"], resume=folder is not None)
        measure = measure_truth if settings.what == "truth" else measure_search
        with work_bar("measuring") as advance:
            for result in measure(settings, evaluators, games, advance, parts):
                document = facts | {"device": parts.device} | result
                write(place, document)
        parts.end()
    return place, document


def evaluators_of(loaded: LoadedNetwork, size: int, settings: "StrengthConfig") -> Evaluators:
    """The evaluators of a network, on a device whose settings are applied."""
    profile = applied_profile(settings.accelerator)
    numba.set_num_threads(min(profile.threads, numba.config.NUMBA_NUM_THREADS))
    return Evaluators(loaded, size, profile)


def evaluated(settings: "StrengthConfig") -> Document:
    """The measures of the network of `settings` against the exact truth; nothing is printed or written."""
    loaded = load_network(settings.checkpoint)
    size = settings.board or loaded.size
    check_board("truth", size)
    evaluators = evaluators_of(loaded, size, settings)
    games = settings.games or evaluators.profile.evaluation_batch
    (result,) = measure_truth(settings, evaluators, games, lambda what, share: None, measures.measured_now)
    return about(settings, evaluators, games) | result


def new_folder() -> Path:
    """A new folder for the results."""
    return RUNS / f"{datetime.now():%Y-%m-%d_%H-%M-%S}_{secrets.token_hex(3)}"


def held_folder(key: str, folder: Path) -> Path:
    """The `folder` of the setting `key`, made and held before minutes are spent on its results."""
    try:
        claim(folder, below=False)
    except UsageError as error:
        raise UsageError(f"{key}={error}") from error
    return folder


def check_board(what: str, size: int) -> None:
    """Refuse a board whose positions cannot be solved, if nothing else would be measured."""
    if what == "truth":
        limits_of(size)
    elif size < 3:
        raise UsageError(f"board={size}: two stones decide nothing only on boards of 3 rows and more")


def measure_truth(
    settings: "StrengthConfig", evaluators: Evaluators, games: int, advance: Advance, part: Part
) -> Iterator[Document]:
    """Openings, optimality and calibration, without search and with each number of simulations."""
    size, cache = evaluators.size, cache_folder() / "truth"
    advance("solving positions", 0.0)
    positions = {
        "games": game_positions(size, settings.positions, settings.seed, cache),
        "random": random_positions(size, settings.positions, settings.seed, cache),
    }
    batch, place = games, (settings.ray, settings.workers, settings.accelerator)
    if settings.where == "ray":
        batch = games * settings.workers
        judges: AbstractContextManager[JudgeWith] = judges_there(*place, evaluators, settings.search, games)
    else:
        judges = nullcontext(judges_here(evaluators, settings.search, games))
    with judges as judge:
        levels = {number: judge(number) for number in (0, *sorted(set(settings.simulations)))}
        judged = partial(advance, "judging positions")
        yield measures.measure_truth(levels, positions, size=size, batch=batch, advance=judged, part=part)


def measure_search(
    settings: "StrengthConfig", evaluators: Evaluators, games: int, advance: Advance, part: Part
) -> Iterator[Document]:
    """Every way of searching: its match, its optimality, its speed. Yields the growing table, row by row."""
    size = evaluators.size
    how = Thoroughness(min(settings.pairs, most_openings(size, OPENING_PLIES)), settings.seed, games, settings.seconds)
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


def about(settings: "StrengthConfig", evaluators: Evaluators, games: int) -> Document:
    """The subject of the figures: network, search and device."""
    device, workers = f"{settings.ray.device}, {settings.ray.threads} threads", settings.workers  # of each task
    if settings.where == "here":
        evaluator, profile = evaluators(games), evaluators.profile
        backend = f"{evaluator.backend} {str(evaluator.dtype).removeprefix('torch.')}"
        device, workers = f"{profile.device}, {profile.threads} threads, {backend}", 0
    return {
        **{name: getattr(settings, name) for name in ("what", "checkpoint", "seed", "where")},
        "search": asdict(settings.search),
        "trained_on": evaluators.loaded.size,
        "board": evaluators.size,
        "swap": evaluators.loaded.swap,
        "games": games,
        "workers": workers,
        "device": device,
        "versions": versions(),
    }


def finished(folder: Path) -> Document | None:
    """The result of the measurement in `folder`; None if parts are missing.

    Raises:
        UsageError: it cannot be read.
    """
    return None if (folder / PARTS_FILE).exists() else _read(folder / RESULTS_FILE, {"what": str})


class Parts:
    """Measures the missing parts of a run, and keeps each as soon as it is whole. See `hexlit.arena.measures.Part`."""

    def __init__(self, folder: Path, begin: Callable[[], None]) -> None:
        """None yet for the run in `folder`; `begin` is called before the first one is kept."""
        self._path = folder / PARTS_FILE
        self._begin = begin
        self._content: Document = {"subject": {}, "devices": [], "parts": {}}

    def open(self, network: Path, device: str, *, resume: bool) -> None:
        """Measure the network in the file `network` on `device`; with `resume` the kept parts count.

        Raises:
            UsageError: the kept ones are of another network, or cannot be read.
        """
        digest = hashlib.sha256(network.read_bytes()).hexdigest()[:16]
        if resume:
            self._content = _read(self._path, {"subject": dict, "devices": list, "parts": dict})
            was = self._content["subject"].get(NETWORK)
            if was != digest:
                raise UsageError(
                    f"resume={self._path.parent}: {NETWORK} was {was} when its parts were measured, and is {digest} "
                    "now; start a new measurement"
                )
        self._content["subject"] = {NETWORK: digest}
        self._content["devices"] = list(dict.fromkeys([*self._content["devices"], device]))

    def __len__(self) -> int:
        return len(self._content["parts"])

    @property
    def device(self) -> str:
        """The devices that have measured parts."""
        return "; ".join(self._content["devices"])

    def __call__(self, name: str, measure: Callable[[], Any]) -> Any:
        """The result of the part `name`: kept, or else that of `measure`, which is kept from now on."""
        parts = self._content["parts"]
        if name not in parts:
            result = measure()
            if not parts:
                self._begin()
            parts[name] = result
            write_text_atomic(self._path, as_json(self._content) + "\n")
        return parts[name]

    def end(self) -> None:
        """Remove their file: the result has them all."""
        self._path.unlink(missing_ok=True)


def _read(path: Path, kinds: Mapping[str, type]) -> Document:
    """The object in the file; it has entries of these `kinds`."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(result, dict) or not all(isinstance(result.get(name), kind) for name, kind in kinds.items()):
            raise ValueError("not what hexlit strength writes")
    except (OSError, ValueError) as error:  # ValueError: neither UTF-8 nor JSON, too
        raise UsageError(f"{path}: cannot be read ({error}); restore the file, or start a new measurement") from error
    return result


def as_json(document: Document) -> str:
    """The document as JSON, without NaN and infinities, which JSON does not know."""
    return json.dumps(document, indent=2, allow_nan=False)


def write(folder: Path, document: Document) -> None:
    """Write the document, its tables and its figures into `folder`."""
    write_text_atomic(folder / RESULTS_FILE, as_json(document) + "\n")
    write_text_atomic(folder / "strength.md", markdown_of(strength_page(document)))
    if document["what"] == "truth":
        for figure in figures_of(document):
            with replacing(folder / f"{figure.name}.svg") as temporary:
                temporary.write_bytes(drawn(figure))


def show(document: Document, folder: Path, *, json: bool, markdown: bool) -> None:
    """Print the document: as JSON, as Markdown, or as tables for a terminal."""
    if json:
        print(as_json(document))
    elif markdown:
        print(markdown_of(strength_page(document)))
    else:
        console = terminal(wide=150)
        show_page(strength_page(document), console)
        console.print(f"\nwritten to {folder}", style="dim", soft_wrap=True, markup=False)


def track_strength(config: "StrengthConfig", folder: Path, document: Document) -> None:
    """Log the strength run in `folder` on Weights & Biases."""
    size = document["board"]
    run = open_run(
        config.logger.wandb,
        folder,
        name=f"strength-{folder.name}",
        kind="strength",
        tags=["strength", config.what, f"{size}×{size}"],
        facts=facts_of(config, device=document["device"], size=size),
    )
    if run is None:
        return
    run.used(checkpoint_files(network_file(config.checkpoint)))
    if document["what"] == "truth":
        _log_levels(run, document)
    else:
        run.table("strength/searches", *as_rows(search_table(document)), 0)
    run.flush()
    run.note(summary=document)
    paths = [folder / name for name in FILES if (folder / name).exists()]
    run.made(Files(run.identity.artifact("strength"), "strength", paths))
    run.finish()


def _log_levels(run: TrackedRun, document: Document) -> None:
    """A row per number of simulations, 0 for the network alone, with the map of openings."""
    run.define_axes([SIMULATIONS], default=SIMULATIONS)
    openings = document["openings"]
    for step, level in enumerate(openings["levels"]):
        row = {SIMULATIONS: level["simulations"], "strength/openings_right": level["right"]}
        for kind, levels in document["optimality"].items():
            row[f"strength/{kind}_optimality"] = levels[step]["all"]["share"]
        run.log({name: value for name, value in row.items() if value is not None}, step)
        board = OpeningsBoard("", level["map"], openings["truth"])
        run.picture("strength/opening_map", board_picture(board)[1], step)
