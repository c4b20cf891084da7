"""Strength: the sections of a run of Hex in its report, and the report of `hexlit strength`."""

import re
from collections.abc import Mapping, Sequence
from math import isqrt
from typing import Any

from hexlit.hex.notation import format_cell
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
    Facts,
    Figure,
    Figures,
    Notes,
    Section,
    table,
)
from hexlit.reporting.quantities import DASH, format_figures, format_share, format_strength, shown
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
_SHOWN_ROWS = 12  # evaluations in the table of a run


def hex_sections(files: RunFiles, games: Sequence[GameRecord] = ()) -> list[Section]:
    """Sections of the run in `files`; `games` are samples of its self-play, oldest first."""
    strength, epochs = files.summary.get("strength") or {}, files.column("epoch")
    latest = {name: text for name, text in format_strength(strength).items() if name != "score"}
    first = _facts(
        {"": latest, "On validation data": format_figures(files.summary.get("val") or {})}
    )
    truth = strength.get("opening_truth")
    titles = {
        "opening_map": "The search's map",
        "value_opening_map": "The value alone, without search",
    }
    maps = [
        pages.OpeningsBoard(titles[name], strength[name], truth)
        for name in titles
        if strength.get(name)
    ]
    charts = [
        pages.plot(
            f"selfplay-{name}", title, {"": (epochs, files.column(f"selfplay.{name}"))}, y=unit
        )
        for name, (title, unit) in SELFPLAY.items()
        if f"selfplay.{name}" in files.metrics
    ]
    steps = [
        step_game(one, f"network after {one.network_version} epochs · {len(one.moves)} moves")
        for one in games
    ]
    details: dict[str, Sequence[Block]] = {
        "Evaluations": _evaluations(files, strength),
        "Openings": [Boards([*maps, *solved(truth)]), Notes([MAP_LEGEND], "quiet")] if maps else [],
        "Wins given away": _mistakes(strength),
        "Self-play": [Figures(charts)] if charts else [],
        "Sample games": [pages.GameViewer(games[0].size, steps)] if steps else [],
    }
    sections = [Section("Strength", first)] if first else []
    return sections + [
        Section(title, blocks, detail=True) for title, blocks in details.items() if blocks
    ]


def _facts(groups: Mapping[str, Mapping[str, str]]) -> list[Block]:
    return [Facts(list(entries.items()), title) for title, entries in groups.items() if entries]


