"""Search spaces, written as Hydra's overrides: the parameters of a sweep and the values it may try
for each.

The grammar extends that of Hydra's Optuna sweeper. Hydra's parser reads it. Optuna is imported
only when a space is built, since Hydra imports this module whenever it looks for its plugins.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import (
    IntervalSweep,
    Override,
    Quote,
    QuotedString,
    RangeSweep,
    ValueType,
)
from hydra.errors import HydraException

from hexlit.errors import UsageError

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution, CategoricalChoiceType
    from optuna.trial import FrozenTrial

# Read back as the same string without quotes. Words that mean a number, a truth value or null are
# left out.
_PLAIN = re.compile(r"(?!(?:null|true|false|nan|inf)\Z)[A-Za-z_/][A-Za-z0-9_./-]*", re.IGNORECASE)
_SPECIAL_IN_KEYS = re.compile(r"[\\()\[\]{}:=, \t]")


def parse_space(arguments: Sequence[str]) -> tuple[dict[str, "BaseDistribution"], dict[str, str]]:
    """The searched and the fixed: (parameter -> distribution, parameter -> its override).

    - `interval(a, b)`: any number from a to b. Hydra makes both ends floats; write `int(interval(a,
      b))` for whole numbers. `tag(log, interval(a, b))` searches on a logarithmic scale.
    - `range(a, b, step)`: the numbers a, a + step ... up to **and including** b when a step lands
      on it. Hydra's Optuna sweeper does the same, while Hydra's basic sweeper leaves b out. The
      numbers are whole when all three are.
    - `choice(x, y)` or `x,y`: one of these. A list or a dictionary is kept as the text that Hydra
      reads.
    - `shuffle(range(a, b, step))`: the same numbers as a choice, b left out. Their order stays as
      written, since a resumed study has to find the same choices.
    - everything else, such as `board=4`, `+key=3` or `~key`, is fixed.

    Names keep their prefix and package (`+key`, `db@pkg`). A later argument for the same parameter
    replaces an earlier one, fixed or searched; a value that is added first and changed later is
    added with the later value.

    Raises:
        UsageError: an argument cannot be read, or asks for something that cannot be searched.
    """
    parser = OverridesParser.create()
    space: dict[str, BaseDistribution] = {}
    fixed: dict[str, str] = {}
    for argument in arguments:
        override = _parse(parser, argument)
        name = override.get_key_element()
        bare = name.lstrip("~+")
        for earlier in [key for key in (*space, *fixed) if key.lstrip("~+") == bare]:
            if earlier.startswith("~") and not name.startswith("~"):
                continue  # delete first, then set again
            if earlier.startswith("+") and name == bare:
                name = earlier
                argument = f"+{argument}"
            space.pop(earlier, None)
            fixed.pop(earlier, None)
        if override.is_sweep_override():
            space[name] = _distribution(override)
        else:
            fixed[name] = argument
    return space, fixed


def arguments_of(params: Mapping[str, Any]) -> list[str]:
    """The overrides in `hydra.sweeper.params`: text as it is, other values as Hydra writes them."""
    return [
        f"{name}={value if isinstance(value, str) else _text(name, value)}"
        for name, value in params.items()
    ]


def render(name: str, value: Any) -> str:
    """The override that sets `name` to a value of its distribution, so that Hydra reads the very
    same value back.

    A string that is itself a list, a dictionary or a quoted string in Hydra's grammar is passed on
    as such.
    """
    if isinstance(value, str) and _is_literal(value):
        return f"{name}={value}"
    return f"{name}={_text(name, value)}"


def quoted(text: str) -> str:
    """`text` as Hydra reads a string, whatever its content."""
    quote = Quote.double if "'" in text and '"' not in text else Quote.single
    return QuotedString(text, quote).with_quotes()


def grid_of(space: Mapping[str, "BaseDistribution"]) -> dict[str, list[Any]]:
    """All values of every parameter, both ends included; raises `UsageError` where they cannot be
    counted.
    """
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    grid: dict[str, list[Any]] = {}
    for name, distribution in space.items():
        if isinstance(distribution, CategoricalDistribution):
            grid[name] = list(distribution.choices)
            continue
        # Optuna has these three distributions.
        assert isinstance(distribution, FloatDistribution | IntDistribution)
        low = _decimal(distribution.low)
        step = distribution.step or (1 if distribution.single() else None)
        if step is None:
            raise UsageError(
                f"{name}: a grid cannot hold every number of an interval; give a range or choices"
            )
        count = int((_decimal(distribution.high) - low) // _decimal(step)) + 1
        grid[name] = [
            type(distribution.low)(low + index * _decimal(step)) for index in range(count)
        ]
    return grid


def _parse(parser: OverridesParser, argument: str) -> Override:
    try:
        return parser.parse_overrides([argument])[0]
    except HydraException as error:
        lines = [line.strip() for line in str(error).splitlines()]
        reason = [
            line
            for line in lines
            if line.strip("^") and not line.startswith(("Error parsing", "See https"))
        ]
        name = argument.split("=", 1)[0]
        raise UsageError(
            f"{name}: cannot read the override {argument!r}: {' '.join(reason)}"
        ) from None


def _distribution(override: Override) -> "BaseDistribution":
    """The distribution of a sweep."""
    name = override.get_key_element()
    sweep: Any = override._value
    if override.value_type == ValueType.GLOB_CHOICE_SWEEP:
        raise UsageError(f"{name}: glob() cannot be searched; list the options with choice(...)")
    log = "log" in sweep.tags
    if isinstance(sweep, IntervalSweep):
        return _numbers(name, sweep.start, sweep.end, None, log=log)
    if isinstance(sweep, RangeSweep):
        return _range(name, sweep, log=log)
    return _categories(name, sweep.list, log=log)


def _range(name: str, sweep: RangeSweep, *, log: bool) -> "BaseDistribution":
    """The numbers of a range, which may run downwards; if it is to be shuffled, as choices and
    without its stop.
    """
    ends = sweep.start or 0, sweep.stop or 0, sweep.step
    if not all(map(math.isfinite, ends)) or not ends[2] or (ends[1] - ends[0]) * ends[2] < 0:
        raise UsageError(f"{name}: the range from {ends[0]} to {ends[1]} by {ends[2]} is empty")
    number = int if all(isinstance(end, int) for end in ends) else float
    start, stop, step = map(_decimal, ends)
    if sweep.shuffle:
        numbers = [
            number(start + index * step) for index in range(math.ceil((stop - start) / step))
        ]
        return _categories(name, numbers, log=log)
    low, high = sorted((start, start + (stop - start) // step * step))
    return _numbers(name, number(low), number(high), number(abs(step)), log=log)


def _decimal(number: float) -> Decimal:
    """The number as it is written, so that 0.3 is three steps of 0.1."""
    return Decimal(repr(number))


def _numbers(name: str, low: Any, high: Any, step: Any, *, log: bool) -> "BaseDistribution":
    """Numbers from `low` to `high`; whole ones when all arguments are. `step` None: all numbers
    between.
    """
    from optuna.distributions import FloatDistribution, IntDistribution

    if not (math.isfinite(low) and math.isfinite(high)):
        raise UsageError(f"{name}: the ends must be finite, not {low} and {high}")
    try:
        if all(isinstance(number, int) for number in (low, high, step or 1)):
            return IntDistribution(low, high, log=log, step=step or 1)
        return FloatDistribution(low, high, log=log, step=step)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None


def _categories(name: str, elements: Iterable[Any], *, log: bool = False) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution

    if log:
        raise UsageError(f"{name}: choices have no logarithmic scale; use tag(log, interval(...))")
    choices = [_choice(name, element) for element in elements]
    if len(set(choices)) < len({(type(choice), choice) for choice in choices}) or not choices:
        raise UsageError(f"{name}: {choices} must be one choice or more, each different to Optuna")
    return CategoricalDistribution(choices)


def _choice(name: str, element: Any) -> "CategoricalChoiceType":
    """`element` as Optuna can store it. A string that would be taken for a literal is stored with
    its quotes.
    """
    if isinstance(element, QuotedString):
        element = element.text
    if isinstance(element, str):
        return quoted(element) if _is_literal(element) else element
    if isinstance(element, Sequence | Mapping):
        return _text(name, element)
    if element is None or isinstance(element, bool | int | float):
        return element
    raise UsageError(f"{name}: a {type(element).__name__} cannot be a choice")


def _is_literal(text: str) -> bool:
    """Whether Hydra reads `text` as a list, a dictionary or a quoted string."""
    if text[:1] not in ("[", "{", "'", '"'):
        return False
    try:
        parsed = OverridesParser.create().parse_override(f"x={text}")
    except HydraException:
        return False
    return isinstance(parsed._value, list | dict | QuotedString)


def _text(name: str, value: Any) -> str:
    """`value` as Hydra's grammar writes it; raises `UsageError` with the parameter's name if that
    is impossible.
    """
    if value is None:
        return "null"
    if isinstance(value, QuotedString):
        return value.with_quotes()
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) else quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return repr(float(value))
    if isinstance(value, Mapping):
        return (
            "{" + ",".join(f"{_key(key)}:{_text(name, each)}" for key, each in value.items()) + "}"
        )
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return "[" + ",".join(_text(name, each) for each in value) + "]"
    raise UsageError(f"{name}: Hydra has no way to write a {type(value).__name__}, {value!r}")


def _key(key: Any) -> str:
    """A key of a dictionary, which Hydra does not let be quoted."""
    return _SPECIAL_IN_KEYS.sub(r"\\\g<0>", key) if isinstance(key, str) else _text("", key)


def distributions_of_study(trials: Iterable["FrozenTrial"]) -> dict[str, "BaseDistribution"]:
    """The searched parameters in order of appearance; a range that changed covers all its
    versions.
    """
    result: dict[str, Any] = {}
    for trial in trials:
        for name, distribution in trial.distributions.items():
            new: Any = distribution
            old = result.setdefault(name, new)
            if type(new) is type(old) and new != old and hasattr(old, "low"):
                low = min(old.low, new.low)
                high = max(old.high, new.high)
                result[name] = type(old)(low, high, log=old.log)
    return result


def describe_parameter(name: str, distribution: Any) -> dict[str, Any]:
    """The parameter `name` with a distribution of Optuna: `kind` (`float`, `int` or `categorical`)
    and range.
    """
    if hasattr(distribution, "choices"):
        return {
            "name": name,
            "kind": "categorical",
            "log": False,
            "low": None,
            "high": None,
            "choices": distribution.choices,
        }
    return {
        "name": name,
        "kind": type(distribution).__name__.removesuffix("Distribution").lower(),
        "log": distribution.log,
        "low": float(distribution.low),
        "high": float(distribution.high),
        "choices": (),
    }
