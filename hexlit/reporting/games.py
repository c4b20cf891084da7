"""Collections of games: what was read, written and found wrong, and their contents."""

from collections.abc import Mapping, Sequence
from typing import Any

from hexlit.hex.notation import format_cell
from hexlit.reporting import page as pages
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
from hexlit.reporting.quantities import format_count, format_share

_BARS = 12  # lines of the histogram of lengths, at most
_STEPS = (1, 2, 5, 10, 20, 50, 100)  # number of moves that a bar may cover


def import_page(result: Mapping[str, Any], target: str) -> Page:
    """The results of an import."""
    facts = entries(
        *(("games read", result["read"], "count"), ("new games", result["imported"], "count")),
        *(("plies", result["plies"], "count"), (f"in {target}", result["in_store"], "count")),
        *(("time", result["seconds"], "seconds"), ("games/s", result["games_per_second"], "rate")),
    )
    return Page(
        "",
        "",
        _tallies({"Dropped": result["dropped"], "To be known": result["noted"]}),
        [Facts(facts)],
    )


def export_page(result: Mapping[str, Any], target: str) -> Page:
    """The results of an export."""
    facts = [
        (f"games written to {target}", format_count(result["written"])),
        ("format", result["format"]),
    ]
    facts += entries(("size", result["bytes"], "bytes"), ("time", result["seconds"], "seconds"))
    lost = f"Not said in {result['format']}"
    return Page(
        "",
        "",
        _tallies({"Not written": result["not_written"], lost: result["lost"]}),
        [Facts(facts)],
    )


def verdict_page(verdict: Mapping[str, Any]) -> Page:
    """The errors of the games, or that there are none."""
    wrong = sum(entry["count"] for entry in verdict["wrong"].values())
    facts = [
        ("games", format_count(verdict["games"])),
        ("plies replayed", format_count(verdict["plies"])),
    ]
    judgement = (
        Notes(["all well"])
        if verdict["fine"]
        else Notes([f"{format_count(wrong)} wrong"], "problem")
    )
    sections = _tallies({"Wrong": verdict["wrong"], "To be known": verdict["noted"]})
    if verdict["problems"]:
        lines = [
            f"{problem['place']}: {problem['reason']}: {problem['said']}"
            for problem in verdict["problems"]
        ]
        title = f"The first {len(lines)}" if len(lines) < wrong else "One by one"
        sections.append(Section(title, [Notes(lines, "command")]))
    return Page("", "", sections, [Facts(facts), judgement])


def overview_page(overview: Mapping[str, Any]) -> Page:
    """The contents of a collection of games."""
    games = overview["games"]
    facts = entries(("games", games, "count"), ("plies", overview["plies"], "count"))
    facts += entries(("plies a game", overview["plies"] / games, "{:.1f}"))
    sizes = {f"{size}x{size}": count for size, count in overview["sizes"].items()}
    counts = {"Boards": sizes} | {
        name.capitalize(): overview[name] for name in ("winners", "endings", "swaps")
    }
    lines = [
        f"{title}: "
        + ", ".join(f"{name} {n:,} ({format_share(n / games)})" for name, n in group.items() if n)
        for title, group in counts.items()
    ]

    def table_of(
        headings: Sequence[str], keys: Sequence[str], rows: Sequence[Mapping[str, Any]], won: str
    ) -> Table:
        shares = [
            [format_share(one["games"] / games), format_share(one[won] / one["games"])]
            for one in rows
        ]
        cells = [[*(str(one[key]) for key in keys), f"{one['games']:,}"] for one in rows]
        return table(
            "",
            headings,
            [[*row, *more] for row, more in zip(cells, shares, strict=True)],
            names=len(keys),
        )

    sections = [
        Section(
            "Lengths", [histogram({int(length): n for length, n in overview["lengths"].items()})]
        )
    ]
    if openings := overview["openings"]:
        rows = [one | {"board": f"{one['board']}x{one['board']}"} for one in openings]
        title = f"Openings, the same turned by 180° counted together ({format_count(overview['different_openings'])})"
        headings = ["board", "moves", "games", "share", "Black won"]
        sections.append(Section(title, [table_of(headings, ("board", "moves"), rows, "black_won")]))
    if players := overview["players"]:
        title = f"Players ({format_count(overview['different_players'])})"
        sections.append(
            Section(title, [table_of(["name", "games", "share", "won"], ("name",), players, "won")])
        )
    unread = f"{format_count(overview['unreadable'])} games cannot be read; `hexlit games verify` says which"
    problems = Notes([unread] if overview["unreadable"] else [], "problem")
    return Page("", "", sections, [Facts(facts), Notes(lines), problems])


def histogram(counts: Mapping[int, int]) -> Table:
    """Bars of the games by number of moves, a row per class of equal width."""
    low, high = min(counts), max(counts)
    fitting = [step for step in _STEPS if high // step - low // step < _BARS]
    step = fitting[0] if fitting else _STEPS[-1]
    classes = dict.fromkeys(range(low // step, high // step + 1), 0)
    for length, count in counts.items():
        classes[length // step] += count
    most = max(classes.values())
    rows = []
    for number, count in classes.items():
        first = number * step
        name = f"{first} to {first + step - 1}" if step > 1 else str(first)
        bar = Cell("", count / most, bar=(0.0, count / most, None))
        rows.append([Cell(name, number), cell(count, "count"), bar])
    return table("", ["moves", "games", Column("")], rows, names=0)


def _tallies(tallies: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[Section]:
    """A line per reason: its count, and the place of the first case in full."""
    sections = []
    for title, tally in tallies.items():
        lines = []
        for reason, entry in tally.items():
            example = f", such as {entry['place']}" if entry["place"] else ""
            lines.append(f"{format_count(entry['count'])}  {reason}{example}")
        if lines:
            sections.append(Section(title, [Notes(lines, "command")]))
    return sections


def puzzles_page(document: Mapping[str, Any], target: str) -> Page:
    """Puzzles by grade; a page shows their solutions when they are asked for."""
    size, puzzles, largest = (
        document["board"],
        document["puzzles"],
        f"above {document['largest_grade']}",
    )
    grades: dict[str, list[pages.PositionBoard]] = {}
    for number, one in enumerate(puzzles, 1):
        solution, likeliest = (format_cell(one[name], size) for name in ("solution", "likeliest"))
        title = f"{number}. {'Black' if one['to_move'] > 0 else 'White'} to move"
        board = pages.PositionBoard(
            title, one["cells"], answer=f"{solution}; the policy plays {likeliest}"
        )
        grades.setdefault(f"Grade {one['grade'] or largest}", []).append(board)
    counts = table(
        "", ["", "puzzles"], [[grade, cell(len(its), "count")] for grade, its in grades.items()]
    )
    facts = entries(
        (f"puzzles in {target}", len(puzzles), "count"), ("time", document["seconds"], "seconds")
    )
    sections = [Section(grade, [pages.Boards(its)], detail=True) for grade, its in grades.items()]
    where = f"{document['checkpoint']} · seed {document['seed']} · grade: simulations that find it, as do twice as many"
    return Page(f"Puzzles on {size}×{size}: one move wins", where, sections, [Facts(facts), counts])
