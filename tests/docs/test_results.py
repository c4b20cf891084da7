"""The pages of results are those that `docs/results/make.py` writes from the data files."""

import datetime
import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.pages import ROOT, name_of, prose

RESULTS = ROOT / "docs" / "results"
DATA = sorted((RESULTS / "data").glob("*.json"))
MOST_PAGES = 12
MOST_LINES = 80


def module(name: str) -> ModuleType:
    """A program of `docs/results`."""
    spec = importlib.util.spec_from_file_location(f"results_{name}", RESULTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


def test_the_pages_are_those_that_make_writes() -> None:
    pages = module("make").pages()
    for path, text in pages.items():
        assert path.read_text(encoding="utf-8") == text, (
            f"{name_of(path)}: run docs/results/make.py"
        )
    written = {*pages, RESULTS / "index.md"}
    assert {*RESULTS.glob("*.md")} == written
    assert len(pages) <= MOST_PAGES


def test_the_pages_are_short() -> None:
    lines = {
        path.name: len(path.read_text(encoding="utf-8").splitlines())
        for path in RESULTS.glob("*.md")
    }
    assert max(lines.values()) <= MOST_LINES, lines


@pytest.mark.parametrize("path", DATA, ids=lambda path: path.stem)
def test_a_data_file_names_its_origin(path: Path) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    by_hand = path.name.startswith("recorded-")
    assert {*content} - {"recorded"} == {"command", "machine", "date", "commit", "result"}
    assert by_hand == ("recorded" in content)
    assert content["command"].startswith(("hexlit ", "python "))
    assert content["machine"]
    assert content["result"]
    if by_hand:
        assert re.fullmatch(r"\d{4}-\d\d", content["date"])
    else:
        assert datetime.date.fromisoformat(content["date"])
        assert re.fullmatch(r"[0-9a-f]{8}", content["commit"])


def test_every_measured_file_has_the_command_of_measure() -> None:
    measurements = module("measure").MEASUREMENTS
    for path in DATA:
        if not path.name.startswith("recorded-"):
            assert path.stem in measurements, path.name


def test_every_data_file_is_on_a_page() -> None:
    links = [line for page in RESULTS.glob("*.md") for _, line in prose(page)]
    text = "\n".join(links)
    assert [path.name for path in DATA if f"(data/{path.name})" not in text] == []
