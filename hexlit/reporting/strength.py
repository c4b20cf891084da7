"""Strength: the sections of a run of Hex in its report, and the report of `hexlit strength`."""

import re
from collections.abc import Mapping, Sequence

from hexlit.hex.record import GameRecord
from hexlit.reporting import page as pages
from hexlit.reporting.board import step_game
from hexlit.reporting.match import about_ratings, ratings
from hexlit.reporting.page import (
    Block,
    Boards,
    Cell,
    ChartLine,
    Column,
    Document,
    Facts,
    Figure,
    Figures,
    Notes,
    Section,
    table,
)
from hexlit.reporting.quantities import DASH, format_figures, format_share, format_strength
from hexlit.reporting.run_files import RunFiles

MEASURED = {
    "strength.search_optimality": "search optimal",
    "strength.policy_optimality": "policy optimal",
    "strength.games_policy_optimality": "policy optimal, games",
    "strength.rollouts_share": "won against rollouts",
}
"""Shares of a strength by metric, in the order of the chart."""
AXES = {
    "epoch": ("epoch", "count"),
    "selfplay.games": ("games", "count"),
    "cost.flops": ("operations", "flops"),
    "cost.seconds": ("time", "seconds"),
}
"""Metric -> heading and unit of the first columns of the table of evaluations."""
SELFPLAY = {
    "games_per_second": ("Throughput of self-play", "games a second"),
    "window": ("Window of positions to learn from", "positions"),
    "moves_a_game": ("Length of the games", "moves a game"),
}
MAP_LEGEND = (
    "Value of Black's first stone on each cell, in hundredths: blue wins, red loses. "
    "A ring marks a cell that perfect play judges otherwise."
)
KINDS = {"games": "positions from games", "random": "random cells"}
"""Kinds of positions in a document, and their names."""
ABOUT_SEARCHES = (
    "won: games over distinct openings, both colours; leaves: positions of a tree evaluated "
    "together (root: under different root moves only), which meets the same search with one; "
    "a call: how many there are on average; sims/s: simulations a second"
)
_SHOWN_ROWS = 12  # evaluations in the table of a run


def hex_sections(files: RunFiles, games: Sequence[GameRecord] = ()) -> list[Section]:
    """Sections of the run in `files`; `games` are samples of its self-play, oldest first."""
    strength, epochs = files.summary.get("strength") or {}, files.column("epoch")
    latest = {name: text for name, text in format_strength(strength).items() if name != "score"}
    validation = format_figures(files.summary.get("val") or {})
    first = _facts({"": latest, "On validation data": validation})
    truth = strength.get("opening_truth")
    titles = {
        "opening_map": "The search's map",
        "value_opening_map": "The value alone, without search",
    }
    maps = []
    for name, title in titles.items():
        if strength.get(name):
            maps.append(pages.OpeningsBoard(title, strength[name], truth))
    charts = []
    for name, (title, unit) in SELFPLAY.items():
        if f"selfplay.{name}" in files.metrics:
            line = epochs, files.column(f"selfplay.{name}")
            charts.append(
                pages.plot(
                    f"selfplay-{name}",
                    title,
                    {"": line},
                    y=unit,
                )
            )
    steps = []
    for game in games:
        title = f"network after {game.network_version} epochs · {len(game.moves)} moves"
        steps.append(step_game(game, title))
    details: dict[str, Sequence[Block]] = {"Evaluations": _evaluations(files, strength)}
    if maps:
        details["Openings"] = [Boards([*maps, *solved(truth)]), Notes([MAP_LEGEND], "quiet")]
    if charts:
        details["Self-play"] = [Figures(charts)]
    if steps:
        details["Sample games"] = [pages.GameViewer(games[0].size, steps)]
    sections = [Section("Strength", first)] if first else []
    for title, blocks in details.items():
        if blocks:
            sections.append(Section(title, blocks, detail=True))
    return sections


def _facts(groups: Mapping[str, Mapping[str, str]]) -> list[Block]:
    return [Facts(list(entries.items()), title) for title, entries in groups.items() if entries]


