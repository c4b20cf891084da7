"""The report of a match: ratings with their intervals, the cross table, and the games."""

from collections.abc import Mapping, Sequence
from typing import Any

from hexlit.hex.record import GameRecord
from hexlit.reporting.match import about_ratings, headline_facts, test_text
from hexlit.reporting.pages.charts import Ratings, draw_ratings, drawn
from hexlit.reporting.pages.games import MOST_GAMES, GameViewer, step_game
from hexlit.reporting.pages.page import Block, Cell, Column, Facts, Figures, Notes, Page, Section, Table
from hexlit.reporting.quantities import DASH, format_count, format_share

BOUNDS = {"at least": "≥ ", "at most": "≤ "}


def match_page(
    document: Mapping[str, Any], games: Sequence[GameRecord], where: str, settings: Mapping[str, str] | None = None
) -> Page:
    """The whole report, from the content of `match.json`; `games` are in the order of its file.

    Raises:
        KeyError: `document` does not come from `hexlit match`.
    """
    size = document["board"]
    title = f"Match on {size}×{size}"
    lead: list[Block] = [Facts(headline_facts(document))]
    if document["sprt"] is not None:
        lead.append(Notes([test_text(document)]))
    sections = [ratings_section(document), cross_section(document), games_section(games, size), forfeits(document)]
    sections.append(players_section(document))
    if settings:
        rows: list[list[str | Cell]] = [[name, text] for name, text in settings.items()]
        columns = [Column("setting", kept=True, code=True), Column("value", code=True)]
        sections.append(Section("Configuration", [Table("Settings", columns, rows, search=True)]))
    return Page(title, where, [section for section in sections if section is not None], lead=lead)


def ratings_section(document: Mapping[str, Any]) -> Section:
    """Elo of the players with 95% intervals, as a figure and as a table."""
    players = document["players"]
    columns = [Column("player", kept=True)]
    columns += [Column(name, number=True) for name in ("Elo", "95% interval", "games", "wins", "score")]
    rows: list[list[str | Cell]] = []
    for player in players:
        anchored = player["name"] == document["anchor"]
        sign = "" if anchored else BOUNDS.get(player["bound"], "")
        interval = "anchor" if anchored else f"{player['low']:+.0f} to {player['high']:+.0f}"
        elo = Cell(f"{sign}{player['elo']:+.0f}", sort=player["elo"])
        counts = [format_count(player["games"]), format_count(player["wins"]), format_share(player["score"])]
        rows.append([player["name"], elo, Cell(interval, sort=player["low"]), *counts])
    shown = Ratings(*([player[key] for player in players] for key in ("name", "elo", "low", "high")))
    figure = Figures([drawn("ratings", "Ratings with their 95% intervals", draw_ratings, shown)])
    notes = Notes(about_ratings(document).splitlines(), "quiet")
    return Section("Ratings", [Table("Ratings", columns, rows, search=len(rows) > 20), figure, notes])


def cross_section(document: Mapping[str, Any]) -> Section:
    """Wins of the player of a row against that of a column, darker for more."""
    names = [player["name"] for player in document["players"]]
    columns = [Column("wins of", kept=True), *(Column(name, number=True) for name in names)]
    rows: list[list[str | Cell]] = []
    for name in names:
        cells: list[str | Cell] = [name]
        for other in names:
            result = document["cross"].get(name, {}).get(other)
            if result is None:
                cells.append(Cell(DASH))
                continue
            share = result["wins"] / max(1, result["games"])
            cells.append(Cell(f"{result['wins']}–{result['games'] - result['wins']}", sort=share, shade=0.75 * share))
        rows.append(cells)
    note = Notes(["Wins and losses of the player of the row against that of the column."], "quiet")
    return Section("Cross table", [Table("Cross table", columns, rows), note])


def games_section(games: Sequence[GameRecord], size: int) -> Section | None:
    """The games for the viewer."""
    if not games:
        return None
    shown = games[:MOST_GAMES]
    winners = {1: "Black won", -1: "White won"}
    titles = [
        f"{number}. {one.black} – {one.white} · {winners.get(one.winner, DASH)} in {len(one.moves)}"
        for number, one in enumerate(shown, start=1)
    ]
    blocks: list[Block] = [GameViewer(size, [step_game(g, title) for g, title in zip(shown, titles, strict=True)])]
    if len(games) > len(shown):
        line = f"The first {len(shown)} of {format_count(len(games))} games; games.sgf has all."
        blocks.append(Notes([line], "quiet"))
    return Section("Games", blocks)


def forfeits(document: Mapping[str, Any]) -> Section | None:
    """Forfeited games, and the reasons."""
    if not document["forfeits"]:
        return None
    rows: list[list[str | Cell]] = [[entry["loser"], entry["note"]] for entry in document["forfeits"]]
    return Section("Forfeits", [Table("Forfeits", [Column("loser", kept=True), Column("reason")], rows, search=True)])


def players_section(document: Mapping[str, Any]) -> Section:
    """The players with their settings."""
    columns = [Column("player", kept=True), Column("kind"), Column("source", code=True), Column("settings", code=True)]
    rows: list[list[str | Cell]] = [
        [
            name,
            spec["kind"],
            str(spec.get("source") or DASH),
            " ".join(f"{key}={value}" for key, value in (spec.get("settings") or {}).items()) or DASH,
        ]
        for name, spec in document["specs"].items()
    ]
    return Section("Players", [Table("Players", columns, rows)])
