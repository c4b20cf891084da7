"""A strength run: its measurements, the parts that its folder keeps, and its document, printed and tracked.

`parts.json` appears with the first part, after the settings in `.hydra/`: `resume=FOLDER` measures only the others. It
goes when `strength.json` is whole.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.errors import UsageError
from hexlit.files import cache_folder, replacing, write_text_atomic

if TYPE_CHECKING:  # these import torch or compile kernels: only for a measurement
    from hexlit.arena.measures import Part
    from hexlit.commands.elsewhere import JudgeWith
    from hexlit.commands.networks import Evaluators
    from hexlit.commands.strength import StrengthConfig
    from hexlit.tracking.tracked_run import TrackedRun

Document = dict[str, Any]
Advance = Callable[[str, float], None]
"""Called with the present activity, and the share of the work that is done, in [0, 1]."""

PARTS_FILE, RESULTS_FILE = "parts.json", "strength.json"
FILES = (RESULTS_FILE, "strength.md", "reliability.svg", "growth.svg")
NETWORK = "the network's SHA-256"
SIMULATIONS = "strength/simulations"


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
    from hexlit.arena.measures import Level, effort_of
    from hexlit.arena.measures import measure_truth as against_truth
    from hexlit.arena.positions import game_positions, random_positions
    from hexlit.commands.elsewhere import judges_here, judges_there

    size, cache = evaluators.size, cache_folder() / "truth"
    advance("solving positions", 0.0)
    positions = {
        "games": game_positions(size, settings.positions, settings.seed, cache),
        "random": random_positions(size, settings.positions, settings.seed, cache),
    }
    batch, place = games, nullcontext(judges_here(evaluators, settings.search, games))
    there: AbstractContextManager[JudgeWith] = place
    if settings.where == "ray":
        batch = games * settings.workers
        there = judges_there(settings.ray, settings.workers, settings.accelerator, evaluators, settings.search, games)
    with there as judge:
        levels = [Level(number, judge(number)) for number in (0, *sorted(set(settings.simulations)))]
        whole, done = effort_of(levels, positions, size), 0

        def judged(effort: int) -> None:
            nonlocal done
            done += effort
            advance("judging positions", done / whole)

        yield against_truth(levels, positions, size=size, batch=batch, advance=judged, part=part)


def measure_search(
    settings: "StrengthConfig", evaluators: "Evaluators", games: int, advance: Advance, part: "Part"
) -> Iterator[Document]:
    """Every way of searching: its match, its optimality, its speed. Yields the growing table, row by row."""
    from hexlit.arena.matches import most_openings
    from hexlit.arena.measures import OPENING_PLIES, Network, Thoroughness, measure_variant, variants
    from hexlit.arena.positions import LIMITS, game_positions

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


def about(settings: "StrengthConfig", evaluators: "Evaluators", games: int) -> Document:
    """The subject of the figures: network, search and device."""
    from hexlit.tracking.provenance import versions

    device, workers = f"{settings.ray.device}, {settings.ray.threads} threads", settings.workers  # of each actor
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
    from hexlit.reporting.charts import draw_data
    from hexlit.reporting.strength import growth_chart, reliability_charts, strength_page
    from hexlit.reporting.text import markdown

    write_text_atomic(folder / RESULTS_FILE, as_json(document) + "\n")
    write_text_atomic(folder / "strength.md", markdown(strength_page(document)))
    if document["what"] == "truth":
        for name, _, chart in (growth_chart(document), *reliability_charts(document)):
            with replacing(folder / f"{name}.svg") as temporary:
                temporary.write_bytes(draw_data(chart))


def show(document: Document, folder: Path, *, json: bool, markdown: bool) -> None:
    """Print the document: as JSON, as Markdown, or as tables for a terminal."""
    from hexlit.reporting import text
    from hexlit.reporting.strength import strength_page

    if json:
        print(as_json(document))
    elif markdown:
        print(text.markdown(strength_page(document)))
    else:
        console = text.terminal(wide=150)
        text.show(strength_page(document), console)
        console.print(f"\nwritten to {folder}", style="dim", soft_wrap=True, markup=False)


def track_strength(config: "StrengthConfig", folder: Path, document: Document) -> None:
    """Log the strength run in `folder` on Weights & Biases."""
    from hexlit.commands.command_line import facts_of
    from hexlit.reporting.strength import search_table
    from hexlit.reporting.text import as_rows
    from hexlit.tasks.hex.checkpoint import network_file
    from hexlit.tracking.opening import open_run
    from hexlit.tracking.tracked_run import Files
    from hexlit.training.loggers import checkpoint_files

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


def _log_levels(run: "TrackedRun", document: Document) -> None:
    """A row per number of simulations, 0 for the network alone, with the map of openings."""
    from hexlit.reporting.board_image import openings_image

    run.define_axes([SIMULATIONS], default=SIMULATIONS)
    openings = document["openings"]
    for step, level in enumerate(openings["levels"]):
        row = {SIMULATIONS: level["simulations"], "strength/openings_right": level["right"]}
        for kind, levels in document["optimality"].items():
            row[f"strength/{kind}_optimality"] = levels[step]["all"]["share"]
        run.log({name: value for name, value in row.items() if value is not None}, step)
        run.picture("strength/opening_map", openings_image(level["map"], openings["truth"]), step)
