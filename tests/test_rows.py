"""Tests name the rows of the requirements that they prove, by one marker a row."""

import ast
import re
from pathlib import Path

import pytest

FILES = sorted(Path(__file__).parent.rglob("test_*.py"))


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(Path(__file__).parent)) for path in FILES])
def test_every_row_is_a_letter_and_a_number(path: Path) -> None:
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    for call in calls:
        if ast.unparse(call.func) == "pytest.mark.row":
            assert not call.keywords
            (row,) = [ast.literal_eval(argument) for argument in call.args]
            assert re.fullmatch(r"[A-F][1-9]\d?", row), f"line {call.lineno}: {row!r}"


def test_there_are_markers() -> None:
    assert sum(path.read_text().count("@pytest.mark.row(") for path in FILES) > 300
