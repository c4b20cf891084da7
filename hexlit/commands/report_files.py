"""Reports written next to their subjects: a run of any task, a match, a strength run, or several
runs.
"""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from hexlit.arena.tournament import GameLog, recorded
from hexlit.commands.tasks import known_tasks
from hexlit.errors import UsageError
from hexlit.files import read_json, write_text_atomic
from hexlit.hex.record import GameRecord
from hexlit.hex.records.game import as_record
from hexlit.reporting.comparison import comparison_page
from hexlit.reporting.html import render
from hexlit.reporting.match import match_page
from hexlit.reporting.page import PAGE_FILE, Page
from hexlit.reporting.run import run_page
from hexlit.reporting.run_files import RunFiles, read_run
from hexlit.reporting.run_groups import ComparedRun, grouped
from hexlit.reporting.strength import strength_page

log = logging.getLogger(__name__)

SWEEP, MATCH, STRENGTH, RUN, MULTIRUN = "sweep", "match", "strength", "run", "multirun"
"""Kinds of folders that have reports."""
MARKS = {
    SWEEP: ("sweep.json", "study.journal"),
    MATCH: ("match.json", "games.csv"),
    STRENGTH: ("strength.json", "parts.json"),
    RUN: ("summary.json", "metrics.csv", "phases.csv"),
    MULTIRUN: ("multirun.yaml",),
}
"""Files that identify a folder of each kind; the first has its results."""


def kind_of(folder: Path) -> str:
    """The kind of the `folder`'s content.

    Raises:
        UsageError: it holds nothing with a report.
    """
    for kind, names in MARKS.items():
        if any((folder / name).is_file() for name in names):
            return kind
    if (folder / ".hydra").is_dir():
        return RUN
    what = (
        "there is no such folder"
        if not folder.is_dir()
        else "holds no run, sweep, match or strength run"
    )
    raise UsageError(f"folder={folder}: {what}")


def newest(runs: Path) -> Path:
    """The folder below `runs`, in `NAME/RUN`, with the latest change, of any kind.

    Raises:
        UsageError: there is none.
    """
    marks: list[Path] = []
    for names in MARKS.values():
        for name in names:
            marks += runs.glob(f"*/*/{name}")
    if not marks:
        raise UsageError(
            f"folder=null: there is no run and no sweep below {runs}; name the folder of one"
        )
    return max(marks, key=lambda path: path.stat().st_mtime_ns).parent


def write_report(
    folder: Path,
    output: str | Path | None = None,
    *,
    epochs: Sequence[int] = (),
    price: float | None = None,
) -> tuple[Path, Sequence[str]]:
    """Write the page of the run, match or strength run in `folder`.

    Args:
        folder: as above.
        output: the file; None: `report.html` in the folder.
        epochs: numbers of epochs for the table of costs of a run.
        price: of an hour, for that table.

    Returns:
        The file, and what of the run's files cannot be read, one line each.

    Raises:
        UsageError: the folder holds nothing with a report, or its results have values of other
            types.
        OSError: the file cannot be written.
    """
    path = Path(output or folder / PAGE_FILE)
    kind = kind_of(folder)
    unread = list[str]()
    with own_values(folder, kind):
        if kind == RUN:
            files = read_run(folder)
            unread += files.unread
            page = run_report(files, path, epochs, price)
        else:
            page = (
                match_report(folder)
                if kind == MATCH
                else strength_page(document_of(folder, STRENGTH))
            )
        text = render(page)
    write_text_atomic(path, text)
    return path, unread


@contextmanager
def own_values(folder: Path, kind: str) -> Iterator[None]:
    """Refuse results in `folder` that no run, match or strength run writes, where the block fails
    on them.

    Raises:
        UsageError: it does so.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, UsageError) and str(folder) in str(error):
            raise
        reason = f"{type(error).__name__}: {error}"[:200]
        raise UsageError(
            f"{folder}: {MARKS[kind][0]} holds values that no {kind} writes ({reason})"
        ) from error


def write_beside(folder: Path) -> Path | None:
    """As `write_report`, at the end of the report's subject, which must not fail because of it.

    None, and one warning, if it could not be written.
    """
    try:
        return write_report(folder)[0]
    except Exception as error:  # a full disk, a missing font: the results are on disk already
        reason = f"{type(error).__name__}: {error}"
        log.warning(
            "report.html was not written (%s); hexlit report %s tries again", reason, folder
        )
        return None


def run_report(
    files: RunFiles, path: Path, epochs: Sequence[int] = (), price: float | None = None
) -> Page:
    """The report of a run, with the sections of its task, for the file `path`."""
    links = {}
    for sweep in (files.folder / "..", files.folder / "../.."):
        if (sweep / "sweep.json").is_file():
            page = os.path.relpath(sweep / PAGE_FILE, path.parent)
            links["The sweep"] = Path(page).as_posix()
            break
    sections = []
    entry = known_tasks().get(files.task)
    if entry is not None and entry.report is not None:
        sections = resolve_name(entry.report)(files)
    return run_page(files, sections, epochs=epochs, price=price, links=links)


def document_of(folder: Path, kind: str) -> dict[str, Any]:
    """The results of the run, match or strength run in `folder`.

    Raises:
        UsageError: it has not ended, or they cannot be read.
    """
    document = read_json(folder / MARKS[kind][0])
    if not document:
        command = "train" if kind == RUN else kind
        raise UsageError(
            f"{folder}: has no whole {MARKS[kind][0]}; continue with hexlit {command} resume={folder}"
        )
    return document


def match_report(folder: Path) -> Page:
    """The report of the match in `folder`; `UsageError` if it has not ended, or its files cannot be
    read.
    """
    document = document_of(folder, MATCH)
    games = games_of(folder / "games.csv", document["board"])
    return match_page(document, games, str(folder), read_run(folder).settings())


def games_of(path: Path, size: int) -> list[GameRecord]:
    """The games of a match, by players and pairs; none without a file."""
    games = GameLog(path, size).games if path.is_file() else []
    return [as_record(recorded(one, size), number) for number, one in enumerate(games)]


def write_comparison(
    folders: Sequence[Path],
    output: str | Path | None = None,
    *,
    by: Sequence[str] = (),
    epochs: Sequence[int] = (),
    price: float | None = None,
) -> Path:
    """Write a page with the runs in `folders` side by side to the file `output`; None:
    `comparison.html` here.

    Runs with equal settings `by` are one setting over seeds; see `grouped`.

    Raises:
        UsageError: fewer than two folders, or one that holds no run; or a name in `by` is no
            setting.
    """
    output = Path(output or "comparison.html")
    if len(folders) < 2:
        raise UsageError(f"runs=[{', '.join(map(str, folders))}]: two runs or more are compared")
    for folder in folders:
        if kind_of(folder) != RUN:
            raise UsageError(f"runs: {folder} holds a {kind_of(folder)}; only runs are compared")
    result = [*map(read_run, folders)]
    several = len({files.name for files in result}) < len(result)
    runs: list[ComparedRun] = []
    for files in result:
        page = files.folder / PAGE_FILE
        name = f"{files.name} {files.folder}" if several else files.name
        link = Path(os.path.relpath(page, output.parent)).as_posix() if page.is_file() else None
        runs.append(ComparedRun(name, files, link))
    groups = grouped(runs, by)
    with own_values(Path(" ".join(map(str, folders))), RUN):
        text = render(comparison_page(groups, epochs=epochs, price=price))
    write_text_atomic(output, text)
    return output
