"""Settings of a few words: all are declared, refused alike, and told by the help as the check knows them."""

import ast
import re
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from hexlit.choices import WORDS, check_word, check_words, one_of, some_of
from hexlit.commands import tasks
from hexlit.commands.manual.schema_places import places
from hexlit.commands.manual.schemas import schema_of
from hexlit.commands.manual.source import NotPlainError, class_of, value_of
from hexlit.errors import UsageError

PACKAGE = Path(__file__).resolve().parent.parent / "hexlit"
ALL = places([], [])[0]
SOUND: dict[str, dict[str, Any]] = {
    "GamesConfig": {"action": "stats", "source": "games"},
    "PlanConfig": {"rates": "pace"},
}
"""Settings without which a dataclass refuses all others."""
FOREIGN = "no such word"
OWN_MESSAGES = {("GamesConfig", "action")}
"""Checks whose message says more than the words."""


@dataclass
class Drink:
    """A few settings."""

    kind: str = one_of(("tea", "coffee"), "tea")
    size: str | None = one_of({"small": 1, "large": 2}, None)
    cup: str = one_of(("any", "cup:N"), "any")
    extras: list[str] = some_of(("milk", "sugar"), ["milk"])


@pytest.mark.parametrize(
    "drink",
    [
        Drink(),
        Drink("coffee", "large", "cup:12", ["sugar", "milk"]),
        Drink(extras=[]),
    ],
)
def test_declared_words_are_taken(drink: Drink) -> None:
    check_words(drink)


@pytest.mark.parametrize(
    ("drink", "message"),
    [
        (Drink("water"), "menu.kind=water: choose one of tea, coffee"),
        (Drink(kind=None), "menu.kind=None: choose one of tea, coffee"),  # type: ignore[arg-type]
        (Drink(size="huge"), "menu.size=huge: choose one of small, large"),
        (Drink(cup="cup:N"), "menu.cup=cup:N: choose one of any, cup:N"),
        (Drink(cup="cup:1x"), "menu.cup=cup:1x: choose one of any, cup:N"),
        (Drink(extras=["milk", "salt"]), "menu.extras=[milk,salt]: choose some of milk, sugar, each once"),
        (Drink(extras=["milk", "milk"]), "menu.extras=[milk,milk]: choose some of milk, sugar, each once"),
    ],
)
def test_others_are_refused_in_one_line(drink: Drink, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        check_words(drink, "menu")


def test_a_list_of_one_object_is_not_that_of_another() -> None:
    Drink().extras.append("sugar")
    assert Drink().extras == ["milk"]


def test_a_word_outside_of_a_dataclass_is_checked_alike() -> None:
    check_word("split", "train", ("train", "test"))
    with pytest.raises(UsageError, match="^split=all: choose one of train, test$"):
        check_word("split", "all", ("train", "test"))


def nested(kind: type, prefix: str = "") -> Iterator[tuple[str, type]]:
    """The dataclass and all within it, each with the beginning of its keys."""
    yield prefix, kind
    for one in fields(kind):
        made: Any = one.default_factory
        if isinstance(made, type) and is_dataclass(made):
            yield from nested(made, f"{prefix}{one.name}.")


def configurations() -> list[tuple[str, type]]:
    """All dataclasses of all commands and tasks, by the beginning of their keys."""
    found = [pair for place in ALL.values() for pair in nested(tasks.found(place))]
    return sorted({*found}, key=lambda pair: (pair[1].__module__, pair[1].__qualname__, pair[0]))


CONFIGURATIONS = configurations()
every_configuration = pytest.mark.parametrize(
    ("prefix", "kind"), CONFIGURATIONS, ids=[f"{prefix}{kind.__name__}" for prefix, kind in CONFIGURATIONS]
)


@every_configuration
def test_every_declared_word_is_checked_and_no_other_check_has_words(prefix: str, kind: type) -> None:
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
        if words is None or (kind.__name__, one.name) in OWN_MESSAGES:
            assert not re.search(r"choose (one|some) of", said), said
        else:
            assert said.startswith(f"{prefix}{one.name}="), said
            assert ", ".join(words) in said


@every_configuration
def test_no_dataclass_looks_for_a_text_among_words_by_itself(prefix: str, kind: type) -> None:
    module = kind.__module__
    found = class_of(module, kind.__name__)
    assert found is not None
    for node in ast.walk(found[1]):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.NotIn):
            try:
                words = value_of(node.comparators[0], module)
            except NotPlainError:
                continue
            field = node.left.attr if isinstance(node.left, ast.Attribute) else ""
            alike = all(isinstance(word, str) for word in words)
            assert not alike or (kind.__name__, field) in OWN_MESSAGES, ast.unparse(node)


def test_one_module_alone_writes_the_message() -> None:
    """So no check of words has an undeclared list: what lies outside of dataclasses calls `check_word`."""
    writes = re.compile(r"choose ((one|some) of )?\{|must be (one|some) of \{")
    found = [path for path in sorted(PACKAGE.rglob("*.py")) if writes.search(path.read_text(encoding="utf-8"))]
    assert [path.relative_to(PACKAGE).as_posix() for path in found if path.parts[-2] != "manual"] == ["choices.py"]


@pytest.mark.parametrize("place", ALL.values(), ids=ALL)
def test_the_help_reads_the_words_that_the_check_knows(place: str) -> None:
    known = {
        f"{prefix}{one.name}": one.metadata[WORDS]
        for prefix, kind in nested(tasks.found(place))
        for one in fields(kind)
        if WORDS in one.metadata
    }
    assert {one.key: one.choices for one in schema_of(place).settings if one.choices} == known
