"""Search rules of other packages: found by name, compiled into the kernels, kept on disk by source."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from numba import typeof

from hexlit.errors import UsageError
from hexlit.hex.jit import FOLDER, kernel_folder
from hexlit.search.config import SearchConfig
from hexlit.search.rule import compiled_params
from hexlit.settings import SEARCH_GROUP
from hexlit.testing.stand_ins import KeyedEvaluator
from tests.nets.brought_blocks import package
from tests.search.positions import random_games, search_games

COPIED = """
from dataclasses import dataclass, field
from typing import NamedTuple

from hexlit.search.config import PuctConfig, SearchConfig
from hexlit.search.rules import puct
from hexlit.search.rules.puct import DRAWS_MOVE, choose, prepare_root, root_result


@dataclass
class Config(SearchConfig):
    algorithm: str = "copied"
    copied: PuctConfig = field(default_factory=PuctConfig)


class Rule(NamedTuple):
    c_init: float
    c_base: float
    fpu_reduction: float
    noise_share: float
    noise_total: float


def compiled(settings, budgets):
    return Rule(**vars(settings))
"""
"""The rule of PUCT under another name."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Path]:
    """A folder whose modules `copied` and `partial`, and the example of the manual, are rules."""
    folder = tmp_path / "site"
    rules = ("copied = copied", "partial = partial", "stuck = stuck", "ucb = ucb")
    with package(folder, *rules, name="rules", group=SEARCH_GROUP):
        (folder / "copied.py").write_text(COPIED)
        (folder / "partial.py").write_text("def choose(tree, g, node, rule):\n    return -1\n")
        yield folder
        for name in ("copied", "partial", "stuck"):
            sys.modules.pop(name, None)


@pytest.mark.usefixtures("site")
def test_a_rule_from_outside_searches_as_the_same_rule_inside() -> None:
    games = random_games(seed=3, count=6, sizes=(4,))
    copied = import_module("copied").Config(simulations=40)
    inside = search_games(games, SearchConfig("puct", 40), KeyedEvaluator())
    outside = search_games(games, copied, KeyedEvaluator())
    for name in ("policy", "action", "value", "visits"):
        np.testing.assert_array_equal(getattr(outside, name), getattr(inside, name))


@pytest.mark.usefixtures("site")
def test_the_example_of_the_manual_finds_its_visits() -> None:
    games = random_games(seed=4, count=4, sizes=(5,))
    config = import_module("ucb").Config(simulations=30)
    found = search_games(games, config, KeyedEvaluator())
    assert found.visits.sum(1).tolist() == [30] * len(games)
    np.testing.assert_allclose(found.policy, found.visits / 30, atol=1e-6)


@pytest.mark.usefixtures("site")
def test_a_configuration_of_another_rule_takes_the_defaults() -> None:
    params = compiled_params(SearchConfig("ucb"), budgets=(8,), swap=False)
    assert params.rule == import_module("ucb").Rule(c=0.8)


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("name", "part"),
    [("partial", "its module has no Config, Rule, compiled"), ("none", "choose one of")],
)
def test_a_rule_that_cannot_be_is_refused_in_one_line(name: str, part: str) -> None:
    with pytest.raises(UsageError, match=f"search.algorithm={name}.*{part}"):
        compiled_params(SearchConfig(name), budgets=(8,), swap=False)


def test_machine_code_of_a_rule_lies_by_the_state_of_its_sources(site: Path) -> None:
    """And hexlit's own elsewhere: a package that is gone spoils nothing."""
    places = []
    for line in ("", "\nEDITED = True\n"):
        (site / "copied.py").write_text(COPIED + line)
        sys.modules.pop("copied", None)
        rule = compiled_params(import_module("copied").Config(), budgets=(8,), swap=False)
        places.append(kernel_folder([typeof(rule)]))
    inside = compiled_params(SearchConfig("puct"), budgets=(8,), swap=False)
    assert kernel_folder([typeof(inside)]) == FOLDER
    assert len({*places, FOLDER}) == 3


