"""The text of `hexlit plan` for people, from the same plain values that it gives to programs."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from hexlit.reporting.quantities import format_duration, format_rate

Found = Mapping[str, Any]
HEADINGS = ("", "hours", "cost", "games/s", "playing", "training", "network", "stale")


def print_plan(found: Found, console: Console) -> None:
    """Print machines, time, cost, limits and the effect of changes, at most as wide as `console`."""
    cluster = found["cluster"]
    places = [f"{cluster['workers']} beside the training"] if cluster["workers"] else []
    if cluster["hosts"]:
        places.append(f"{cluster['host_workers']} on each of {cluster['hosts']} hosts")
    console.print(f"[bold]{found['recipe']}[/] to {found['target']}", highlight=False)
    console.print(
        f"{cluster['actors']} processes play ({', '.join(places)}), {cluster['devices']} "
        f"device{'s train' if cluster['devices'] > 1 else ' trains'}",
        highlight=False,
    )
    console.print(
        f"{format_duration(found['hours'] * 3600)}: {found['epochs']:,} epochs of {found['epoch_seconds']:.1f} s; "
        f"{format_rate(found['positions_per_second'])} positions/s searched in full; "
        f"{found['bytes_per_second'] / 1e6:.2f} MB/s to and from the learner",
        highlight=False,
    )
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading else "left")
    table.add_row(*_cells("this plan", found), style="bold")
    for change in found["changes"]:
        table.add_row(*_cells(change["what"], change))
    console.print(table)
    console.print("Playing, training, network: share of the time in which they are busy. Stale: epochs.", style="dim")
    console.print(found["limit"], highlight=False)
    console.print(
        "Evaluations of strength, checkpoints and the first compiling come on top. Rates differ between an untrained "
        "network and a trained one: checkpoint=RUN measures the latter.",
        style="dim",
        highlight=False,
    )


def _cells(what: str, row: Found) -> tuple[str, ...]:
    return (
        what,
        f"{row['hours']:.2f}",
        f"{row['cost']:,.2f}" if row["cost"] else "–",
        format_rate(row["games_per_second"]),
        f"{row['actors_busy']:.0%}",
        f"{row['learner_busy']:.0%}",
        f"{row['link_busy']:.0%}",
        f"{row['staleness']:.1f}",
    )