def _evaluations(files: RunFiles, strength: Document) -> list[Block]:
    """A chart of the evaluations over epochs, and a table by games, operations and time."""
    lines = {label: files.column(name) for name, label in MEASURED.items() if name in files.metrics}
    right, openings = files.column("strength.openings_right"), files.column("strength.openings")
    if any(right):
        shares = zip(right, openings, strict=True)
        lines["openings right"] = [
            None if one is None or not of else one / of for one, of in shares
        ]
    groups = {"Value alone, without search": "^value_", "Positions from games": "^games?_"}
    texts = {}
    for title, start in groups.items():
        figures = {
            re.sub(start, "", one): strength[one] for one in strength if re.match(start, one)
        }
        if "openings" in strength:
            figures["openings"] = strength["openings"]
        texts[title] = format_figures(figures)
    blocks, epochs = _facts(texts), files.column("epoch")
    measured = []
    for index in range(len(epochs)):
        if any(line[index] is not None for line in lines.values()):
            measured.append(index)
    if not measured:
        return blocks
    curves: dict[str, pages.Points] = {name: (epochs, ys) for name, ys in lines.items()}
    chart = pages.plot(
        "strength",
        "Strength over epochs",
        curves,
        share=True,
        dots=True,
    )
    step = -(-len(measured) // _SHOWN_ROWS)
    columns = []
    for name, (heading, unit) in AXES.items():
        if name in files.metrics:
            columns.append((heading, unit, files.column(name)))
    columns += [(heading, "share", values) for heading, values in lines.items()]
    rows = []
    for index in measured[::-step][::-1]:
        rows.append([pages.cell(values[index], unit) for _, unit, values in columns])
    headings = [heading for heading, _, _ in columns]
    title = "Strength by games, operations and time"
    return [*blocks, Figures([chart]), table(title, headings, rows, names=0)]


def solved(truth: Sequence[bool] | None) -> list[pages.OpeningsBoard]:
    """The openings that win in perfect play; none where it is not known."""
    values = [1 if wins else -1 for wins in truth or ()]
    return [pages.OpeningsBoard("Solved: perfect play", values, exact=True)] if truth else []


def strength_page(document: Document) -> pages.Page:
    """The whole report, from the content of `strength.json`.

    Raises:
        KeyError: `document` does not come from `hexlit strength`.
    """
    size, what = document["board"], document["what"]
    algorithm = document["search"]["algorithm"]
    where = f"{document['checkpoint']} · {size}×{size} · {algorithm} · {document['device']}"
    if what == "search":
        section = Section("Searches", [table_of(document), Notes([ABOUT_SEARCHES], "quiet")])
        return pages.Page(f"Searches on {size}×{size}", where, [section])
    if what == "perfect":
        about = Notes(about_ratings(document), "quiet")
        section = Section("Against perfect play", [table_of(document), about])
        return pages.Page(f"Against perfect play on {size}×{size}", where, [section])
    truth, levels = document["openings"]["truth"], document["openings"]["levels"]
    maps = [pages.OpeningsBoard(judged_by(one["simulations"]), one["map"], truth) for one in levels]
    more: list[Block] = [Boards([*maps[1:-1], *solved(truth)]), Notes([MAP_LEGEND], "quiet")]
    sections = [
        Section("Openings", [Boards([maps[0], *maps[1:][-1:]])]),
        Section("More openings", more, detail=True),
        Section("Figures", [Figures(figures_of(document))], detail=True),
    ]
    optimality = [growth_table(document)]
    if "games" in document["optimality"]:
        optimality.append(kinds_table(document["optimality"]["games"]))
    sections.append(Section("Optimality", optimality))
    calibration = [calibration_table(*entry) for entry in document["calibration"].items()]
    sections.append(Section("Calibration", calibration))
    last = levels[-1]
    facts = [("openings right", DASH if truth is None else f"{last['right']}/{len(truth)}")]
    for kind, rows in document["optimality"].items():
        for row in dict.fromkeys((0, len(rows) - 1)):
            name = f"optimal, {kind}, {judged_by(rows[row]['simulations'])}"
            facts.append((name, format_share(rows[row]["all"]["share"])))
    return pages.Page(
        f"Strength on {size}×{size}",
        where,
        sections,
        [Facts(facts)],
    )


def level_name(simulations: int) -> str:
    """`no search`, `64`."""
    return f"{simulations:,}" if simulations else "no search"


def judged_by(simulations: int) -> str:
    """The judge with `simulations` simulations, in words."""
    return f"searched, {simulations:,} simulations" if simulations else "the value alone"


def share_cell(share: Document | None) -> Cell:
    """`98.3% (97.2–99.0)`: a share with its 95% interval."""
    if share is None or share["share"] is None:
        return Cell(DASH, (None, None, None))
    low, high = share["low"], share["high"]
    return Cell(
        f"{format_share(share['share'])} ({100 * low:.1f}–{100 * high:.1f})",
        (share["share"], low, high),
    )


def growth_table(document: Document) -> pages.Table:
    """Optimality and openings, a row per number of simulations."""
    optimality, openings = document["optimality"], document["openings"]
    positions = document["positions"]
    rows = []
    for number, level in enumerate(openings["levels"]):
        right = DASH if level["right"] is None else f"{level['right']}/{len(openings['truth'])}"
        shares = [share_cell(levels[number]["all"]) for levels in optimality.values()]
        rows.append([level_name(level["simulations"]), right, *shares])
    by_chance = [format_share(positions[kind]["random_move"]) for kind in optimality]
    rows.append(["random moves", DASH, *by_chance])
    headings = [f"{KINDS[kind]}: {positions[kind]['won']:,} won" for kind in optimality]
    title = "Optimality: share of won positions in which the move keeps the win (95% interval)"
    return table(title, ["simulations", "openings right", *headings], rows)


def kinds_table(levels: Sequence[Document]) -> pages.Table:
    """Optimality in positions from games by stage of the game and by players."""
    rows = []
    for group in ("stages", "sources"):
        for what, first in levels[0][group].items():
            shares = [share_cell(level[group][what]) for level in levels]
            rows.append([what, pages.cell(first["count"], "count"), *shares])
    title = "Optimality in positions from games, by stage of the game and strength of its players"
    return table(title, ["", "won", *(level_name(level["simulations"]) for level in levels)], rows)


def calibration_table(kind: str, levels: Sequence[Document]) -> pages.Table:
    """The value against the exact result, a row per number of simulations."""
    rows = []
    for one in levels:
        scores = [pages.cell(one["brier"], "{:.4f}"), pages.cell(one["log_loss"], "{:.4f}")]
        scores += [
            pages.cell(one[name], "share") for name in ("calibration_error", "sign_accuracy")
        ]
        rows.append([level_name(one["simulations"]), *scores])
    won, count = levels[0]["won"], levels[0]["count"]
    title = f"Value against the exact result: {count:,} {KINDS[kind]}, {won:.1%} won"
    headings = ["simulations", "Brier", "log loss", "calibration error", "right side"]
    return table(title, headings, rows)


def figures_of(document: Document) -> list[Figure]:
    """Strength by simulations with 95% intervals, then the reliability of the value by kind."""
    levels, truth = document["openings"]["levels"], document["openings"]["truth"]
    places, lines = list(map(float, range(len(levels)))), []
    for kind, rows in document["optimality"].items():
        if all(row["all"]["share"] is not None for row in rows):
            reach = [(row["all"]["low"], row["all"]["high"]) for row in rows]
            shares = [row["all"]["share"] for row in rows]
            lines.append(
                ChartLine(
                    f"optimal, {KINDS[kind]}",
                    places,
                    shares,
                    reach=reach,
                )
            )
    if truth is not None:
        right = [level["right"] / len(truth) for level in levels]
        lines.append(
            ChartLine(
                f"openings right, of {len(truth)}",
                places,
                right,
                dashed=True,
            )
        )
    ticks = [level_name(one["simulations"]) for one in levels]
    growth = pages.Chart(
        lines, "simulations of a move", "share", share=True, dots=True, ticks=ticks
    )
    figures = [Figure("growth", "Strength by simulations", growth)]
    for kind, rows in document["calibration"].items():
        lines = [ChartLine("as predicted", (0, 1), (0, 1), dashed=True)]
        for row in rows:
            bins = [entry for entry in row["bins"] if entry["count"]]
            xs, ys = [entry["predicted"] for entry in bins], [entry["won"] for entry in bins]
            name = f"{level_name(row['simulations'])}: Brier {row['brier']:.3f}"
            lines.append(ChartLine(name, xs, ys))
        chart = pages.Chart(lines, "predicted chance of winning", "share won with best play")
        name = "reliability" if kind == "games" else f"reliability-{kind}"
        figures.append(Figure(name, f"Reliability of the value, {KINDS[kind]}", chart))
    return figures


def table_of(document: Document) -> pages.Table:
    """Ratings against perfect play; or strength and cost of each way of searching, a row each."""
    if document["what"] == "perfect":
        return ratings(document)
    headings: list[str | Column] = ["search", "simulations", "leaves", "opponent"]
    for what in ("won", "optimal"):
        names = what, f"{what}, low", f"{what}, high"
        headings.append(Column(f"{what} (95%)", number=True, names=names))
    many = f"{document['games']} games"
    ranks = {
        "a call": 3,
        "1 game: ms/move": 2,
        "1 game: sims/s": 2,
    }
    ranks |= {f"{many}: ms/move": 1, f"{many}: sims/s": 1}
    rows = []
    for row in document["rows"]:
        leaves = f"{row['leaves']}{' root' if row['root_batch'] else ''}"
        cells = [row["algorithm"], f"{row['simulations']:,}", leaves, row["opponent"]]
        cells += [share_cell(row["match"]), share_cell(row["optimality"])]
        cells.append(f"{row['one_game']['leaves_a_call']:.1f}")
        for speed in (row["one_game"], row["many_games"]):
            cells.append(f"{speed['milliseconds']:.2f}")
            cells.append(pages.cell(speed["simulations_per_second"], "rate"))
        rows.append(cells)
    return table("Search quality", [*headings, *ranks], rows, ranks=ranks)
