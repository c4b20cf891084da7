"""The report of `hexlit strength`: openings, optimality, calibration and searches."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hexlit.reporting.pages.hex_sections import MAP_LEGEND, opening_map, solved_map
from hexlit.reporting.pages.page import Block, Facts, Figures, Notes, Page, Section
from hexlit.reporting.pages.written import figures_in, table_of, titled
from hexlit.reporting.quantities import DASH, format_count, format_share
from hexlit.reporting.search_quality import explanation, search_grid
from hexlit.reporting.strength_tables import grids, judged_by


def strength_page(document: Mapping[str, Any], folder: Path) -> Page:
    """The whole report, from the content of `strength.json` and the figures in its `folder`.

    Raises:
        KeyError: `document` does not come from `hexlit strength`.
    """
    truth = document["what"] == "truth"
    title = f"Strength on {document['board']}×{document['board']}"
    where = f"{document['checkpoint']} · {document['search']['algorithm']} · {document['device']}"
    sections = truth_sections(document, folder) if truth else search_sections(document)
    facts = Facts(truth_facts(document)) if truth else Facts([("ways to search", str(len(document["rows"])))])
    return Page(title, where, sections, lead=[facts])


def truth_facts(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The facts of the best level first."""
    last = document["openings"]["levels"][-1]
    truth = document["openings"]["truth"]
    entries = [("openings right", DASH if truth is None else f"{last['right']}/{len(truth)}")]
    for kind, levels in document["optimality"].items():
        for level in dict.fromkeys((0, len(levels) - 1)):
            how = judged_by(levels[level]["simulations"])
            entries.append((f"optimal, {kind}, {how}", format_share(levels[level]["all"]["share"])))
    entries += [(f"positions: {kind}", format_count(result["count"])) for kind, result in document["positions"].items()]
    return entries


def truth_sections(document: Mapping[str, Any], folder: Path) -> list[Section]:
    """Maps of the openings, then every table."""
    openings = document["openings"]
    maps = [opening_map(judged_by(one["simulations"]), one["map"], openings["truth"]) for one in openings["levels"]]
    if openings["truth"]:
        maps.append(solved_map(openings["truth"]))
    tables = [block for grid in grids(document) for block in titled(grid)]
    titles = {"growth.svg": "Strength by simulations", "reliability.svg": "Reliability of the value"}
    figures = figures_in(folder, titles)
    return [
        Section("Openings", [Figures(maps, small=True), Notes([MAP_LEGEND], "quiet")]),
        Section("Figures", figures or [Notes(["None were drawn."], "quiet")]),
        Section("Tables", tables),
    ]


def search_sections(document: Mapping[str, Any]) -> list[Section]:
    """Strength and cost of each way of searching."""
    blocks: list[Block] = [table_of(search_grid(document)), Notes([explanation(document)], "quiet")]
    return [Section("Searches", blocks)]
