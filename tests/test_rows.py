"""Tests name the rows of the requirements that they prove, by one marker a row."""

import ast
import re
from pathlib import Path


def test_every_row_is_a_letter_and_a_number() -> None:
    rows = []
    for path in sorted(Path(__file__).parent.rglob("test_*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.row":
                assert len(call.args) == 1, f"{path} line {call.lineno}: one row a marker"
                rows.append(ast.literal_eval(call.args[0]))
                assert re.fullmatch(r"[A-F][1-9]\d?", rows[-1]), f"{path} line {call.lineno}: {rows[-1]!r}"
    assert len(rows) > 400