def _evaluations(files: RunFiles, strength: Mapping[str, Any]) -> list[Block]:
    """The figures of the evaluations: a chart over epochs,
    and a table with games, operations and time beside them.
    """
    lines = {label: files.column(name) for name, label in MEASURED.items() if name in files.metrics}
    right, openings = files.column("strength.openings_right"), files.column("strength.openings")
    if any(right):
        shares = zip(right, openings, strict=True)
        lines["openings right"] = [
            None if one is None or not of else one / of for one, of in shares
        ]
    groups = {"Value alone, without search": "^value_", "Positions from games": "^games?_"}
    of = {"openings": strength["openings"]} if "openings" in strength else {}
    texts = {
        title: format_figures(
            of | {re.sub(start, "", one): strength[one] for one in strength if re.match(start, one)}
        )
        for title, start in groups.items()
    }
    blocks, epochs = _facts(texts), files.column("epoch")
    measured = [
        place
        for place in range(len(epochs))
        if any(line[place] is not None for line in lines.values())
    ]
    if measured:
        places = sorted({*measured[:: -(-len(measured) // _SHOWN_ROWS)], measured[-1]})
        axes = [(*look, files.column(name)) for name, look in AXES.items()]
        columns = [one for one in axes if any(x is not None for x in one[2])]
        columns += [(heading, "share", values) for heading, values in lines.items()]
        rows = [
            [pages.cell(values[place], unit) for _, unit, values in columns] for place in places
        ]
        curves: dict[str, pages.Points] = {name: (epochs, ys) for name, ys in lines.items()}
        blocks.append(
            Figures([pages.plot("strength", "Strength over epochs", curves, share=True, dots=True)])
        )
        blocks.append(
            table(
                "Strength by games, operations and time",
                [one for one, _, _ in columns],
                rows,
                names=0,
            )
        )
    return blocks


def solved(truth: Sequence[bool] | None) -> list[pages.OpeningsBoard]:
    """Perfect play on a board: openings that win,
    and openings that lose; none where it is not known.
    """
    values = [1 if wins else -1 for wins in truth or ()]
    return [pages.OpeningsBoard("Solved: perfect play", values, exact=True)] if truth else []


def _mistakes(strength: Mapping[str, Any]) -> list[Block]:
    """Won positions that the search lost at the last evaluation."""
    mistakes: Sequence[Mapping[str, Any]] | None = strength.get("mistakes")
    if mistakes is None:
        return []
    lines, boards = [], []
    if strength.get("positions") and strength.get("search_optimality") is not None:
        lost = round((1 - strength["search_optimality"]) * strength["positions"])
        first = f" These are the first {len(mistakes)}." if lost > len(mistakes) > 0 else ""
        lines.append(
            f"Of {strength['positions']:,} won positions on random cells the search lost {lost}.{first}"
        )
    if (share := strength.get("games_search_optimality")) is not None:
        lines.append(f"In positions from games it kept {format_share(share)} of the wins.")
    for one in mistakes:
        move, mover = int(one["move"]), "Black" if one["to_move"] > 0 else "White"
        title = f"{mover} to move: {format_cell(move, isqrt(len(one['cells'])))} loses; value {one['value']:+.2f}"
        boards.append(pages.PositionBoard(title, one["cells"], one["winning"], move))
    legend = ["Shaded cells win; the ring is on the searched move."] if boards else []
    return [Notes(lines), Notes(legend, "quiet"), Boards(boards)]


def strength_page(document: Mapping[str, Any]) -> pages.Page:
    """The whole report, from the content of `strength.json`.

    Raises:
        KeyError: `document` does not come from `hexlit strength`.
    """
    size = document["board"]
    where = f"{document['checkpoint']} · {size}×{size} · {document['search']['algorithm']} · {document['device']}"
    if document["what"] != "truth":
        title = {"search": "Searches", "perfect": "Against perfect play"}[document["what"]]
        about = (
            [about_searches(document)] if document["what"] == "search" else about_ratings(document)
        )
        section = Section(title, [table_of(document), Notes(about, "quiet")])
        return pages.Page(f"{title} on {size}×{size}", where, [section])
    truth, levels = document["openings"]["truth"], document["openings"]["levels"]
    maps = [pages.OpeningsBoard(judged_by(one["simulations"]), one["map"], truth) for one in levels]
    others: list[Block] = [Boards(more)] if (more := [*maps[1:-1], *solved(truth)]) else []
    kinds = [kinds_table(rows) for kind, rows in document["optimality"].items() if kind == "games"]
    calibration = []
    for kind, rows in document["calibration"].items():
        calibration.append(calibration_table(kind, rows))
        calibration += [reliability_table(kind, row) for row in (rows[0], *rows[1:][-1:])]
    sections = [
        Section("Openings", [Boards([maps[0], *maps[1:][-1:]])]),
        Section("More openings", [*others, Notes([MAP_LEGEND], "quiet")], detail=True),
        Section("Figures", [Figures(figures_of(document))], detail=True),
        Section("Optimality", [growth_table(document), *kinds]),
        Section("Calibration", calibration),
    ]
    last = levels[-1]
    facts = [("openings right", DASH if truth is None else f"{last['right']}/{len(truth)}")]
    for kind, rows in document["optimality"].items():
        ends = {
            judged_by(row["simulations"]): format_share(row["all"]["share"])
            for row in (rows[0], rows[-1])
        }
        facts += [(f"optimal, {kind}, {how}", share) for how, share in ends.items()]
    return pages.Page(f"Strength on {size}×{size}", where, sections, [Facts(facts)])


def level_name(simulations: int) -> str:
    """`no search`, `64`."""
    return f"{simulations:,}" if simulations else "no search"


def judged_by(simulations: int) -> str:
    """The judge with `simulations` simulations, in words."""
    return f"searched, {simulations:,} simulations" if simulations else "the value alone"


def share_cell(share: Mapping[str, Any] | None) -> Cell:
    """`98.3% (97.2–99.0)`: a share with its 95% interval."""
    if share is None or share["share"] is None:
        return Cell(DASH, (None, None, None))
    low, high = share["low"], share["high"]
    return Cell(
        f"{format_share(share['share'])} ({100 * low:.1f}–{100 * high:.1f})",
        (share["share"], low, high),
    )


def growth_table(document: Mapping[str, Any]) -> pages.Table:
    """Optimality and openings, a row per number of simulations."""
    optimality, openings, positions = (
        document[name] for name in ("optimality", "openings", "positions")
    )
    rows = []
    for number, level in enumerate(openings["levels"]):
        right = DASH if level["right"] is None else f"{level['right']}/{len(openings['truth'])}"
        shares = [share_cell(levels[number]["all"]) for levels in optimality.values()]
        rows.append([level_name(level["simulations"]), right, *shares])
    rows.append(
        [
            "random moves",
            DASH,
            *(format_share(positions[kind]["random_move"]) for kind in optimality),
        ]
    )
    headings = [f"{KINDS[kind]}: {positions[kind]['won']:,} won" for kind in optimality]
    title = "Optimality: share of won positions in which the move keeps the win (95% interval)"
    return table(title, ["simulations", "openings right", *headings], rows)


def kinds_table(levels: Sequence[Mapping[str, Any]]) -> pages.Table:
    """Optimality in positions from games by stage of the game and by players."""
    rows = [
        [
            what,
            f"{levels[0][group][what]['count']:,}",
            *(share_cell(level[group][what]) for level in levels),
        ]
        for group in ("stages", "sources")
        for what in levels[0][group]
    ]
    title = "Optimality in positions from games, by the stage of the game and the strength of its players"
    return table(title, ["", "won", *(level_name(level["simulations"]) for level in levels)], rows)


def calibration_table(kind: str, levels: Sequence[Mapping[str, Any]]) -> pages.Table:
    """The value against the exact result,
    a row per number of simulations and one for a constant value.
    """
    won = levels[0]["won"]
    forms = {
        "brier": "{:.4f}",
        "log_loss": "{:.4f}",
        "calibration_error": "share",
        "sign_accuracy": "share",
    }
    constant = dict(zip(forms, (won * (1 - won), None, 0.0, max(won, 1 - won)), strict=True))
    named = [
        *((level_name(one["simulations"]), one) for one in levels),
        (f"constant {won:.2f}", constant),
    ]
    rows = [
        [name, *(shown(one[score], form) for score, form in forms.items())] for name, one in named
    ]
    title = f"Value against the exact result: {levels[0]['count']:,} {KINDS[kind]}, {won:.1%} won"
    return table(
        title, ["simulations", "Brier", "log loss", "calibration error", "right side"], rows
    )


def reliability_table(kind: str, level: Mapping[str, Any]) -> pages.Table:
    """The share won by predicted chance, with a mark at the end of a calibrated value's bar."""
    rows = []
    for one in level["bins"]:
        bar = Cell("", one["won"], bar=(0.0, one["won"], one["predicted"])) if one["count"] else ""
        rows.append(
            [
                f"{one['low']:.1f} to {one['high']:.1f}",
                f"{one['count']:,}",
                format_share(one["won"]),
                bar,
            ]
        )
    headings = (
        "predicted",
        "positions",
        "won",
        Column("share won; ● is what was predicted", rank=1),
    )
    return table(f"Reliability: {judged_by(level['simulations'])}, {KINDS[kind]}", headings, rows)


def figures_of(document: Mapping[str, Any]) -> list[Figure]:
    """Strength by simulations with 95% intervals, then the reliability of the value by kind of
    positions.

    A line of reliability has a dot per bin; its area is the bin's share of positions.
    """
    levels, truth = document["openings"]["levels"], document["openings"]["truth"]
    places, lines = list(map(float, range(len(levels)))), []
    for kind, rows in document["optimality"].items():
        if all(row["all"]["share"] is not None for row in rows):
            reach = [(row["all"]["low"], row["all"]["high"]) for row in rows]
            shares = [row["all"]["share"] for row in rows]
            lines.append(ChartLine(f"optimal, {KINDS[kind]}", places, shares, reach=reach))
    if truth is not None:
        right = [level["right"] / len(truth) for level in levels]
        lines.append(ChartLine(f"openings right, of {len(truth)}", places, right, dashed=True))
    look: dict[str, Any] = {
        "share": True,
        "dots": True,
        "ticks": [level_name(one["simulations"]) for one in levels],
    }
    growth = pages.Chart(lines, "simulations of a move", "share", **look)
    figures = [Figure("growth", "Strength by simulations", growth)]
    look = {"x": "predicted chance of winning", "y": "share won with best play"}
    for kind, levels in document["calibration"].items():
        lines = [ChartLine("as predicted", (0, 1), (0, 1), dashed=True)]
        for level in levels:
            bins = [entry for entry in level["bins"] if entry["count"]]
            xs, ys = [entry["predicted"] for entry in bins], [entry["won"] for entry in bins]
            name = f"{level_name(level['simulations'])}: Brier {level['brier']:.3f}"
            lines.append(
                ChartLine(name, xs, ys, weights=[entry["count"] / level["count"] for entry in bins])
            )
        name = "reliability" if kind == "games" else f"reliability-{kind}"
        figures.append(
            Figure(name, f"Reliability of the value, {KINDS[kind]}", pages.Chart(lines, **look))
        )
    return figures


def table_of(document: Mapping[str, Any]) -> pages.Table:
    """Ratings against perfect play; or strength and cost of each way of searching, a row each."""
    if document["what"] == "perfect":
        return ratings(document)
    headings: list[str | Column] = ["search", "simulations", "leaves", "opponent"]
    for what in ("won", "optimal"):
        headings.append(
            Column(f"{what} (95%)", number=True, names=(what, f"{what}, low", f"{what}, high"))
        )
    ranks = {"a call": 3, "1 game: ms/move": 2, "1 game: sims/s": 2}
    ranks |= {f"{document['games']} games: {name}": 1 for name in ("ms/move", "sims/s")}
    rows = []
    for row in document["rows"]:
        leaves = f"{row['leaves']}{' root' if row['root_batch'] else ''}"
        cells = [
            row["algorithm"],
            f"{row['simulations']:,}",
            leaves,
            row["opponent"],
            share_cell(row["match"]),
        ]
        cells += [share_cell(row["optimality"]), f"{row['one_game']['leaves_a_call']:.1f}"]
        for speed in (row["one_game"], row["many_games"]):
            cells += [
                f"{speed['milliseconds']:.2f}",
                pages.cell(speed["simulations_per_second"], "rate"),
            ]
        rows.append(cells)
    return table("Search quality", [*headings, *ranks], rows, ranks=ranks)


def about_searches(document: Mapping[str, Any]) -> str:
    """The meaning of the columns."""
    games = document["rows"][0]["match"]["count"] if document["rows"] else 0
    return (
        f"won: of {games:,} games over {games // 2} distinct openings, both colours; leaves: positions of "
        "a tree evaluated together (root: under different root moves only), which meets the same search with one; "
        "a call: how many there are on average; sims/s: simulations a second"
    )
