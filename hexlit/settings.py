"""Declared settings: default, range, unit and words of a field in one line, and the one check that
refuses all else.

>>> from dataclasses import dataclass, is_dataclass
>>> @dataclass
... class Tea(Settings, section="tea"):
...     kind: str = one_of(("green", "black"), "green")
...     minutes: float = number(3.0, "(0, 10]", unit="minutes")
>>> Tea(minutes=12)
Traceback (most recent call last):
...
hexlit.errors.UsageError: tea.minutes=12: must be above 0, up to 10 (minutes)

The help, the completion and the reference read the same declarations, from the source: the words
and the default are constants or their names. Installed packages may add words to a field with a
group of entry points.
"""

import re
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from importlib.util import find_spec
from typing import Any, ClassVar, SupportsFloat

from hexlit.errors import UsageError

WORDS, GROUP, RANGE = "words", "group", "range"
"""Keys of a field's metadata: its words, its group of entry points, its `Interval`."""
NAMED = ".NAME"
"""End of a word that stands for the names of a module: `torch.optim.NAME`."""
NUMBERED = ":N"
"""End of a word that stands for many: `cuda:N` for `cuda:0`, `cuda:1` and so on."""
SEEDS = "[0, 4294967295]"
"""Interval of a seed: 32 bits."""
TASK_GROUP = "hexlit.tasks"
"""Group of the tasks of other packages; each entry point leads to a
`hexlit.commands.tasks.TaskEntry`.
"""
SEARCH_GROUP = "hexlit.searches"
"""Group of their search rules for `search=NAME`; each entry point leads to a module, see
`hexlit.search.rules`.
"""
OPTIMIZER_GROUP, SCHEDULE_GROUP = "hexlit.optimizers", "hexlit.schedules"
"""Groups of their optimizers and schedules; each entry point leads to a subclass of
`torch.optim.Optimizer`, or to a function from the progress of a run to a factor of the rate.
"""
TARGET_GROUP = "hexlit.targets"
"""Group of their further targets for `targets.NAME`; each entry point leads to a module, see
`hexlit.selfplay.targets`.
"""
BLOCK_GROUP = "hexlit.blocks"
"""Group of their residual blocks for `net.block`; each entry point leads to a callable, see
`hexlit.nets.outside_blocks`.
"""


@dataclass(frozen=True)
class Interval:
    """An interval of numbers in the notation of mathematics, such as `[0, 1)`; `inf` and `-inf` are
    no members.
    """

    text: str
    unit: str = ""

    def __contains__(self, value: Any) -> bool:
        if not isinstance(value, SupportsFloat):
            return False
        low, high, number = *map(float, self.text[1:-1].split(",")), float(value)
        inside = low < number < high or (number == low < high and self.text[0] == "[")
        return inside or (number == high and self.text[-1] == "]")

    def __str__(self) -> str:
        low, high = (part.strip() for part in self.text[1:-1].split(","))
        lower = f"{low} or more" if self.text[0] == "[" else f"above {low}"
        upper = f"up to {high}" if self.text[-1] == "]" else f"below {high}"
        if low == "-inf" and high == "inf":
            words = "finite"
        elif high == "inf":
            words = lower
        elif self.text[0] + self.text[-1] == "[]":
            words = f"from {low} to {high}"
        else:
            words = f"{lower}, {upper}"
        return f"{words} ({self.unit})" if self.unit else words


