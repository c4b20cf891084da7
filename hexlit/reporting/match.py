"""The report of a match."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from hexlit.hex.board import GameBoard
from hexlit.hex.record import GameRecord
from hexlit.hex.symmetry import stone_cells
from hexlit.reporting import page as pages
from hexlit.reporting.board import result_of, step_game
from hexlit.reporting.page import (
    Cell,
    Column,
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
    document: Mapping[str, Any],
    games: Sequence[GameRecord] = (),
    where: str = "",
    settings: Mapping[str, str] | None = None,
    *,
    boards: int = 0,
) -> Page:
    """The report of the match whose `match.json` has the content `document`, and whose folder is
    `where`.

    Args:
        document: as above.
        games: in the order of their file.
        where: the folder.
        settings: by dotted name.
        boards: number of games whose last position is shown, see `closest_games`.

    Raises:
        KeyError: `document` does not come from `hexlit match`.
    """
    size, players, played = document["board"], document["players"], document["games"]
    sections = (
        [Section("Ratings", [ratings(document), Notes(about_ratings(document), "quiet")])]
        if players
        else []
    )
    about = Notes(["Wins and losses of the player of the row against that of the column."], "quiet")
    cross: list[pages.Block] = [cross_table(document), about]
    sections.append(Section("Cross table", cross, detail=not 2 < len(players) <= _MOST_COLUMNS))
    if boards:
        last = [last_position(game) for game in closest_games(games, boards)]
        sections.append(Section("Closest games", [pages.Boards(last)]))
    if games:
        sections.append(games_section(games, size))
    if document["forfeits"]:
        counts = Counter((entry["loser"], entry["note"]) for entry in document["forfeits"])
        rows = [[loser, note, f"{count:,}"] for (loser, note), count in counts.most_common()]
        sections.append(
            Section("Forfeits", [table("Forfeits", ["loser", "reason", "games"], rows, names=2)])
        )
    columns = [
        Column("player", kept=True),
        Column("kind"),
        Column("source", code=True),
        Column("settings", code=True),
    ]
    rows = []
    for name, spec in document["specs"].items():
        given = " ".join(f"{key}={value}" for key, value in (spec.get("settings") or {}).items())
        rows.append([name, spec["kind"], str(spec.get("source") or DASH), given or DASH])
    sections.append(Section("Players", [Table("Players", columns, rows)], detail=True))
    sections += [pages.settings_section(settings)] if settings else []
    facts = entries(
        ("players", len(players), "count"),
        ("games", played, "count"),
        ("wall time", document["seconds"], "seconds"),
        ("games/s", document["games_per_second"], "rate"),
        ("won by Black", document["black_wins"] / played if played else None, "share"),
        ("pairs split", document["split_pairs"] / document["pairs"] if played else None, "share"),
        (
            "swapped",
            document["swaps"] / played if played and document.get("swap") else None,
            "share",
        ),
        ("repeated games dropped", document["repeated"] or None, "count"),
    )
    return Page(
        f"Match on {size}×{size}",
        where,
        sections,
        (Facts(facts), Notes(sprt_lines(document["sprt"]))),
    )


def ratings(document: Mapping[str, Any]) -> Table:
    """Elo of the players with 95% intervals;
    if games were forfeited also over the others, with their number.
    """
    players = document["players"]
    lost = Counter(forfeit["loser"] for forfeit in document["forfeits"])
    headings: list[str | Column] = [
        "player",
        "Elo",
        Column("95% interval", number=True, names=("low", "high")),
    ]
    headings += ["games", "wins", "score", *(["forfeits", "Elo of games played"] if lost else [])]
    low, high = min(player["low"] for player in players), max(player["high"] for player in players)
    rows = []
    for player in players:
        anchored, played = player["name"] == document["anchor"], player.get("played")
        ends = "anchor" if anchored else f"{player['low']:+.0f} to {player['high']:+.0f}"
        sign = "" if anchored else _SIGNS.get(player["bound"], "")
        begin, value, end = (
            (player[key] - low) / max(high - low, 1e-9) for key in ("low", "elo", "high")
        )
        row = [player["name"], Cell(f"{sign}{player['elo']:+.0f}", player["elo"])]
        row += [
            Cell(ends, (player["low"], player["high"])),
            *(cell(player[key], "count") for key in ("games", "wins")),
        ]
        row.append(cell(player["score"], "share"))
        if lost:
            over = DASH if played is None else f"{played['elo']:+.0f} ({played['games']:,})"
            row += [f"{lost[player['name']]:,}", Cell(over, played and played["elo"])]
        rows.append([*row, Cell("", (anchored,), bar=(begin, end, value))])
    headings.append(Column("", rank=1, names=("anchor",)))
    return table("Ratings", headings, rows, ranks={"wins": 2}, search=len(rows) > 20)


def about_ratings(document: Mapping[str, Any]) -> list[str]:
    """The origin of the ratings, and the meaning of their signs."""
    lines = ["Bradley-Terry, weak prior; intervals: bootstrap over pairs of games"]
    if document.get("swap"):
        lines.append("by the swap rule: not to be compared with ratings of matches without it")
    if unsolved := document.get("unsolved"):
        lines.append(
            f"solver: two-distance moves in {unsolved:,} positions that it did not solve within its nodes"
        )
    if any(
        player["bound"] and player["name"] != document["anchor"] for player in document["players"]
    ):
        lines.append("≥ and ≤: all games won or lost, held by the prior alone")
    return lines


def cross_table(document: Mapping[str, Any]) -> Table:
    """Wins of the player of a row against that of a column, darker for more."""
    names = [player["name"] for player in document["players"]]
    rows = []
    for number, name in enumerate(names, start=1):
        row: list[str | Cell] = [f"{number} {name}"]
        for other in names:
            result = document["cross"].get(name, {}).get(other, {"wins": 0, "games": 0})
            share = result["wins"] / max(1, result["games"])
            score = Cell(
                f"{result['wins']}–{result['games'] - result['wins']}", share, shade=0.75 * share
            )
            row.append(score if result["games"] else DASH if name != other else "")
        rows.append(row)
    return table(
        "Cross table", ["wins of", *(str(number) for number in range(1, len(names) + 1))], rows
    )


def sprt_lines(test: Mapping[str, Any] | None) -> list[str]:
    """The result of the sequential test, with its figures; none without a test."""
    if test is None:
        return []
    facts = f"log-likelihood ratio {test['log_likelihood_ratio']:+.2f} in [{test['lower']:.2f}, {test['upper']:.2f}]"
    decision = f"SPRT between {test['elo0']:g} and {test['elo1']:g} Elo: not decided"
    if (accepted := test["accepted"]) is not None:
        other = "elo0" if accepted == "elo1" else "elo1"
        decision = f"SPRT: better by {test[accepted]:g} Elo rather than {test[other]:g}"
    return [f"{decision} · {facts} · pairs lost, split, won: {', '.join(map(str, test['pairs']))}"]


def closest_games(games: Sequence[GameRecord], count: int) -> list[GameRecord]:
    """Up to `count` games: the longest one of each two players, those first whose score is the
    nearest to even.

    With fewer meetings than `count`, the second longest games follow, and so on.
    """
    meetings: dict[tuple[str, ...], list[GameRecord]] = defaultdict(list)
    for game in sorted(games, key=lambda game: -len(game.moves)):
        meetings[tuple(sorted((game.black, game.white)))].append(game)

    def distance(players: tuple[str, ...]) -> float:
        won = sum(
            (game.black if game.winner > 0 else game.white) == players[0]
            for game in meetings[players]
        )
        return abs(won / len(meetings[players]) - 0.5)

    order = sorted(meetings, key=lambda players: (distance(players), players))
    rounds = zip_longest(*(meetings[players] for players in order))
    return [game for row in rounds for game in row if game is not None][:count]


def last_position(game: GameRecord) -> pages.PositionBoard:
    """The end of a game, under its players and its result."""
    moves = game.moves.tolist()
    cells = GameBoard(game.size, swap=True, moves=moves).cells.tolist()
    title = f"X {game.black} – O {game.white}: {result_of(game)} after {len(moves)} moves"
    return pages.PositionBoard(
        title, cells, ring=stone_cells(moves, game.size)[-1] if moves else None
    )


def games_section(games: Sequence[GameRecord], size: int) -> Section:
    """The games for the viewer."""
    winners = {1: "Black won", -1: "White won"}
    steps = [
        step_game(
            one,
            f"{number}. {one.black} – {one.white} · {winners.get(one.winner, DASH)} in {len(one.moves)}",
        )
        for number, one in enumerate(games[:MOST_GAMES], start=1)
    ]
    left_out = [f"The first {len(steps)} of {len(games):,} games; games.sgf has all."] * (
        len(games) > len(steps)
    )
    return Section("Games", [pages.GameViewer(size, steps), Notes(left_out, "quiet")], detail=True)
