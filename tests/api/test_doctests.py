"""The examples in the docstrings of what `import hexlit` gives."""

import doctest
import importlib
from pathlib import Path

import pytest

from hexlit import api

MODULES = sorted(path.stem for path in Path(str(api.__file__)).parent.glob("*.py") if path.stem != "__init__")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
WITHOUT = {  # what they show takes a training, a match or a look at the machine; the notebooks show it
    "frames",
    "loading",
    "machine",
    "models",
    "openings",
    "runs",
    "searched",
    "status",
}


@pytest.mark.row("F10")
@pytest.mark.parametrize("name", MODULES)
def test_the_examples_do_what_they_say(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(importlib.import_module(f"hexlit.api.{name}"), optionflags=FLAGS)
    assert found.failed == 0
    assert found.attempted > 0 or name in WITHOUT
