"""A match on the terminal: its progress and its result."""

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hexlit.reporting.counting import Counting
from hexlit.reporting.quantities import format_count, format_duration, format_rate, format_share, time_left

_SCALE = 20  # characters of the picture of the intervals
_MOST_COLUMNS = 12  # players in the cross table
_MOST_NOTES = 5  # reasons of forfeits


class KernelProgress(Counting):
    """Shows the functions compiled before the first game, and the time: a bar, elsewhere a line.

    Args:
        functions: their approximate number.
    """

    def __init__(self, functions: int, *, console: Console | None = None) -> None:
        super().__init__("compiling", functions, console=console, transient=True)
        self._began = time.monotonic()
        self._said = False

    def advance(self, done: int, total: int, what: str) -> None:
        """Show that `done` functions of `total` are compiled; `what` is their purpose."""
        self.done, self.total = done, total
        left = time_left(time.monotonic() - self._began, done, total)
        self.facts = [what, left]
        if not self.live and not self._said:
            self._said = True
            self.say(f"compiling, once on this machine: {what}")


class MatchProgress(Counting):
    """Shows the games played so far, the speed, and the time left.

    A bar on a terminal, elsewhere a line every ten seconds. The speed counts from the first game on: kernels may have
    been compiled before it.

    Args:
        games: games of the whole match.
        done: games that were finished before.
    """

    def __init__(
        self, games: int, *, done: int = 0, title: str = "hexlit match", console: Console | None = None
    ) -> None:
        super().__init__(title, games, done=done, console=console)
        self._first: tuple[float, int] | None = None  # time of the first finished games, and their number

    def advance(self, games: int) -> None:
        """Show that `games` more games are finished."""
        self.done += games
        now = time.monotonic()
        self._first = self._first or (now, self.done)
        rate = (self.done - self._first[1]) / max(now - self._first[0], 1e-9)
        if rate:
            left = format_duration((self.total - self.done) / rate)
            self.facts = [f"{format_rate(rate)} games/s", f"{left} left" if self.done < self.total else ""]
        if self.line_due():
            played = f"{format_count(self.done)} of {format_count(self.total)} games"
            self.say(", ".join(text for text in (played, *self.facts) if text))


def print_match(console: Console, document: Mapping[str, Any]) -> None:
    """Print the ratings, the cross table, forfeits and the test of `match.json`'s content."""
    console.print()
    console.print(_headline(document))
    if document["players"]:
        console.print(_ratings(document))
        console.print(Text(about_ratings(document), "dim"))
    if 2 < len(document["players"]) <= _MOST_COLUMNS:
        console.print()
        console.print(_cross_table(document))
    forfeits = Counter((forfeit["loser"], forfeit["note"]) for forfeit in document["forfeits"])
    for (loser, note), games in forfeits.most_common(_MOST_NOTES):
        console.print(Text(f"{loser} forfeited {games:,} game{'s' if games > 1 else ''}: {note}", "red"))
    if len(forfeits) > _MOST_NOTES:
        console.print(Text(f"{len(forfeits) - _MOST_NOTES} more reasons of forfeits are in match.json", "red"))
    if document["sprt"] is not None:
        console.print(_test(document))


