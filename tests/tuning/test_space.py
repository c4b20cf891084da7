"""Search spaces in Hydra's grammar: what each override means,
and that every value finds its way back.
"""

import subprocess
import sys
import warnings
from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.errors import HydraException
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from hexlit.errors import UsageError
from hexlit.tuning.space import grid_of, parse_space, render

TRICKY = st.text(st.sampled_from("\\'\"[]{}(),:=$ \t\nab1.-+~#é")) | st.text(
    st.characters(codec="utf-8")
)
NUMBERS = st.integers() | st.floats(allow_nan=False)
SCALARS = st.none() | st.booleans() | NUMBERS | TRICKY


def read(override: str) -> Any:
    return OverridesParser.create().parse_override(override).value()


def same(one: Any, other: Any) -> bool:
    return bool(type(one) is type(other) and one == other)


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("x=interval(1, 10)", FloatDistribution(1.0, 10.0)),
        ("x=tag(log, interval(1e-4, 1e-2))", FloatDistribution(1e-4, 1e-2, log=True)),
        ("x=int(interval(1.5, 8.2))", IntDistribution(1, 8)),
        ("x=tag(log, int(interval(1, 64)))", IntDistribution(1, 64, log=True)),
        ("x=range(1,8)", IntDistribution(1, 8)),
        ("x=range(1,8,3)", IntDistribution(1, 7, step=3)),
        ("x=range(10,1,-2)", IntDistribution(2, 10, step=2)),
        ("x=tag(log, range(1,8))", IntDistribution(1, 8, log=True)),
        ("x=range(0.1,1,0.1)", FloatDistribution(0.1, 1.0, step=0.1)),
        ("x=range(1,0,-0.25)", FloatDistribution(0.0, 1.0, step=0.25)),
        ("x=shuffle(range(1,5))", CategoricalDistribution([1, 2, 3, 4])),
        ("x=shuffle(range(0,0.4,0.1))", CategoricalDistribution([0.0, 0.1, 0.2, 0.3])),
        ("net.channels=choice(32,64)", CategoricalDistribution([32, 64])),
        ("net=small,tower", CategoricalDistribution(["small", "tower"])),
        ("net.blocks=[1],[2,'x y']", CategoricalDistribution(["[1]", "[2,'x y']"])),
        (
            "x=null,2,2.5,true,'true',word",
            CategoricalDistribution([None, 2, 2.5, True, "true", "word"]),
        ),
        ("x=tag(size, choice(1,2))", CategoricalDistribution([1, 2])),
        ("+x=1,2", CategoricalDistribution([1, 2])),
        ("db@pkg=a,b", CategoricalDistribution(["a", "b"])),
    ],
)
def test_an_override_becomes_its_distribution(argument: str, expected: BaseDistribution) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        space, fixed = parse_space([argument])
    assert fixed == {}
    assert list(space) == [argument.split("=")[0]]
    found = space[argument.split("=")[0]]
    assert found == expected
    if isinstance(found, CategoricalDistribution) and isinstance(expected, CategoricalDistribution):
        assert [type(choice) for choice in found.choices] == [
            type(choice) for choice in expected.choices
        ]


def test_what_is_no_sweep_is_fixed() -> None:
    arguments = ["board=4", "+k=3", "++f=1e-3", "~gone", "~net=small", "l=[1,x]", "empty="]
    space, fixed = parse_space([*arguments, "cast=str(true)", "lr=interval(0,1)"])
    assert list(space) == ["lr"]
    assert [*fixed.values()] == [*arguments, "cast=str(true)"]