def number(default: float | Sequence[float] | None, interval: str, *, unit: str = "") -> Any:
    """A field that takes a number within the `interval`, such as `[1, inf)`, or a list of them if
    the `default` is one.

    It also takes None where its type does.
    """
    metadata = {RANGE: Interval(interval, unit)}
    if isinstance(default, Sequence):
        return field(default_factory=lambda: list(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def one_of(words: Iterable[str], default: str | None, *, group: str = "") -> Any:
    """A field that takes one of the `words`; None, too, where that is the `default`.

    With a `group` of entry points it also takes the names that installed packages have there.
    """
    return field(default=default, metadata={WORDS: tuple(words), GROUP: group})


def some_of(words: Iterable[str], default: Sequence[str]) -> Any:
    """A field that takes a list of the `words`, each at most once."""
    return field(default_factory=lambda: list(default), metadata={WORDS: tuple(words)})


class Settings:
    """Base of the dataclasses of settings: a value outside its declared range or words is refused
    when one is made.

    A subclass names its `section` of the configuration, such as `search.gumbel`; the top has none.
    It defines `__post_init__` only for what several fields decide together, and calls this one
    first.
    """

    section: ClassVar[str] = ""

    def __init_subclass__(cls, section: str | None = None) -> None:
        if section is not None:
            cls.section = section

    def __post_init__(self) -> None:
        for one in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            key = f"{self.section}.{one.name}".lstrip(".")
            value = getattr(self, one.name)
            if RANGE in one.metadata:
                check_number(key, value, one.metadata[RANGE])
            elif WORDS in one.metadata:
                _check_words(key, value, one)
            elif is_dataclass(one.default_factory) and not is_dataclass(value):  # type: ignore[unreachable]
                raise UsageError(
                    f"{key}={value}: is a section; set its keys, such as {key}.NAME=VALUE"
                )


def check_number(key: str, value: Any, interval: Interval) -> None:
    """Refuse a value of the setting `key`, or one of a list of values, outside the `interval`.

    Raises:
        UsageError: it lies outside; names key, value and interval.
    """
    if isinstance(value, Sequence) and not isinstance(value, str):
        if any(one not in interval for one in value):
            raise UsageError(f"{key}=[{','.join(map(str, value))}]: each must be {interval}")
    elif value is not None and value not in interval:
        raise UsageError(f"{key}={value!r}: must be {interval}")


def check_numbers(interval: str, **values: float | None) -> None:
    """Refuse arguments of a function outside the `interval`, such as `[1, inf)`; raises
    `UsageError`.
    """
    for name, value in values.items():
        check_number(name, value, Interval(interval))


def _check_words(key: str, value: Any, one: Field[Any]) -> None:
    words = one.metadata[WORDS]
    if one.default is not MISSING:
        if value is not None or one.default is not None:
            check_word(key, value, words, one.metadata.get(GROUP, ""))
    elif not set(value) <= set(words) or len(set(value)) < len(value):
        raise UsageError(
            f"{key}=[{','.join(map(str, value))}]: choose some of {', '.join(words)}, each once"
        )


def check_word(key: str, value: str, words: Iterable[str], group: str = "") -> None:
    """Refuse a `value` of the setting `key` that is none of the `words` and no name in the `group`
    of entry points.

    Raises:
        UsageError: it is none.
    """
    known = tuple(words)
    if any(fits(value, word) for word in known):
        return
    names = entry_points_of(group).names if group else set()
    if not any(value == name for name in names):  # a list has no place in a set
        choices = ", ".join([*known, *sorted(names - {*known})])
        if not choices:
            raise UsageError(f"{key}={value}: no installed package brings one")
        others = "; no installed package brings another" if group else ""
        raise UsageError(f"{key}={value}: choose one of {choices}{others}")


def loaded(group: str, name: str, key: str) -> Any:
    """What the entry point `name` of `group` leads to; `key` is the setting that names it.

    Raises:
        UsageError: it cannot be imported.
    """
    point = entry_points_of(group)[name]
    try:
        return point.load()
    except Exception as error:  # code of another package
        place = traceback.extract_tb(error.__traceback__)[-1]
        message = " ".join(str(error).split())
        raise UsageError(
            f"{key}={name}: {point.value} cannot be loaded ({type(error).__name__}: {message}, "
            f"{place.filename}:{place.lineno})"
        ) from error


def fits(value: str, word: str) -> bool:
    """Whether `value` is the `word`, or one of those that it stands for."""
    if word.endswith(NUMBERED) and isinstance(value, str):
        return (
            re.fullmatch(rf"{re.escape(word.removesuffix(NUMBERED))}:\d+", value, re.ASCII)
            is not None
        )
    if word.endswith(NAMED) and isinstance(value, str):
        module, _, name = value.rpartition(".")
        return module == word.removesuffix(NAMED) and name.isidentifier()
    return value == word


@cache
def entry_points_of(group: str) -> EntryPoints:
    """The entry points of `group`, none of them loaded; `names` has their names.

    A name alone leads to a part, and only to one of an installed package: no setting and no file
    names a module to import. Reading them takes a tenth of a second, so hexlit looks among its own
    names first.
    """
    return entry_points(group=group)


def install(extra: str) -> str:
    """The command for a clone with the environment of the README; no index of packages has
    hexlit.
    """
    return f'.venv/bin/python -m pip install -e ".[{extra}]"'


def require(setting: str, packages: Mapping[str, str], extra: str) -> None:
    """Refuse `setting` if packages are missing; none is imported, since some take seconds.

    Args:
        setting: the setting that needs them, such as `task=classify`.
        packages: module -> name of its package.
        extra: the extra with all of them.

    Raises:
        UsageError: one of them is not installed.
    """
    missing = [name for module, name in packages.items() if find_spec(module) is None]
    if missing:
        raise UsageError(f"{setting}: needs {', '.join(missing)}; {install(extra)}")
