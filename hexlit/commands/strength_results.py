"""The document of a strength run: kept in its folder, printed, and logged on Weights & Biases."""

from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hexlit.commands.strength import StrengthConfig
    from hexlit.tracking.tracked_run import TrackedRun

Document = dict[str, Any]

RESULTS_FILE = "strength.json"
FILES = (RESULTS_FILE, "strength.md", "reliability.svg", "growth.svg")
SIMULATIONS = "strength/simulations"


def write(folder: Path, document: Document) -> None:
    """Write the document, its tables and its figures into `folder`."""
    from hexlit.files import replacing, write_text_atomic
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
    from rich.text import Text

    from hexlit.reporting import text
    from hexlit.reporting.strength import strength_page

    if json:
        print(as_json(document))
    elif markdown:
        print(text.markdown(strength_page(document)))
    else:
        console = text.terminal(wide=150)
        text.show(strength_page(document), console)
        console.print(Text(f"\nwritten to {folder}", "dim"), soft_wrap=True)


def as_json(document: Document) -> str:
    """The document as JSON, without NaN and infinities, which JSON does not know."""
    return dumps(document, indent=2, allow_nan=False)


def track_strength(config: "StrengthConfig", folder: Path, document: Document) -> None:
    """Log the strength run in `folder` on Weights & Biases."""
    from hexlit.commands.choices import facts_of
    from hexlit.reporting.strength import search_table
    from hexlit.reporting.text import as_rows
    from hexlit.tasks.hex.checkpoint import network_file
    from hexlit.tracking.opening import open_run
    from hexlit.tracking.tracked_run import Files
    from hexlit.training.loggers import checkpoint_files

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


def log_levels(run: "TrackedRun", document: Document) -> None:
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
