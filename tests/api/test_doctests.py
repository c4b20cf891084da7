"""The examples in the docstrings of what `import hexlit` gives."""

import doctest
import importlib
from pathlib import Path

import pytest

import hexlit
from hexlit import api

MODULES = sorted(
    f"api.{path.stem}"
    for path in Path(str(api.__file__)).parent.glob("*.py")
    if path.stem != "__init__"
)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", [*MODULES, "errors"])
def test_the_examples_do_what_they_say(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(importlib.import_module(f"hexlit.{name}"), optionflags=FLAGS)
    assert found.failed == 0


@pytest.mark.parametrize("name", hexlit.__all__)
def test_every_public_name_has_an_example_that_is_run(name: str) -> None:
    examples = doctest.DocTestParser().get_examples(getattr(hexlit, name).__doc__)
    assert any(
        not example.options.get(doctest.SKIP) for example in examples[1:]
    )  # the first imports hexlit
