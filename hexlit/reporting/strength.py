"""Strength: the sections of a run of Hex in its report, and the report of `hexlit strength`."""

from collections.abc import Mapping, Sequence
from typing import Any

from hexlit.hex.notation import format_cell
from hexlit.hex.record import GameRecord
from hexlit.reporting.board import step_game
from hexlit.reporting.page import (
    Block,
    Boards,
    Cell,
    Chart,
    ChartLine,
    Column,
    Facts,
    Figure,
    Figures,
    GameViewer,
    Notes,
    OpeningsBoard,
    Page,
    PositionBoard,
    Section,
    Table,
    table,
)
from hexlit.reporting.quantities import (
    DASH,
    format_count,
    format_duration,
    format_figure,
    format_flops,
    format_rate,
    format_share,
    format_strength,
)
from hexlit.reporting.run_files import RunFiles

MEASURED = {
    "strength.search_optimality": "search optimal",
    "strength.policy_optimality": "policy optimal",
    "strength.games_policy_optimality": "policy optimal, games",
    "strength.rollouts_share": "won against rollouts",
}
"""Shares of a strength by metric, in the order of the chart."""
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
_STONES = {1: "Black", -1: "White"}
_FIGURES = ("brier", "log_loss")
_BY_VALUE = {
    "value_openings_right": "openings",
    "value_sign_accuracy": "right side",
    "value_brier": "Brier",
    "value_log_loss": "log loss",
    "value_calibration_error": "calibration error",
}
_IN_GAMES = {
    "games_search_optimality": "search optimal",
    "games_policy_optimality": "policy optimal",
    "game_positions": "positions",
}
_VALIDATION = {
    "loss": "loss",
    "comparable_loss": "comparable",
    "policy_loss": "policy",
    "value_loss": "value",
    "top1_accuracy": "top 1",
    "top5_accuracy": "top 5",
    "value_sign_accuracy": "right side",
    "value_brier": "Brier",
    "value_calibration_error": "calibration error",
}


def hex_sections(files: RunFiles, games: Sequence[GameRecord] = ()) -> list[Section]:
    """Sections of the run in `files`; `games` are samples of its self-play, oldest first."""
    sections = [strength_section, curve_section, openings_section, mistakes_section, selfplay_section]
    result = [section(files) for section in sections]
    return [section for section in [*result, games_section(games)] if section is not None]


def strength_section(files: RunFiles) -> Section | None:
    """The latest figures; with fewer words on validation data, where there are some."""
    strength, val = files.summary.get("strength") or {}, files.summary.get("val") or {}
    facts = {
        "": {name: text for name, text in format_strength(strength).items() if name != "score"},
        "On validation data": _texts(val, _VALIDATION),
    }
    blocks = [Facts(list(entries.items()), title) for title, entries in facts.items() if entries]
    return Section("Strength", blocks) if blocks else None


def _texts(figures: Mapping[str, Any], headings: Mapping[str, str]) -> dict[str, str]:
    """The figures that there are by heading: counts, losses and scores, other shares of one."""
    result = {}
    for name, heading in headings.items():
        value = figures.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            if name.endswith("openings_right"):
                result[heading] = f"{value}/{figures.get('openings', DASH)}"
            elif isinstance(value, int):
                result[heading] = format_count(value)
            else:
                result[heading] = (format_figure if name.endswith((*_FIGURES, "loss")) else format_share)(value)
    return result


