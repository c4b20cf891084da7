"""Collections of games on the terminal: progress of reading, results, and contents."""

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from hexlit.reporting.grid import Grid
from hexlit.reporting.quantities import format_bytes, format_count, format_duration, format_rate, format_share
from hexlit.reporting.screen import is_screen

_SECONDS_BETWEEN_LINES = 10.0
_BARS = 12  # lines of the histogram of lengths, at most
_WIDTH = 40  # characters of its longest bar
_STEPS = (1, 2, 5, 10, 20, 50, 100)  # number of moves that a bar may cover


class ReadingProgress:
    """Shows the bytes and games read so far, the speed, and the time left.

    A bar on a terminal, elsewhere a line every ten seconds.

    Args:
        size: bytes to read.
        title: present activity.
    """

    def __init__(self, size: int, title: str, *, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._size = size
        self._started = time.monotonic()
        self._next_line = self._started + _SECONDS_BETWEEN_LINES
        self._bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(28),
            TextColumn("{task.percentage:.0f}%"),
            TextColumn("[cyan]{task.fields[facts]}"),
            console=self._console,
            transient=True,
            disable=not is_screen(self._console),
        )
        self._task = self._bar.add_task(title, total=size, facts="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the terminal back."""
        self._bar.stop()

    def update(self, position: int, games: int) -> None:
        """Show that `position` bytes and `games` games have been read."""
        now = time.monotonic()
        seconds = max(now - self._started, 1e-9)
        left = (self._size - position) * seconds / position if position else None
        read = f"{format_bytes(position)} of {format_bytes(self._size)} · {format_count(games)} games"
        facts = f"{read} · {format_rate(games / seconds)} games/s · {format_duration(left)} left"
        self._bar.update(self._task, completed=position, facts=facts)
        if self._bar.disable and now >= self._next_line:
            self._next_line = now + _SECONDS_BETWEEN_LINES
            self._console.file.write(facts.replace(" · ", ", ") + "\n")
            self._console.file.flush()


def print_import(console: Console, result: Mapping[str, Any], target: str) -> None:
    """Print the results of an import."""
    new = f"{format_count(result['imported'])} new games ({format_count(result['plies'])} plies)"
    rate = f"{format_duration(result['seconds'])}, {format_rate(result['games_per_second'])} games/s"
    parts = [f"{format_count(result['read'])} games read", new, f"{format_count(result['in_store'])} in {target}", rate]
    console.print(_line(parts))
    _print_tally(console, "Dropped", result["dropped"])
    _print_tally(console, "To be known", result["noted"])


def print_export(console: Console, result: Mapping[str, Any], target: str) -> None:
    """Print the results of an export."""
    written = f"{format_count(result['written'])} games written to {target}"
    parts = [written, f"{result['format']}, {format_bytes(result['bytes'])}", format_duration(result["seconds"])]
    console.print(_line(parts))
    _print_tally(console, "Not written", result["not_written"])
    _print_tally(console, f"Not said in {result['format']}", result["lost"])


def print_verdict(console: Console, verdict: Mapping[str, Any]) -> None:
    """Print the errors of the games, or that there are none."""
    wrong = sum(entry["count"] for entry in verdict["wrong"].values())
    message = ("all well", "bold green") if verdict["fine"] else (f"{format_count(wrong)} wrong", "bold red")
    line = _line([f"{format_count(verdict['games'])} games", f"{format_count(verdict['plies'])} plies replayed"])
    console.print(Text.assemble(line, (" · ", "dim"), message))
    _print_tally(console, "Wrong", verdict["wrong"])
    _print_tally(console, "To be known", verdict["noted"])
    if verdict["problems"]:
        left = wrong - len(verdict["problems"])
        console.print(Text(f"The first {len(verdict['problems'])}" if left else "One by one", "bold"))
        for problem in verdict["problems"]:
            console.print(Text(f"{problem['place']}: {problem['reason']}: {problem['said']}"))


def print_overview(console: Console, overview: Mapping[str, Any]) -> None:
    """Print the contents of a collection of games."""
    games = overview["games"]
    mean = overview["plies"] / games
    console.print(
        _line([f"{format_count(games)} games", f"{format_count(overview['plies'])} plies, {mean:.1f} a game"])
    )
    for title, key in (("Boards", "sizes"), ("Winners", "winners"), ("Endings", "endings"), ("Swaps", "swaps")):
        counts = [
            f"{_board(name) if key == 'sizes' else name} {_share(n, games)}" for name, n in overview[key].items() if n
        ]
        console.print(Text.assemble((f"{title:<9}", "bold"), ", ".join(counts)))
    console.print(Text("Lengths", "bold"))
    console.print(draw_histogram({int(length): count for length, count in overview["lengths"].items()}))
    if overview["openings"]:
        openings = [
            (_board(line["board"]), str(line["moves"]), *_won(line["games"], games, line["black_won"]))
            for line in overview["openings"]
        ]
        title = f"Openings, the same turned by 180° counted together ({format_count(overview['different_openings'])})"
        console.print(Grid(title, ("board", "moves", "games", "share", "Black won"), openings, names=2).as_table())
    if overview["players"]:
        players = [(str(line["name"]), *_won(line["games"], games, line["won"])) for line in overview["players"]]
        title = f"Players ({format_count(overview['different_players'])})"
        console.print(Grid(title, ("name", "games", "share", "won"), players).as_table())
    if overview["unreadable"]:
        message = f"{format_count(overview['unreadable'])} games cannot be read; `hexlit games verify` says which"
        console.print(Text(message, "yellow"))


def draw_histogram(counts: Mapping[int, int]) -> Text:
    """Bars of the games by number of moves, a line per class of equal width; no newline at the end."""
    low, high = min(counts), max(counts)
    step = next((step for step in _STEPS if high // step - low // step < _BARS), _STEPS[-1])
    classes = dict.fromkeys(range(low // step, high // step + 1), 0)
    for length, count in counts.items():
        classes[length // step] += count
    most = max(classes.values())
    digits = len(str(high + step))
    lines = []
    for number, count in classes.items():
        name = f"{number * step:>{digits}}"
        name += f" to {number * step + step - 1:>{digits}}" if step > 1 else ""
        bar = "█" * round(_WIDTH * count / most) or ("▏" if count else "")
        lines.append(Text.assemble((f"  {name} ", "dim"), (bar, "cyan"), f" {format_count(count)}"))
    return Text("\n").join(lines)


def _print_tally(console: Console, title: str, tally: Mapping[str, Mapping[str, Any]]) -> None:
    """A line per reason: its count, and the place of the first case in full."""
    if not tally:
        return
    counts = {reason: format_count(entry["count"]) for reason, entry in tally.items()}
    digits, width = max(map(len, counts.values())), max(map(len, counts))
    console.print(Text(title, "bold"))
    for reason, entry in tally.items():
        place = f"  such as {entry['place']}" if entry["place"] else ""
        console.print(Text.assemble(f"  {counts[reason]:>{digits}}  {reason:<{width}}", (place, "dim")))


def _line(parts: Sequence[str]) -> Text:
    first, *rest = parts
    return Text.assemble((first, "bold"), *(piece for part in rest for piece in ((" · ", "dim"), part)))


def _board(size: object) -> str:
    return f"{size}x{size}"


def _share(count: int, of: int) -> str:
    return f"{format_count(count)} ({format_share(count / of)})"


def _won(games: int, of: int, won: int) -> tuple[str, str, str]:
    return format_count(games), format_share(games / of), format_share(won / games)
