"""A strength run on Weights & Biases: optimality and openings over simulations, and the measured network."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.commands.choices import facts_of
from hexlit.reporting.board_image import openings_image
from hexlit.tasks.hex.checkpoint import network_file
from hexlit.tracking.opening import open_run
from hexlit.tracking.tracked_run import Files, TrackedRun
from hexlit.training.loggers import checkpoint_files

if TYPE_CHECKING:
    from hexlit.commands.strength import StrengthConfig

SIMULATIONS = "strength/simulations"
FILES = ("strength.json", "strength.md", "reliability.svg", "growth.svg")


def track_strength(config: "StrengthConfig", folder: Path, document: Mapping[str, Any]) -> None:
    """Log the strength run in `folder`; `document` is the content of its `strength.json`."""
    run = open_run(
        config.logger.wandb,
        folder,
        name=f"strength-{folder.name}",
        kind="strength",
        tags=["strength", config.what, f"{document['board']}×{document['board']}"],
        facts=facts_of(config, device=document["device"], size=document["board"]),
    )
    if run is None:
        return
    run.used(checkpoint_files(network_file(config.checkpoint)))
    (log_levels if document["what"] == "truth" else log_ways)(run, document)
    run.flush()
    run.note(summary=document)
    paths = [folder / name for name in FILES if (folder / name).exists()]
    run.made(Files(run.identity.artifact("strength"), "strength", paths))
    run.finish()


def log_levels(run: TrackedRun, document: Mapping[str, Any]) -> None:
    """A row per number of simulations, 0 for the network alone, with the map of openings."""
    run.define_axes([SIMULATIONS], default=SIMULATIONS)
    openings = document["openings"]
    for step, level in enumerate(openings["levels"]):
        row = {SIMULATIONS: level["simulations"], "strength/openings_right": level["right"]}
        row |= {f"strength/{kind}_optimality": share for kind, share in optimality_of(document, step)}
        run.log({name: value for name, value in row.items() if value is not None}, step)
        run.picture("strength/opening_map", openings_image(level["map"], openings["truth"]), step)


def optimality_of(document: Mapping[str, Any], level: int) -> Iterator[tuple[str, float | None]]:
    """Share of won positions whose win is preserved, by kind of positions, at `level`."""
    for kind, levels in document["optimality"].items():
        yield kind, levels[level]["all"]["share"]


def log_ways(run: TrackedRun, document: Mapping[str, Any]) -> None:
    """Ways of searching as a table."""
    rows = [dict(flat(row)) for row in document["rows"]]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    run.table("strength/searches", columns, [[row.get(name) for name in columns] for row in rows], 0)


def flat(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted name and value of every plain entry."""
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        elif not isinstance(value, list):
            yield f"{prefix}{name}", value