def curve_section(files: RunFiles) -> Section | None:
    """The figures of the evaluations: a chart over epochs, and a table with games, operations and time beside them."""
    strength = files.summary.get("strength") or {}
    lines = {label: files.column(name) for name, label in MEASURED.items() if name in files.metrics}
    right, openings = files.column("strength.openings_right"), files.column("strength.openings")
    if any(right):
        lines["openings right"] = [
            None if value is None or not of else value / of for value, of in zip(right, openings, strict=True)
        ]
    blocks: list[Block] = []
    facts = {"Value alone, without search": _BY_VALUE, "Positions from games": _IN_GAMES}
    blocks += [
        Facts(list(shown.items()), title) for title, names in facts.items() if (shown := _texts(strength, names))
    ]
    epochs = files.column("epoch")
    measured = [place for place in range(len(epochs)) if any(line[place] is not None for line in lines.values())]
    if measured:
        chart = Chart([ChartLine(name, epochs, ys) for name, ys in lines.items()], share=True, dots=True)
        step = max(1, -(-len(measured) // _SHOWN_ROWS))
        axes = {"epoch": format_count, "selfplay.games": format_count, "cost.flops": format_flops}
        axes["cost.seconds"] = format_duration
        there = {name: show for name, show in axes.items() if any(x is not None for x in files.column(name))}
        rows = []
        for place in sorted({*measured[::step], measured[-1]}):
            xs = [(show, files.column(name)[place]) for name, show in there.items()]
            row = [Cell(show(x), x) for show, x in xs] + [
                Cell(format_share(line[place]), line[place]) for line in lines.values()
            ]
            rows.append(row)
        words = {"epoch": "epoch", "selfplay.games": "games", "cost.flops": "operations", "cost.seconds": "time"}
        headings = [*(words[name] for name in there), *lines]
        blocks.append(Figures([Figure("strength", "Strength over epochs", chart)]))
        blocks.append(table("Strength by games, operations and time", headings, rows, names=0))
    return Section("Evaluations", blocks, detail=True) if blocks else None


def openings_section(files: RunFiles) -> Section | None:
    """The map of the openings, as the network judges them and as they are solved."""
    strength = files.summary.get("strength") or {}
    truth = strength.get("opening_truth")
    maps = {
        "The search's map": strength.get("opening_map"),
        "The value alone, without search": strength.get("value_opening_map"),
    }
    boards = [OpeningsBoard(title, values, truth) for title, values in maps.items() if values]
    blocks: list[Block] = [Boards([*boards, *solved(truth)]), Notes([MAP_LEGEND], "quiet")]
    return Section("Openings", blocks, detail=True) if boards else None


def solved(truth: Sequence[bool] | None) -> list[OpeningsBoard]:
    """Perfect play on a board: openings that win, and openings that lose; none where it is not known."""
    return [OpeningsBoard("Solved: perfect play", [1 if wins else -1 for wins in truth], exact=True)] if truth else []


def mistakes_section(files: RunFiles) -> Section | None:
    """Won positions that the search lost at the last evaluation."""
    strength = files.summary.get("strength") or {}
    mistakes: Sequence[Mapping[str, Any]] | None = strength.get("mistakes")
    if mistakes is None:
        return None
    lines, lost = [], 0
    if strength.get("positions") and strength.get("search_optimality") is not None:
        lost = round((1 - strength["search_optimality"]) * strength["positions"])
        lines.append(f"Of {format_count(strength['positions'])} won positions on random cells the search lost {lost}.")
    if (share := strength.get("games_search_optimality")) is not None:
        lines.append(f"In positions from games it kept {format_share(share)} of the wins.")
    if lost and not any(one.get("kind") == "random" for one in mistakes):
        lines.append("This run has not kept those on random cells.")
    elif lost > len(mistakes):
        lines.append(f"These are the first {len(mistakes)}.")
    boards = []
    for one in mistakes:
        played = format_cell(int(one["move"]), round(len(one["cells"]) ** 0.5))
        title = f"{_STONES[one['to_move']]} to move: {played} loses; value {one['value']:+.2f}"
        boards.append(PositionBoard(title, one["cells"], one["winning"], int(one["move"])))
    blocks: list[Block] = [Notes(lines)]
    if boards:
        blocks.append(Notes(["Shaded cells win; the ring is on the searched move."], "quiet"))
        blocks.append(Boards(boards))
    return Section("Wins given away", blocks, detail=True)


def selfplay_section(files: RunFiles) -> Section | None:
    """Speed and length of the games, and the amount of positions to learn from."""
    epochs = files.column("epoch")
    figures = [
        Figure(f"selfplay-{name}", title, Chart([ChartLine("", epochs, files.column(f"selfplay.{name}"))], y=unit))
        for name, (title, unit) in SELFPLAY.items()
        if f"selfplay.{name}" in files.metrics
    ]
    return Section("Self-play", [Figures(figures)], detail=True) if figures else None


def games_section(games: Sequence[GameRecord]) -> Section | None:
    """Samples for the viewer, with the network that played them."""
    if not games:
        return None
    steps = [
        step_game(game, f"network after {game.network_version} epochs · {len(game.moves)} moves") for game in games
    ]
    return Section("Sample games", [GameViewer(games[0].size, steps)], detail=True)


def strength_page(document: Mapping[str, Any]) -> Page:
    """The whole report, from the content of `strength.json`.

    Raises:
        KeyError: `document` does not come from `hexlit strength`.
    """
    size = document["board"]
    where = f"{document['checkpoint']} · {size}×{size} · {document['search']['algorithm']} · {document['device']}"
    if document["what"] == "search":
        section = Section("Searches", [search_table(document), Notes([about_searches(document)], "quiet")])
        return Page(f"Searches on {size}×{size}", where, [section])
    openings = document["openings"]
    maps = [OpeningsBoard(judged_by(one["simulations"]), one["map"], openings["truth"]) for one in openings["levels"]]
    others = [*maps[1:-1], *solved(openings["truth"])]
    sections = [Section("Openings", [Boards([maps[0], *maps[1:][-1:]])])]
    more: list[Block] = [Boards(others)] if others else []
    sections.append(Section("More openings", [*more, Notes([MAP_LEGEND], "quiet")], detail=True))
    charts = (growth_chart(document), *reliability_charts(document))
    figures = [Figure(name, title, chart) for name, title, chart in charts]
    sections.append(Section("Figures", [Figures(figures)], detail=True))
    optimality: list[Block] = [growth_table(document)]
    optimality += [kinds_table(kind, levels) for kind, levels in document["optimality"].items() if kind == "games"]
    calibration: list[Block] = []
    for kind, levels in document["calibration"].items():
        calibration.append(calibration_table(kind, levels))
        calibration += [reliability_table(kind, level) for level in (levels[0], *levels[1:][-1:])]
    origin = [origin_table(kind, found) for kind, found in document["positions"].items() if kind == "games"]
    sections.append(Section("Optimality", optimality))
    sections.append(Section("Calibration", calibration))
    sections.append(Section("Positions", origin))
    return Page(f"Strength on {size}×{size}", where, sections, [Facts(truth_facts(document))])


def truth_facts(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The first and the last level."""
    last, truth = document["openings"]["levels"][-1], document["openings"]["truth"]
    entries = [("openings right", DASH if truth is None else f"{last['right']}/{len(truth)}")]
    for kind, levels in document["optimality"].items():
        for level in dict.fromkeys((0, len(levels) - 1)):
            how = judged_by(levels[level]["simulations"])
            entries.append((f"optimal, {kind}, {how}", format_share(levels[level]["all"]["share"])))
    return entries


def level_name(simulations: int) -> str:
    """`no search`, `64`."""
    return "no search" if simulations == 0 else format_count(simulations)


def judged_by(simulations: int) -> str:
    """The judge with `simulations` simulations, in words."""
    return "the value alone" if simulations == 0 else f"searched, {simulations:,} simulations"


def share_cell(share: Mapping[str, Any]) -> Cell:
    """`98.3% (97.2–99.0)`: a share with its 95% interval."""
    if share["share"] is None:
        return Cell(DASH, (None, None, None))
    low, high = share["low"], share["high"]
    return Cell(f"{format_share(share['share'])} ({100 * low:.1f}–{100 * high:.1f})", (share["share"], low, high))


def growth_table(document: Mapping[str, Any]) -> Table:
    """Optimality and openings, a row per number of simulations."""
    kinds, openings = list(document["optimality"]), document["openings"]
    rows: list[list[str | Cell]] = []
    for number, level in enumerate(openings["levels"]):
        right = DASH if level["right"] is None else f"{level['right']}/{len(openings['truth'])}"
        shares = [share_cell(document["optimality"][kind][number]["all"]) for kind in kinds]
        rows.append([level_name(level["simulations"]), right, *shares])
    rows.append(["random moves", DASH, *(format_share(document["positions"][kind]["random_move"]) for kind in kinds)])
    headings = [f"{KINDS[kind]}: {format_count(document['positions'][kind]['won'])} won" for kind in kinds]
    title = "Optimality: share of won positions in which the move keeps the win (95% interval)"
    return table(title, ["simulations", "openings right", *headings], rows)


def kinds_table(kind: str, levels: Sequence[Mapping[str, Any]]) -> Table:
    """Optimality by stage of the game and by players."""
    first = levels[0]
    rows: list[list[str | Cell]] = [
        [what, format_count(first[group][what]["count"]), *(share_cell(level[group][what]) for level in levels)]
        for group in ("stages", "sources")
        for what in first[group]
    ]
    title = f"Optimality in {KINDS[kind]}, by the stage of the game and the strength of its players"
    return table(title, ["", "won", *(level_name(level["simulations"]) for level in levels)], rows)


def calibration_table(kind: str, levels: Sequence[Mapping[str, Any]]) -> Table:
    """The value against the exact result, a row per number of simulations and one for a constant value."""
    won = levels[0]["won"]
    rows = [
        [
            level_name(level["simulations"]),
            f"{level['brier']:.4f}",
            f"{level['log_loss']:.4f}",
            format_share(level["calibration_error"]),
            format_share(level["sign_accuracy"]),
        ]
        for level in levels
    ]
    rows.append([f"constant {won:.2f}", f"{won * (1 - won):.4f}", DASH, "0.0%", format_share(max(won, 1 - won))])
    title = f"Value against the exact result: {format_count(levels[0]['count'])} {KINDS[kind]}, {won:.1%} won"
    return table(title, ["simulations", "Brier", "log loss", "calibration error", "right side"], rows)


def reliability_table(kind: str, level: Mapping[str, Any]) -> Table:
    """The share won by predicted chance, with a mark at the end of a calibrated value's bar."""
    rows = [
        [
            f"{entry['low']:.1f} to {entry['high']:.1f}",
            format_count(entry["count"]),
            format_share(entry["won"]),
            Cell("", entry["won"], bar=(0.0, entry["won"], entry["predicted"])) if entry["count"] else "",
        ]
        for entry in level["bins"]
    ]
    headings = ("predicted", "positions", "won", Column("share won; ● is what was predicted", rank=1))
    return table(f"Reliability: {judged_by(level['simulations'])}, {KINDS[kind]}", headings, rows)


def origin_table(kind: str, positions: Mapping[str, Any]) -> Table:
    """The origin of the positions: a row per source, a column per stage."""
    by_source: dict[str, list[Mapping[str, Any]]] = {}
    for share in positions["shares"]:
        by_source.setdefault(share["source"], []).append(share)
    stages = [share["stage"] for share in next(iter(by_source.values()))]

    def cell(share: Mapping[str, Any]) -> str:
        if not share["count"]:
            return "0"
        return f"{share['count']} ({format_share(share['share'])}), {share['mean_stones']:.1f} stones"

    rows = [[source, *(cell(share) for share in shares)] for source, shares in by_source.items()]
    title = f"{format_count(positions['count'])} {KINDS[kind]}, {positions['unsolved']} draws passed over as unsolved"
    return table(title, ["players", *stages], rows)


def growth_chart(document: Mapping[str, Any]) -> tuple[str, str, Chart]:
    """Optimality by simulations with 95% intervals, and the share of openings judged right."""
    levels, truth = document["openings"]["levels"], document["openings"]["truth"]
    places = list(map(float, range(len(levels))))
    lines = []
    for kind, rows in document["optimality"].items():
        shares = [row["all"] for row in rows]
        if all(share["share"] is not None for share in shares):
            reach = [(share["low"], share["high"]) for share in shares]
            lines.append(ChartLine(f"optimal, {KINDS[kind]}", places, [one["share"] for one in shares], reach=reach))
    if truth is not None:
        right = [level["right"] / len(truth) for level in levels]
        lines.append(ChartLine(f"openings right, of {len(truth)}", places, right, dashed=True))
    names = [level_name(level["simulations"]) for level in levels]
    chart = Chart(lines, x="simulations of a move", y="share", share=True, dots=True, ticks=names)
    return "growth", "Strength by simulations", chart


def reliability_charts(document: Mapping[str, Any]) -> list[tuple[str, str, Chart]]:
    """Share won by predicted chance, one line per number of simulations; a dot's area is its share of positions."""
    result = []
    for kind, levels in document["calibration"].items():
        lines = []
        for level in levels:
            bins = [entry for entry in level["bins"] if entry["count"]]
            xs, ys = [entry["predicted"] for entry in bins], [entry["won"] for entry in bins]
            name = f"{level_name(level['simulations'])}: Brier {level['brier']:.3f}"
            lines.append(ChartLine(name, xs, ys, weights=[entry["count"] / level["count"] for entry in bins]))
        chart = Chart(lines, x="predicted chance of winning", y="share won with best play", diagonal=True)
        name = "reliability" if kind == "games" else f"reliability-{kind}"
        result.append((name, f"Reliability of the value, {KINDS[kind]}", chart))
    return result


def search_table(document: Mapping[str, Any]) -> Table:
    """Strength and cost of each way of searching, a row each."""
    headings: list[str | Column] = ["search", "simulations", "leaves", "opponent"]
    for what in ("won", "optimal"):
        headings.append(Column(f"{what} (95%)", number=True, names=(what, f"{what}, low", f"{what}, high")))
    costs = {"a call": 3, "1 game: ms/move": 2, "1 game: sims/s": 2}
    costs |= {f"{document['games']} games: {name}": 1 for name in ("ms/move", "sims/s")}
    headings += [Column(name, number=True, rank=rank) for name, rank in costs.items()]
    rows = []
    for row in document["rows"]:
        cells: list[str | Cell] = [row["algorithm"], format_count(row["simulations"])]
        cells += [f"{row['leaves']}{' root' if row['root_batch'] else ''}", row["opponent"], share_cell(row["match"])]
        cells.append(share_cell(row["optimality"] or {"share": None}))
        cells.append(f"{row['one_game']['leaves_a_call']:.1f}")
        for speed in (row["one_game"], row["many_games"]):
            rate = speed["simulations_per_second"]
            cells += [f"{speed['milliseconds']:.2f}", Cell(format_rate(rate), rate)]
        rows.append(cells)
    return table("Search quality", headings, rows)


def about_searches(document: Mapping[str, Any]) -> str:
    """The meaning of the columns."""
    rows = document["rows"]
    games = rows[0]["match"]["count"] if rows else 0
    return (
        f"won: of {format_count(games)} games over {games // 2} distinct openings, both colours; leaves: positions of "
        "a tree evaluated together (root: under different root moves only), which meets the same search with one; "
        "a call: how many there are on average; sims/s: simulations a second"
    )
