"""The table of `hexlit strength what=search`: the quality and the cost of each way of searching."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from hexlit.reporting.grid import Grid
from hexlit.reporting.quantities import DASH, format_count, format_rate
from hexlit.reporting.strength_tables import headline, interval_text

HEADINGS = ("search", "simulations", "leaves", "opponent", "won (95%)", "optimal (95%)")


def print_search(console: Console, document: Mapping[str, Any]) -> None:
    """Print the document of the command."""
    console.width = max(console.width, 150)
    console.print(Text(headline(document), "bold"), soft_wrap=True)
    console.print()
    console.print(search_grid(document).as_table())
    console.print(Text(explanation(document), "dim"), soft_wrap=True)


def search_markdown(document: Mapping[str, Any]) -> str:
    """The same as Markdown."""
    return f"{headline(document)}\n\n{search_grid(document).as_markdown()}\n{explanation(document)}\n"


def explanation(document: Mapping[str, Any]) -> str:
    """The meaning of the columns."""
    rows = document["rows"]
    games = rows[0]["match"]["count"] if rows else 0
    return (
        f"won: of {format_count(games)} games over {games // 2} distinct openings, both colours; leaves: positions of "
        "a tree evaluated together (root: under different root moves only), which meets the same search with one; "
        "a call: how many there are on average; sims/s: simulations a second"
    )


def search_grid(document: Mapping[str, Any]) -> Grid:
    """A row per way of searching."""
    many = document["games"]
    headings = [*HEADINGS, "a call", "1 game: ms/move", "sims/s", f"{many} games: ms/move", "sims/s"]
    rows = []
    for row in document["rows"]:
        speeds = [row["one_game"], row["many_games"]]
        rows.append(
            [
                row["algorithm"],
                format_count(row["simulations"]),
                f"{row['leaves']}{' root' if row['root_batch'] else ''}",
                row["opponent"],
                interval_text(row["match"]),
                DASH if row["optimality"] is None else interval_text(row["optimality"]),
                f"{row['one_game']['leaves_a_call']:.1f}",
                *(
                    text
                    for speed in speeds
                    for text in (f"{speed['milliseconds']:.2f}", format_rate(speed["simulations_per_second"]))
                ),
            ]
        )
    return Grid("Search quality", headings, rows)
