"""Collections of games: what was read, written and found wrong, and their contents."""

from collections.abc import Mapping, Sequence

from hexlit.hex.notation import format_cell
from hexlit.reporting import page as pages
from hexlit.reporting.page import Document, Facts, Notes, Page, Section, Table, cell, entries, table
from hexlit.reporting.quantities import format_count, format_share

_CLASSES = 12  # most rows in the table of lengths


def import_page(result: Document, target: str) -> Page:
    """The results of an import."""
    facts = entries(
        ("games read", result["read"], "count"),
        ("new games", result["imported"], "count"),
        ("plies", result["plies"], "count"),
        (f"in {target}", result["in_store"], "count"),
        ("time", result["seconds"], "seconds"),
        ("games/s", result["games_per_second"], "rate"),
    )
    sections = _tallies({"Dropped": result["dropped"], "Remarks": result["noted"]})
    return Page("", "", sections, [Facts(facts)])


def export_page(result: Document, target: str) -> Page:
    """The results of an export."""
    facts = entries(
        (f"games written to {target}", result["written"], "count"),
        ("size", result["bytes"], "bytes"),
        ("time", result["seconds"], "seconds"),
    )
    lost = f"Not expressed in {result['format']}"
    sections = _tallies({"Not written": result["not_written"], lost: result["lost"]})
    return Page("", "", sections, [Facts(facts)])


def verdict_page(verdict: Document) -> Page:
    """The errors of the games, or that there are none."""
    wrong = sum(entry["count"] for entry in verdict["wrong"].values())
    facts = entries(
        ("games", verdict["games"], "count"), ("plies replayed", verdict["plies"], "count")
    )
    judgement = Notes(["all well"])
    if wrong:
        judgement = Notes([f"{format_count(wrong)} wrong"], "problem")
    sections = _tallies({"Wrong": verdict["wrong"], "Remarks": verdict["noted"]})
    if verdict["problems"]:
        lines = []
        for problem in verdict["problems"]:
            lines.append(f"{problem['place']}: {problem['reason']}: {problem['message']}")
        title = f"The first {len(lines)}" if len(lines) < wrong else "One by one"
        sections.append(Section(title, [Notes(lines, "command")]))
    return Page("", "", sections, [Facts(facts), judgement])


def overview_page(overview: Document) -> Page:
    """The contents of a collection of games."""
    games = overview["games"]
    facts = entries(
        ("games", games, "count"),
        ("plies", overview["plies"], "count"),
        ("plies a game", overview["plies"] / games, "{:.1f}"),
    )
    sizes = {f"{size}x{size}": count for size, count in overview["sizes"].items()}
    lines = []
    for title in ("boards", "winners", "endings", "swaps"):
        counts = sizes if title == "boards" else overview[title]
        shares = [f"{name} {n:,} ({format_share(n / games)})" for name, n in counts.items() if n]
        lines.append(f"{title.capitalize()}: {', '.join(shares)}")
    sections = [Section("Lengths", [lengths_table(overview["lengths"])])]
    rows = []
    for one in overview["openings"]:
        board = f"{one['board']}x{one['board']}"
        rows.append([board, one["moves"], *_share_cells(one, games, one["black_won"])])
    if rows:
        count = format_count(overview["different_openings"])
        title = f"Openings, the same turned by 180° counted together ({count})"
        headings = ["board", "moves", "games", "share", "Black won"]
        sections.append(Section(title, [table("", headings, rows, names=2)]))
    rows = []
    for one in overview["players"]:
        rows.append([one["name"], *_share_cells(one, games, one["won"])])
    if rows:
        title = f"Players ({format_count(overview['different_players'])})"
        sections.append(Section(title, [table("", ["name", "games", "share", "won"], rows)]))
    problems = []
    if overview["unreadable"]:
        count = format_count(overview["unreadable"])
        problems.append(f"{count} games cannot be read; see hexlit games verify")
    return Page(
        "",
        "",
        sections,
        [Facts(facts), Notes(lines), Notes(problems, "problem")],
    )


def _share_cells(one: Document, games: int, won: int) -> list[str]:
    """Number of games, their share of all `games`, and the share of them that was `won`."""
    count = one["games"]
    return [format_count(count), format_share(count / games), format_share(won / count)]


def lengths_table(counts: Mapping[str, int]) -> Table:
    """Games by number of moves, a row per class of equal width."""
    lengths = {int(length): count for length, count in counts.items()}
    low, high = min(lengths), max(lengths)
    step = (high - low) // _CLASSES + 1
    rows = []
    for first in range(low, high + 1, step):
        last = first + step - 1
        count = sum(lengths.get(length, 0) for length in range(first, last + 1))
        name = f"{first} to {last}" if step > 1 else str(first)
        rows.append([name, cell(count, "count")])
    return table("", ["moves", "games"], rows)


def _tallies(tallies: Mapping[str, Mapping[str, Document]]) -> list[Section]:
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


def puzzles_page(document: Document, target: str) -> Page:
    """Puzzles by grade; a page shows their solutions when they are asked for."""
    size, puzzles = document["board"], document["puzzles"]
    grades: dict[str, list[pages.PositionBoard]] = {}
    for number, one in enumerate(puzzles, 1):
        mover = "Black" if one["to_move"] > 0 else "White"
        solution, likeliest = (format_cell(one[name], size) for name in ("solution", "likeliest"))
        answer = f"{solution}; the policy plays {likeliest}"
        board = pages.PositionBoard(f"{number}. {mover} to move", one["cells"], answer=answer)
        grade = one["grade"] or f"above {document['largest_grade']}"
        grades.setdefault(f"Grade {grade}", []).append(board)
    sections, rows = [], []
    for grade, boards in grades.items():
        rows.append([grade, cell(len(boards), "count")])
        sections.append(Section(grade, [pages.Boards(boards)], detail=True))
    facts = entries(
        (f"puzzles in {target}", len(puzzles), "count"), ("time", document["seconds"], "seconds")
    )
    where = f"{document['checkpoint']} · seed {document['seed']} · grade: simulations that find it"
    lead: Sequence[pages.Block] = [Facts(facts), table("", ["", "puzzles"], rows)]
    return Page(
        f"Puzzles on {size}×{size}: one move wins",
        where,
        sections,
        lead,
    )
