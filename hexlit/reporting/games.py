"""Collections of games: what was read, written and found wrong, and their contents."""

from collections.abc import Mapping, Sequence
from typing import Any

from hexlit.reporting.page import Block, Cell, Column, Facts, Notes, Page, Section, Table, table
from hexlit.reporting.quantities import format_bytes, format_count, format_duration, format_rate, format_share

_BARS = 12  # lines of the histogram of lengths, at most
_STEPS = (1, 2, 5, 10, 20, 50, 100)  # number of moves that a bar may cover


def import_page(result: Mapping[str, Any], target: str) -> Page:
    """The results of an import."""
    names = {"games read": "read", "new games": "imported", "plies": "plies", f"in {target}": "in_store"}
    facts = [(name, format_count(result[key])) for name, key in names.items()]
    facts += [("time", format_duration(result["seconds"])), ("games/s", format_rate(result["games_per_second"]))]
    return Page("", "", _tallies({"Dropped": result["dropped"], "To be known": result["noted"]}), [Facts(facts)])


def export_page(result: Mapping[str, Any], target: str) -> Page:
    """The results of an export."""
    facts = [(f"games written to {target}", format_count(result["written"])), ("format", result["format"])]
    facts += [("size", format_bytes(result["bytes"])), ("time", format_duration(result["seconds"]))]
    lost = f"Not said in {result['format']}"
    return Page("", "", _tallies({"Not written": result["not_written"], lost: result["lost"]}), [Facts(facts)])


def verdict_page(verdict: Mapping[str, Any]) -> Page:
    """The errors of the games, or that there are none."""
    wrong = sum(entry["count"] for entry in verdict["wrong"].values())
    facts = [("games", format_count(verdict["games"])), ("plies replayed", format_count(verdict["plies"]))]
    judgement = Notes(["all well"]) if verdict["fine"] else Notes([f"{format_count(wrong)} wrong"], "problem")
    sections = _tallies({"Wrong": verdict["wrong"], "To be known": verdict["noted"]})
    if verdict["problems"]:
        left = wrong - len(verdict["problems"])
        lines = [f"{problem['place']}: {problem['reason']}: {problem['said']}" for problem in verdict["problems"]]
        title = f"The first {len(lines)}" if left else "One by one"
        sections.append(Section(title, [Notes(lines, "command")]))
    return Page("", "", sections, [Facts(facts), judgement])


def overview_page(overview: Mapping[str, Any]) -> Page:
    """The contents of a collection of games."""
    games = overview["games"]
    facts = [("games", format_count(games)), ("plies", format_count(overview["plies"]))]
    facts.append(("plies a game", f"{overview['plies'] / games:.1f}"))
    sizes = {f"{size}x{size}": count for size, count in overview["sizes"].items()}
    counts = {"Boards": sizes} | {name.capitalize(): overview[name] for name in ("winners", "endings", "swaps")}
    lines = [
        f"{title}: " + ", ".join(f"{name} {n:,} ({format_share(n / games)})" for name, n in group.items() if n)
        for title, group in counts.items()
    ]

    def row(names: Sequence[str], line: Mapping[str, Any], won: str) -> list[str]:
        shares = [format_share(line["games"] / games), format_share(line[won] / line["games"])]
        return [*names, f"{line['games']:,}", *shares]

    sections = [Section("Lengths", [histogram({int(length): n for length, n in overview["lengths"].items()})])]
    if openings := overview["openings"]:
        rows = [row([f"{one['board']}x{one['board']}", str(one["moves"])], one, "black_won") for one in openings]
        title = f"Openings, the same turned by 180° counted together ({format_count(overview['different_openings'])})"
        sections.append(Section(title, [table("", ["board", "moves", "games", "share", "Black won"], rows, names=2)]))
    if players := overview["players"]:
        rows = [row([str(one["name"])], one, "won") for one in players]
        title = f"Players ({format_count(overview['different_players'])})"
        sections.append(Section(title, [table("", ["name", "games", "share", "won"], rows)]))
    lead: list[Block] = [Facts(facts), Notes(lines)]
    if overview["unreadable"]:
        message = f"{format_count(overview['unreadable'])} games cannot be read; `hexlit games verify` says which"
        lead.append(Notes([message], "problem"))
    return Page("", "", sections, lead)


def histogram(counts: Mapping[int, int]) -> Table:
    """Bars of the games by number of moves, a row per class of equal width."""
    low, high = min(counts), max(counts)
    step = next((step for step in _STEPS if high // step - low // step < _BARS), _STEPS[-1])
    classes = dict.fromkeys(range(low // step, high // step + 1), 0)
    for length, count in counts.items():
        classes[length // step] += count
    most = max(classes.values())
    rows = []
    for number, count in classes.items():
        name = f"{number * step} to {number * step + step - 1}" if step > 1 else f"{number * step}"
        bar = Cell("", count / most, bar=(0.0, count / most, None))
        rows.append([Cell(name, number), Cell(format_count(count), count), bar])
    return table("", ["moves", "games", Column("")], rows, names=0)


def _tallies(tallies: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[Section]:
    """A line per reason: its count, and the place of the first case in full."""
    sections = []
    for title, tally in tallies.items():
        lines = [
            f"{format_count(entry['count'])}  {reason}" + (f", such as {entry['place']}" if entry["place"] else "")
            for reason, entry in tally.items()
        ]
        if lines:
            sections.append(Section(title, [Notes(lines, "command")]))
    return sections