def test_a_patch_of_a_rule_of_hexlit_has_machine_code_of_its_own(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither does it meet that of the rule, nor is it there without the patch."""
    params = typeof(compiled_params(SearchConfig(algorithm="puct"), budgets=(8,), swap=False))
    assert kernel_folder([params]) == FOLDER
    rule = import_module("hexlit.search.rules.puct")
    with monkeypatch.context() as patched:
        patched.setattr(rule, "choose", import_module("partial").choose)
        first = kernel_folder([params])
        assert first != FOLDER
        (site / "partial.py").write_text("def choose(tree, g, node, rule):\n    return 0\n")
        assert kernel_folder([params]) not in (first, FOLDER)
    assert kernel_folder([params]) == FOLDER


def test_machine_code_of_a_rule_lies_by_the_state_of_all_that_it_imports(tmp_path: Path) -> None:
    """A helper in another module, in a package below another one, and a constant."""
    folder = tmp_path / "parts"
    helper = "from hexlit.hex.jit import uncounted_device_function as device\n"
    files = {
        "withparts/__init__.py": f"{COPIED}\nfrom withparts.bonus import bonus\n",
        "withparts/bonus.py": f"{helper}from .values import FLOOR\nimport mybonus\n",
        "withparts/values.py": "FLOOR = 0.05\n",
        "mybonus.py": "FACTOR = 1.0\n",
    }
    with package(folder, "copied = withparts", name="parts", group=SEARCH_GROUP):
        for name, text in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text + ("bonus = 1\n" if "bonus.py" in name else ""))
        rule = compiled_params(import_module("withparts").Config(), budgets=(8,), swap=False)
        places = {kernel_folder([typeof(rule)])}
        for name in files:
            with (folder / name).open("a") as file:
                file.write("\nEDITED = True\n")
            places.add(kernel_folder([typeof(rule)]))
        for name in ("withparts", "withparts.bonus", "withparts.values", "mybonus"):
            sys.modules.pop(name)
    assert len(places) == len(files) + 1
    assert FOLDER not in places


def test_a_helper_of_another_package_has_machine_code_of_its_own(site: Path) -> None:
    """Its signature has plain numbers alone."""
    (site / "copied.py").write_text(COPIED)
    function = import_module("copied").compiled
    first = kernel_folder([], function)
    (site / "copied.py").write_text(f"{COPIED}\nEDITED = True\n")
    assert FOLDER not in (first, kernel_folder([], function))
    assert kernel_folder([], function) != first
    assert kernel_folder([], compiled_params) == FOLDER


def test_a_line_of_a_rule_that_numba_cannot_compile_is_named(site: Path) -> None:
    text = COPIED.replace("DRAWS_MOVE, choose, ", "DRAWS_MOVE, ").replace("copied", "stuck")
    choose = "def choose(tree, g, node, rule):\n    return tree.nothing\n"
    (site / "stuck.py").write_text(f"{text}\n\n{choose}")
    line = text.count("\n") + 4
    games = random_games(seed=2, count=2, sizes=(3,))
    message = rf"stuck.py:{line}: Numba cannot compile this line \(Unknown attribute 'nothing'"
    with pytest.raises(UsageError, match=message):
        search_games(games, import_module("stuck").Config(), KeyedEvaluator())


def test_a_rule_that_runs_out_of_moves_is_refused(site: Path) -> None:
    """As one whose bounds are NaN."""
    text = COPIED.replace("DRAWS_MOVE, choose, ", "DRAWS_MOVE, ").replace("copied", "stuck")
    choose = "def choose(tree, g, node, rule):\n    return -1\n"
    (site / "stuck.py").write_text(f"{text}\n\n{choose}")
    config = import_module("stuck").Config(simulations=64)
    games = random_games(seed=2, count=2, sizes=(3,))
    with pytest.raises(UsageError, match="choose returned NONE at a node without an untried"):
        search_games(games, config, KeyedEvaluator())
