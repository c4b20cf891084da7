"""A strength run on Weights & Biases: optimality and openings over simulations, and the measured network."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.commands.choices import facts_of
from hexlit.reporting.board_image import openings_image
from hexlit.reporting.strength import search_table
from hexlit.reporting.text import as_rows
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
    if document["what"] == "truth":
        log_levels(run, document)
    else:
        run.table("strength/searches", *as_rows(search_table(document)), 0)
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
        for kind, levels in document["optimality"].items():
            row[f"strength/{kind}_optimality"] = levels[step]["all"]["share"]
        run.log({name: value for name, value in row.items() if value is not None}, step)
        run.picture("strength/opening_map", openings_image(level["map"], openings["truth"]), step)