@pytest.mark.parametrize(
    ("arguments", "searched", "fixed"),
    [
        (["x=interval(0,1)", "x=0.5"], [], {"x": "x=0.5"}),
        (["x=0.5", "x=interval(0,1)"], ["x"], {}),
        (["x=interval(0,1)", "++x=0.5"], [], {"++x": "++x=0.5"}),
        (["x=interval(0,1)", "~x"], [], {"~x": "~x"}),
        (["~x", "+x=1,2"], ["+x"], {"~x": "~x"}),
        (["+x=1", "x=2"], [], {"+x": "+x=2"}),
    ],
)
def test_the_later_of_two_wins(
    arguments: list[str], searched: list[str], fixed: dict[str, str]
) -> None:
    space, found = parse_space(arguments)
    assert list(space) == searched
    assert found == fixed


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("net.lr=choice()", "net.lr"),
        ("net.lr=interval(5,1)", "low <= high"),
        ("net.lr=interval(0,inf)", "finite"),
        ("net.lr=tag(log,interval(0,1))", "low"),
        ("net.lr=tag(log,range(1,8,2))", "step"),
        ("net.lr=tag(log,choice(1,2))", "logarithmic"),
        ("net.lr=range(1,8,0)", "empty"),
        ("net.lr=range(5,1)", "empty"),
        ("net.lr=1,interval(1,2)", "IntervalSweep"),
        ("net.lr=glob(*)", "glob"),
        ("net.lr=1,1.0", "different to Optuna"),
        ("net.lr==", "override"),
        ("net.lr=nothing(1)", "Unknown function"),
    ],
)
def test_a_mistake_names_its_parameter(argument: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        parse_space(["a=1", argument])
    message = str(caught.value)
    assert "net.lr" in message
    assert "\n" not in message


def is_literal(text: str) -> bool:
    """Whether Hydra reads the bare text as a list, a dictionary or a quoted string."""
    if text[:1] not in tuple("[{'\""):
        return False
    try:
        return isinstance(
            OverridesParser.create().parse_override(f"x={text}")._value, list | dict | QuotedString
        )
    except HydraException:
        return False


@given(SCALARS.filter(lambda value: not (isinstance(value, str) and is_literal(value))))
def test_hydra_reads_back_what_render_writes(value: Any) -> None:
    override = render("+a.b@c", value)
    assert override.startswith("+a.b@c=")
    assert same(read(override), value)


@given(st.lists(TRICKY, min_size=1, max_size=3), st.sampled_from(Quote))
def test_every_string_that_can_be_written_is_searched_as_itself(
    texts: list[str], quote: Quote
) -> None:
    """Also one that looks like a list or like a quoted string."""
    space, _ = parse_space(
        ["x=choice(" + ",".join(QuotedString(text, quote).with_quotes() for text in texts) + ")"]
    )
    distribution = space["x"]
    assert isinstance(distribution, CategoricalDistribution)
    assert [read(render("x", choice)) for choice in distribution.choices] == texts


KEYS = st.from_regex(r"[ab:,-]([ab :,-]*[ab:,-])?", fullmatch=True)  # without blanks at their ends
LISTS = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=6)


@given(st.lists(LISTS, max_size=3) | st.dictionaries(KEYS, LISTS))
def test_lists_and_dictionaries_are_searched_as_themselves(value: Any) -> None:
    space, _ = parse_space([f"{render('x', value)},1"])
    choices = space["x"]
    assert isinstance(choices, CategoricalDistribution)
    assert isinstance(choices.choices[0], str)
    assert read(render("x", choices.choices[0])) == read(render("x", value)) == value
    again, _ = parse_space([f"x={choices.choices[0]},1"])
    assert again["x"] == choices


@pytest.mark.parametrize("value", [{1, 2}, object(), b"x"])
def test_what_hydra_has_no_word_for_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match=r"^net\.x: "):
        render("net.x", value)


def test_a_grid_holds_every_value_and_both_ends() -> None:
    arguments = "a=range(1,8,3) b=range(0.1,0.5,0.1) c=x,null d=int(interval(1,3)) e=interval(2,2) f=range(0,1,0.3)"
    space, _ = parse_space(arguments.split())
    assert grid_of(space) == {
        "a": [1, 4, 7],
        "b": [0.1, 0.2, 0.3, 0.4, 0.5],
        "c": ["x", None],
        "d": [1, 2, 3],
        "e": [2.0],
        "f": [0.0, 0.3, 0.6, 0.9],
    }
    for name, values in grid_of(space).items():
        assert all(space[name]._contains(space[name].to_internal_repr(value)) for value in values)
    with pytest.raises(UsageError, match=r"^net\.lr: "):
        grid_of({"net.lr": FloatDistribution(0.0, 1.0)})


def test_looking_for_plugins_does_not_import_optuna() -> None:
    code = "import sys, hexlit.tuning.space; print(*(m for m in ('optuna', 'torch', 'numpy') if m in sys.modules))"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "\n"
    )
