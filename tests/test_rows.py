"""Tests name the rows of docs/requirements.md that they prove, by one marker a row."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "requirements.md"
ROW = re.compile(r"^\| ([A-G][1-9]\d?) \| (.+) \|$", re.MULTILINE)
COMMAND = re.compile(r"`(hexlit|pytest) [^`]+`")


@cache
def listed() -> dict[str, str]:
    """Id -> promise."""
    rows: list[tuple[str, str]] = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert len(rows) == len(dict(rows)), "an id stands for one promise"
    return dict(rows)


@cache
def proved() -> dict[str, list[str]]:
    """Id -> places of its markers."""
    places: dict[str, list[str]] = {}
    for row, place in markers():
        places.setdefault(row, []).append(place)
    return places


def markers() -> Iterator[tuple[str, str]]:
    """The row of each marker, and its place."""
    for path in sorted(Path(__file__).parent.rglob("test_*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.row":
                place = f"{path.relative_to(ROOT)}:{call.lineno}"
                assert len(call.args) == 1, f"{place}: one row a marker"
                yield ast.literal_eval(call.args[0]), place


def test_every_row_that_a_test_names_is_listed() -> None:
    unknown = {row: places for row, places in proved().items() if row not in listed()}
    assert not unknown, f"add them to {PAGE.name}: {unknown}"
    assert sum(map(len, proved().values())) > 400


def test_every_listed_row_has_a_test_or_names_a_command() -> None:
    bare = [
        row
        for row, promise in listed().items()
        if row not in proved() and not COMMAND.search(promise)
    ]
    assert not bare, f"no test names {', '.join(bare)}"
