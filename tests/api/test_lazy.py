"""The content of `import hexlit`, and its cost."""

import subprocess
import sys

import pytest

import hexlit

HEAVY = (
    "torch",
    "numba",
    "numpy",
    "pandas",
    "hydra",
    "omegaconf",
    "matplotlib",
    "lightning",
    "rich",
)


def test_importing_hexlit_imports_nothing_heavy() -> None:
    program = (
        f"import hexlit, sys; dir(hexlit); print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_every_name_that_it_lists_is_there() -> None:
    assert {
        "train",
        "load",
        "Board",
        "Solver",
        "Search",
        "match",
        "games",
        "sweep",
        "doctor",
    } <= set(dir(hexlit))
    assert sorted(hexlit.__all__) == sorted(sum(hexlit._HOMES.values(), ()))
    assert all(getattr(hexlit, name) is not None for name in dir(hexlit))


def test_a_notebook_shows_a_mistake_as_one_line() -> None:
    assert hexlit.UsageError("board=99: too large")._render_traceback_() == [
        "UsageError: board=99: too large"
    ]


def test_a_name_that_is_not_there_says_which_are() -> None:
    with pytest.raises(AttributeError, match="tarin.*train"):
        hexlit.tarin  # noqa: B018
