"""The report of a match."""

from collections import Counter
from collections.abc import Mapping, Sequence

from hexlit.hex.record import GameRecord
from hexlit.reporting import page as pages
from hexlit.reporting.board import step_game
from hexlit.reporting.page import (
    Cell,
    Column,
    Document,
    Facts,
    Notes,
    Page,
    Section,
    Table,
    cell,
    entries,
    table,
)
from hexlit.reporting.quantities import DASH

MOST_GAMES = 400
"""Most games in one page."""
_MOST_COLUMNS = 12  # players in the cross table of a terminal
_SIGNS = {"at least": "≥ ", "at most": "≤ "}


def match_page(
    document: Document,
    games: Sequence[GameRecord] = (),
    where: str = "",
    settings: Mapping[str, str] | None = None,
) -> Page:
    """The report of the match whose `match.json` has the content `document`.

    Args:
        document: as above.
        games: in the order of their file.
        where: the folder.
        settings: by dotted name.

    Raises:
        KeyError: `document` does not come from `hexlit match`.
    """
    size, players, played = document["board"], document["players"], document["games"]
    sections = []
    if players:
        about = Notes(about_ratings(document), "quiet")
        sections.append(Section("Ratings", [ratings(document), about]))
    about = Notes(["Wins and losses of the player of the row against that of the column."], "quiet")
    detail = not 2 < len(players) <= _MOST_COLUMNS
    sections.append(Section("Cross table", [cross_table(document), about], detail))
    if games:
        sections.append(games_section(games, size))
    if document["forfeits"]:
        counts = Counter((entry["loser"], entry["note"]) for entry in document["forfeits"])
        rows = [[loser, note, cell(count, "count")] for (loser, note), count in counts.items()]
        forfeits = table(
            "Forfeits",
            ["loser", "reason", "games"],
            rows,
            names=2,
        )
        sections.append(Section("Forfeits", [forfeits]))
    sections.append(Section("Players", [players_table(document["specs"])], detail=True))
    if settings:
        sections.append(pages.settings_section(settings))

    def share(count: int, of: int = played) -> float | None:
        return count / of if played else None

    facts = entries(
        ("players", len(players), "count"),
        ("games", played, "count"),
        ("wall time", document["seconds"], "seconds"),
        ("games/s", document["games_per_second"], "rate"),
        ("won by Black", share(document["black_wins"]), "share"),
        ("pairs split", share(document["split_pairs"], document["pairs"]), "share"),
        ("swapped", share(document["swaps"]) if document.get("swap") else None, "share"),
    )
    lead = Facts(facts), Notes(sprt_lines(document["sprt"]))
    return Page(f"Match on {size}×{size}", where, sections, lead)


def players_table(specs: Mapping[str, Document]) -> Table:
    """Kind, source and settings of each player."""
    code = [Column("source", code=True), Column("settings", code=True)]
    rows = []
    for name, spec in specs.items():
        given = " ".join(f"{key}={value}" for key, value in (spec.get("settings") or {}).items())
        rows.append([name, spec["kind"], str(spec.get("source") or DASH), given or DASH])
    return table("Players", ["player", "kind", *code], rows, names=2)


def ratings(document: Document) -> Table:
    """Elo of the players with 95% intervals; with the number of forfeits if there are any."""
    lost = Counter(forfeit["loser"] for forfeit in document["forfeits"])
    interval = Column("95% interval", number=True, names=("low", "high"))
    headings = ["player", "Elo", interval, "games", "wins", "score"]
    if lost:
        headings.append("forfeits")
    rows = []
    for player in document["players"]:
        ends, sign = "anchor", ""
        if player["name"] != document["anchor"]:
            ends = f"{player['low']:+.0f} to {player['high']:+.0f}"
            sign = _SIGNS.get(player["bound"], "")
        row = [
            player["name"],
            Cell(f"{sign}{player['elo']:+.0f}", player["elo"]),
            Cell(ends, (player["low"], player["high"])),
            cell(player["games"], "count"),
            cell(player["wins"], "count"),
            cell(player["score"], "share"),
        ]
        if lost:
            row.append(cell(lost[player["name"]], "count"))
        rows.append(row)
    return table(
        "Ratings",
        headings,
        rows,
        ranks={"wins": 2},
        search=len(rows) > 20,
    )


def about_ratings(document: Document) -> list[str]:
    """The origin of the ratings, and the meaning of their signs."""
    lines = ["Bradley-Terry, weak prior; intervals: bootstrap over pairs of games"]
    if document.get("swap"):
        lines.append("by the swap rule: not to be compared with ratings of matches without it")
    others = [one for one in document["players"] if one["name"] != document["anchor"]]
    if any(player["bound"] for player in others):
        lines.append("≥ and ≤: all games won or lost, held by the prior alone")
    return lines


def cross_table(document: Document) -> Table:
    """Wins of the player of a row against that of a column, darker for more."""
    names = [player["name"] for player in document["players"]]
    rows = []
    for number, name in enumerate(names, start=1):
        row: list[str | Cell] = [f"{number} {name}"]
        for other in names:
            result = document["cross"].get(name, {}).get(other)
            if result is None:
                row.append("" if name == other else DASH)
                continue
            share = result["wins"] / result["games"]
            lost = result["games"] - result["wins"]
            row.append(Cell(f"{result['wins']}–{lost}", share, shade=0.75 * share))
        rows.append(row)
    numbers = [str(number) for number in range(1, len(names) + 1)]
    return table("Cross table", ["wins of", *numbers], rows)


def sprt_lines(test: Document | None) -> list[str]:
    """The result of the sequential test, with its figures; none without a test."""
    if test is None:
        return []
    bounds = f"[{test['lower']:.2f}, {test['upper']:.2f}]"
    facts = f"log-likelihood ratio {test['log_likelihood_ratio']:+.2f} in {bounds}"
    decision = f"{test['accepted']} accepted" if test["accepted"] else "not decided"
    hypotheses = f"SPRT between {test['elo0']:g} and {test['elo1']:g} Elo: {decision}"
    pairs = ", ".join(map(str, test["pairs"]))
    return [f"{hypotheses} · {facts} · pairs lost, split, won: {pairs}"]


def games_section(games: Sequence[GameRecord], size: int) -> Section:
    """The games for the viewer."""
    winners = {1: "Black won", -1: "White won"}
    steps = []
    for number, game in enumerate(games[:MOST_GAMES], start=1):
        players, winner = f"{game.black} – {game.white}", winners.get(game.winner, DASH)
        steps.append(step_game(game, f"{number}. {players} · {winner} in {len(game.moves)}"))
    left_out = []
    if len(games) > len(steps):
        left_out.append(f"The first {len(steps)} of {len(games):,} games; games.sgf has all.")
    return Section("Games", [pages.GameViewer(size, steps), Notes(left_out, "quiet")], detail=True)
