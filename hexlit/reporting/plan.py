"""The text of `hexlit plan` for people, from the same plain values that it gives to programs."""

from hexlit.reporting.page import Document, Notes, Page, table
from hexlit.reporting.quantities import DASH, format_duration, format_rate

HEADINGS = ("", "hours", "cost", "games/s", "playing", "training", "network", "stale")


def plan_page(found: Document) -> Page:
    """Machines, time, cost, limits and the effect of changes."""
    cluster = found["cluster"]
    places = [f"{cluster['workers']} next to the training"] * bool(cluster["workers"])
    places += [f"{cluster['host_cores']} on each of {cluster['hosts']} hosts"] * bool(
        cluster["hosts"]
    )
    devices = (
        "1 device trains" if cluster["devices"] == 1 else f"{cluster['devices']} devices train"
    )
    machines = f"{cluster['actors']} processes play ({', '.join(places)}), {devices}"
    time = (
        f"{format_duration(found['hours'] * 3600)}: {found['epochs']:,} epochs of {found['epoch_seconds']:.1f} s; "
        f"{format_rate(found['positions_per_second'])} positions/s searched in full; "
        f"{found['bytes_per_second'] / 1e6:.2f} MB/s to and from the learner"
    )
    rows = [
        _cells("this plan", found),
        *(_cells(change["what"], change) for change in found["changes"]),
    ]
    shares = "Playing, training, network: share of the time in which they are busy. Stale: epochs."
    rates = (
        "Evaluations of strength, checkpoints and the first compiling come on top. Rates differ between an untrained "
        "network and a trained one: checkpoint=RUN measures the latter."
    )
    notes = [Notes([shares], "quiet"), Notes([found["limit"]]), Notes([rates], "quiet")]
    title = f"{found['recipe']} to {found['target']}"
    return Page(
        title,
        "",
        [],
        [Notes([machines, time]), table("", HEADINGS, rows, best=0), *notes],
    )


def _cells(what: str, row: Document) -> list[str]:
    busy = [f"{row[f'{part}_busy']:.0%}" for part in ("actors", "learner", "link")]
    cost = f"{row['cost']:,.2f}" if row["cost"] else DASH
    return [
        what,
        f"{row['hours']:.2f}",
        cost,
        format_rate(row["games_per_second"]),
        *busy,
        f"{row['staleness']:.1f}",
    ]