def headline_facts(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and text of a match's results."""
    games, pairs = document["games"], document["pairs"]
    facts = [
        ("players", format_count(len(document["players"]))),
        ("games", format_count(games)),
        ("of wall time", format_duration(document["seconds"])),
        ("games a second", format_rate(document["games_per_second"])),
    ]
    if games:
        facts.append(("won by Black", format_share(document["black_wins"] / games)))
        facts.append(("pairs split", format_share(document["split_pairs"] / pairs)))
        if document.get("swap"):
            facts.append(("swapped", format_share(document["swaps"] / games)))
    if document["repeated"]:
        facts.append(("repeated games dropped", format_count(document["repeated"])))
    return facts


def _headline(document: Mapping[str, Any]) -> Text:
    games, pairs = document["games"], document["pairs"]
    parts = [
        (f"{format_count(games)} games on {document['board']}x{document['board']}", "bold"),
        (f"{format_duration(document['seconds'])}, {format_rate(document['games_per_second'])} games/s", ""),
    ]
    if games:
        parts.append((f"Black won {format_share(document['black_wins'] / games)}", ""))
        parts.append((f"pairs split {format_share(document['split_pairs'] / pairs)}", ""))
        if document.get("swap"):
            parts.append((f"swapped {format_share(document['swaps'] / games)}", ""))
    if document["repeated"]:
        parts.append((f"{format_count(document['repeated'])} repeated games dropped", "yellow"))
    return Text(" · ", "dim").join(Text(text, style) for text, style in parts)


def _ratings(document: Mapping[str, Any]) -> Table:
    players = document["players"]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("player", overflow="fold")  # long names differ in their ends
    lost = Counter(forfeit["loser"] for forfeit in document["forfeits"])
    beside = ("forfeits", "Elo of games played") if lost else ()
    for heading in ("Elo", "95% interval", "games", "score", *beside):
        table.add_column(heading, justify="right")
    table.add_column("", no_wrap=True)
    low = min(player["low"] for player in players)
    high = max(player["high"] for player in players)
    for player in players:
        sign = {"at least": "≥ ", "at most": "≤ "}.get(player["bound"], "")
        anchored = player["name"] == document["anchor"]
        interval = "anchor" if anchored else f"{player['low']:+.0f} to {player['high']:+.0f}"
        elo = f"{sign if not anchored else ''}{player['elo']:+.0f}"
        picture = _interval(player["low"], player["elo"], player["high"], low, high)
        table.add_row(
            Text(player["name"], "bold"),
            Text(elo, "bold green"),
            interval,
            format_count(player["games"]),
            format_share(player["score"]),
            *((format_count(lost[player["name"]]), _played(player["played"])) if lost else ()),
            Text(picture, "cyan"),
        )
    return table


def _played(rating: Mapping[str, Any] | None) -> str:
    """The rating over pairs without a forfeit, with their games."""
    return "–" if rating is None else f"{rating['elo']:+.0f} ({format_count(rating['games'])})"


def about_ratings(document: Mapping[str, Any]) -> str:
    """The origin of the ratings, and the meaning of their signs."""
    text = "Bradley-Terry, weak prior; intervals: bootstrap over pairs of games"
    if document.get("swap"):
        text += "\nby the swap rule: not to be compared with ratings of matches without it"
    if any(player["bound"] and player["name"] != document["anchor"] for player in document["players"]):
        text += "\n≥ and ≤: all games won or lost, held by the prior alone"
    return text


def _interval(low: float, value: float, high: float, left: float, right: float) -> str:
    """A line from `low` to `high` with a dot at `value`, on a scale from `left` to `right`."""
    places = [round((x - left) / max(right - left, 1e-9) * (_SCALE - 1)) for x in (low, value, high)]
    line = ["─" if places[0] <= place <= places[2] else " " for place in range(_SCALE)]
    line[places[1]] = "●"
    return "".join(line)


def _cross_table(document: Mapping[str, Any]) -> Table:
    """Wins of the player of a row against that of a column."""
    names = [player["name"] for player in document["players"]]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", title="Wins", title_justify="left")
    table.add_column("")
    for number in range(1, len(names) + 1):
        table.add_column(str(number), justify="right")
    for number, name in enumerate(names, start=1):
        table.add_row(f"{number} {name}", *(_score(document["cross"][name], other) for other in names))
    return table


def _score(row: Mapping[str, Mapping[str, int]], opponent: str) -> str:
    cell = row.get(opponent)
    return "" if cell is None else f"{cell['wins']}–{cell['games'] - cell['wins']}"


def test_text(document: Mapping[str, Any]) -> str:
    """The result of the sequential test, with its figures."""
    test = document["sprt"]
    facts = f"log-likelihood ratio {test['log_likelihood_ratio']:+.2f} in [{test['lower']:.2f}, {test['upper']:.2f}]"
    return f"{_decision(test)} · {facts} · pairs lost, split, won: {', '.join(map(str, test['pairs']))}"


def _decision(test: Mapping[str, Any]) -> str:
    accepted = test["accepted"]
    if accepted is None:
        return f"SPRT between {test['elo0']:g} and {test['elo1']:g} Elo: not decided"
    other = "elo0" if accepted == "elo1" else "elo1"
    return f"SPRT: better by {test[accepted]:g} Elo rather than {test[other]:g}"


def _test(document: Mapping[str, Any]) -> Text:
    message, _, figures = test_text(document).partition(" · ")
    return Text.assemble((message, "bold"), f" · {figures}")
