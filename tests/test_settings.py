"""Declared settings: each is refused outside its words or its range,
and told by the help as the check knows it.
"""

import importlib
import re
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from hydra.core.config_store import ConfigStore

from hexlit.cli import COMMANDS
from hexlit.commands import tasks
from hexlit.errors import UsageError
from hexlit.settings import RANGE, WORDS, Interval, Settings, number, one_of, some_of
from hexlit.tasks.hex.config import HexTrainConfig
from hexlit.tasks.run_config import RunConfig

PACKAGE = Path(__file__).resolve().parent.parent / "hexlit"
SOUND: dict[str, dict[str, Any]] = {
    "GamesConfig": {"action": "stats", "source": "games"},
    "PlanConfig": {"rates": "pace"},
}
"""Settings without which a dataclass refuses all others."""
FOREIGN = "no such word"


@dataclass
class Drink(Settings, section="menu"):
    """A few settings."""

    kind: str = one_of(("tea", "coffee"), "tea")
    size: str | None = one_of({"small": 1, "large": 2}, None)
    cup: str = one_of(("any", "cup:N"), "any")
    extras: list[str] = some_of(("milk", "sugar"), ["milk"])
    minutes: float | None = number(3.0, "(0, 10]", unit="minutes")
    pieces: list[int] = number([1], "[1, inf)")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"kind": "coffee", "size": "large", "cup": "cup:12", "extras": ["sugar", "milk"]},
        {"extras": [], "pieces": []},
        {"minutes": 10, "pieces": [1, 2]},
        {"minutes": None},
    ],
)
def test_what_was_declared_is_taken(given: dict[str, Any]) -> None:
    Drink(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": "water"}, "kind=water: choose one of tea, coffee"),
        ({"kind": None}, "kind=None: choose one of tea, coffee"),
        ({"size": "huge"}, "size=huge: choose one of small, large"),
        ({"cup": "cup:N"}, "cup=cup:N: choose one of any, cup:N"),
        ({"cup": "cup:1x"}, "cup=cup:1x: choose one of any, cup:N"),
        ({"extras": ["milk", "salt"]}, "extras=[milk,salt]: choose some of milk, sugar, each once"),
        ({"extras": ["milk", "milk"]}, "extras=[milk,milk]: choose some of milk, sugar, each once"),
        ({"minutes": 0}, "minutes=0: must be above 0, up to 10 (minutes)"),
        ({"minutes": float("nan")}, "minutes=nan: must be above 0, up to 10 (minutes)"),
        ({"pieces": [2, 0]}, "pieces=[2,0]: each must be 1 or more"),
    ],
)
def test_others_are_refused_in_one_line(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"^menu.{re.escape(message)}$"):
        Drink(**given)


@pytest.mark.parametrize(
    ("interval", "inside", "outside", "words"),
    [
        ("[1, inf)", (1, 1e300), (0, 0.999, inf, nan), "1 or more"),
        ("(0, inf)", (1e-300,), (0, -1, inf), "above 0"),
        ("[0, 1]", (0, 1), (-1e-9, 1.0001), "from 0 to 1"),
        ("[0, 1)", (0, 0.999), (1, -1), "0 or more, below 1"),
        ("(0, 1)", (0.5,), (0, 1), "above 0, below 1"),
        ("(-inf, inf)", (-1e300, 0), (inf, -inf, nan), "finite"),
    ],
)
def test_an_interval(
    interval: str, inside: tuple[float, ...], outside: tuple[float, ...], words: str
) -> None:
    assert all(value in Interval(interval) for value in inside)
    assert not any(value in Interval(interval) for value in outside)
    assert str(Interval(interval)) == words


def nested(kind: type, prefix: str = "") -> Iterator[tuple[str, type]]:
    """The dataclass and all within it, each with the beginning of its keys."""
    yield prefix, kind
    for one in fields(kind):
        made: Any = one.default_factory
        if isinstance(made, type) and is_dataclass(made):
            yield from nested(made, f"{prefix}{one.name}.")


def configurations() -> list[tuple[str, type]]:
    """All dataclasses of all commands and tasks, by the beginning of their keys."""
    for module in (
        *(f"hexlit.commands.{name}" for name in COMMANDS),
        "hexlit.commands.htp_program",
    ):
        importlib.import_module(module)
    tasks.register(["task=forecast,classify"])
    store = ConfigStore.instance()
    names = [name for name in store.list("") if name.endswith("_schema.yaml")]
    found = [pair for name in names for pair in nested(store.load(name).node._metadata.object_type)]
    return sorted({*found}, key=lambda pair: (pair[1].__module__, pair[1].__qualname__, pair[0]))


CONFIGURATIONS = configurations()
every_configuration = pytest.mark.parametrize(
    ("prefix", "kind"),
    CONFIGURATIONS,
    ids=[f"{prefix}{kind.__name__}" for prefix, kind in CONFIGURATIONS],
)


@every_configuration
def test_every_declared_word_is_checked_and_no_other_check_has_words(
    prefix: str, kind: type
) -> None:
    """An odd text is refused by the words of its field, or for another reason than words."""
    for one in fields(kind):
        words = one.metadata.get(WORDS)
        if words is None and one.type not in (str, str | None, list[str]):
            continue
        odd = [FOREIGN] if one.default is MISSING else FOREIGN
        try:
            kind(**{**SOUND.get(kind.__name__, {}), one.name: odd})
        except UsageError as error:
            said = str(error)
        else:
            said = ""
        if words is None:
            assert not re.search(r"choose (one|some) of", said), said
        else:
            assert said.startswith(f"{prefix}{one.name}="), said
            assert ", ".join(words) in said


@every_configuration
def test_every_declared_range_is_checked_and_holds_the_default(prefix: str, kind: type) -> None:
    for one in fields(kind):
        if RANGE not in one.metadata:
            continue
        low, high = map(float, one.metadata[RANGE].text[1:-1].split(","))
        for value in (low - 1, high + 1, nan):
            odd = [value] if one.default is MISSING else value
            with pytest.raises(UsageError, match=rf"^{re.escape(prefix + one.name)}="):
                kind(**{**SOUND.get(kind.__name__, {}), one.name: odd})


def test_a_section_is_no_value() -> None:
    with pytest.raises(UsageError, match="^evaluation=5: is a section"):
        HexTrainConfig(evaluation=5)  # type: ignore[arg-type]


def test_one_module_alone_writes_the_message() -> None:
    """So no check of words has an undeclared list:
    what lies outside of dataclasses calls `check_word`.
    """
    writes = re.compile(r"choose ((one|some) of )?\{|must be (one|some) of \{")
    found = [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if writes.search(path.read_text(encoding="utf-8"))
    ]
    assert [path.relative_to(PACKAGE).as_posix() for path in found] == ["settings.py"]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "a\u202eb", "a\u2028", "a\n"])
def test_a_run_has_the_name_of_a_folder(name: str) -> None:
    with pytest.raises(UsageError, match="^name="):
        RunConfig(name=name)
    assert RunConfig(name="hex-5.1_é").name == "hex-5.1_é"
