"""Every text that names an extra installs it by the same line, the one of the README."""

import re
import tomllib
from pathlib import Path

import pytest

from hexlit.extras import install

ROOT = Path(__file__).resolve().parents[2]
FILES = ("*.md", "docs/**/*.md", "hexlit/**/*.py", "tests/**/*.py", "examples/**/*.py", "conf/**/*.yaml", "notebooks/*")
OUTSIDE = (Path(__file__), ROOT / "hexlit" / "extras.py")
PIP = re.compile(r"""(\.venv/bin/python -m )?pip (?:un)?install\b(?!`)(.*)""")
GOOD = re.compile(r""" (?:-e \.(?!\[)|-e "\.\[([\w,]+)\]"|torch\b|optuna-dashboard\b)""")
"""hexlit or its extras from the clone; packages that it does not bring."""


def test_an_extra_is_installed_from_the_clone() -> None:
    assert install("web") == '.venv/bin/python -m pip install -e ".[web]"'


@pytest.mark.row("F14")
def test_every_install_line_is_the_one_of_the_readme() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    seen, wrong = 0, []
    for path in (path for pattern in FILES for path in sorted(ROOT.glob(pattern)) if path.is_file()):
        if path in OUTSIDE:
            continue
        for found in PIP.finditer(path.read_text(encoding="utf-8").replace('\\"', '"')):
            python, rest = found.groups()
            good = GOOD.match(rest)
            seen += 1
            if not python or good is None or not {*(good[1] or "").split(",")} - {""} <= extras.keys():
                wrong.append(f"{path.relative_to(ROOT)}: {found.group()}")
    assert wrong == []
    assert seen > 15
