"""The mistakes a user can make on the command line, each as one line that names the right value."""

import difflib
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from hydra import compose, initialize_config_module
from hydra._internal.utils import get_args_parser
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import QuotedString
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig
from omegaconf.errors import (
    InterpolationToMissingValueError,
    MissingMandatoryValue,
    OmegaConfBaseException,
    ValidationError,
)

CONFIG_PACKAGE = "hexlit.conf"
VERSION_BASE = "1.3"

_TYPES = {"Integer": "a whole number", "Float": "a number", "Boolean": "true or false", "Path": "a path"}


MOVED = {
    "accelerator.selfplay_games": "selfplay.batch",
    "accelerator.groups": "selfplay.groups",
}
"""Old keys, and their present names."""


def one_line(text: str) -> str:
    """`text` with every run of white space replaced by a single blank."""
    return " ".join(text.split())


def explain(error: Exception, config_name: str, argv: list[str]) -> str:
    """The mistake in the overrides `argv` of the command `config_name`, and the right value."""
    if isinstance(error, OverrideParseException):
        return _unreadable(error)
    if isinstance(error, MissingConfigException):
        return _unknown_option(error)
    cause = error.__cause__ if isinstance(error.__cause__, OmegaConfBaseException) else error
    message = str(error)
    result = re.match(r"Could not override '([^'@]+)", message)
    if result:
        return _unknown_key(result[1], config_name, argv)
    result = re.match(r"Ambiguous value for argument '([^=]+)=(.*)'", message)
    if result:
        key, value = result[1], result[2]
        return f"{key}={value}: a comma asks for a sweep: add --multirun, or quote: '{key}=\"{value}\"'"
    if isinstance(cause, MissingMandatoryValue | InterpolationToMissingValueError):
        return _missing(cause)
    if isinstance(cause, ValidationError):
        override = _override_of(message)
        key = (override or "").partition("=")[0]
        if key.startswith(f"{cause.full_key}."):
            return _unknown_key(key, config_name, argv)
        return _wrong_type(cause, override)
    if isinstance(cause, OmegaConfBaseException):
        where = f"{_override_of(message) or cause.full_key or config_name}: "
        return where + str(cause.msg or cause).splitlines()[0]
    if isinstance(error, OSError) and error.filename is not None:
        return f"{str(error.filename)[:100]}: {error.strerror}"
    if isinstance(error, TypeError | AttributeError | KeyError | IndexError):  # raised by Hydra for an odd value
        return _odd_value(argv) or f"{type(error).__name__}: {message}"
    return message


def _odd_value(argv: list[str]) -> str | None:
    """The first override that is neither the name of an option nor a list of names, where Hydra may expect one."""
    flags, _ = get_args_parser().parse_known_args(argv)
    for text in flags.overrides:
        try:
            override = OverridesParser.create().parse_override(text)
        except HydraException:
            continue
        value = override.value()
        entries = value if isinstance(value, list) else [value]
        if "." not in override.key_or_group and not all(isinstance(entry, str | QuotedString) for entry in entries):
            return f"{text[:100]}: expected the name of an option, such as those that --help lists"
    return None


def _override_of(message: str) -> str | None:
    result = re.match(r"Error merging override (.*)", message)
    return result[1] if result else None


def _unreadable(error: OverrideParseException) -> str:
    override = error.override
    if "=" not in override and not override.startswith("~"):
        return f"{override!r} is not an override: write KEY=VALUE or GROUP=OPTION"
    key, _, value = override.partition("=")
    reason = str(error).splitlines()[0].removeprefix("Error parsing override").strip()
    return f"cannot read {override!r} ({reason}); a value with special characters needs quotes: '{key}=\"{value}\"'"


def _unknown_option(error: MissingConfigException) -> str:
    group, _, option = (error.missing_cfg_file or "").rpartition("/")
    if error.options:
        return f"{group}={option}: there is no such option; choose from {', '.join(sorted(error.options))}"
    return str(error).split("Config search path:", maxsplit=1)[0]


def _missing(error: OmegaConfBaseException) -> str:
    key = error.full_key
    if isinstance(error, InterpolationToMissingValueError):
        result = re.search(r"Missing mandatory value: ([\w.]+)|'([\w.]+)'", str(error))
        key = (result[1] or result[2]) if result else key
    return f"{key} has no value: add {key}=VALUE"


def _wrong_type(error: ValidationError, override: str | None) -> str:
    message = str(error.msg or error).splitlines()[0]
    given = override or str(error.full_key)
    converted = re.search(r"could not be converted to (\w+)", message)
    if converted:
        if override is None and (value := re.match(r"Value '(.*)' of type", message)):
            given = f"{given}={value[1]}"
        return f"{given}: expected {_TYPES.get(converted[1], converted[1])}"
    if "is not a valid bool" in message:
        return f"{given}: expected {_TYPES['Boolean']}"
    choices = re.search(r"expected one of \[(.*)\]", message)
    if choices:
        return f"{given}: expected one of {choices[1]}"
    if "not Optional" in message:
        return f"{given}: null is not allowed here"
    return f"{given}: {message}"


def _unknown_key(key: str, config_name: str, argv: list[str]) -> str:
    if key in MOVED:
        return f"{key} is called {MOVED[key]} now"
    known = _known_keys(key, config_name, argv)
    parent, _, leaf = key.rpartition(".")
    while parent and parent not in known:
        parent = parent.rpartition(".")[0]
    prefix = f"{parent}." if parent else ""
    siblings = [name for name in known if name.startswith(prefix) and "." not in name[len(prefix) :]]
    if parent and not siblings:
        return f"unknown key {key!r}: {parent!r} is a single value"
    near = [prefix + name for name in difflib.get_close_matches(leaf, [name[len(prefix) :] for name in siblings], n=3)]
    if not near:  # a right name in the wrong place, lr for optimizer.lr; or a typo in a group's name, nte.depth
        near = [name for name in known if name.rpartition(".")[2] == leaf][:3]
    if not near and not parent:
        near = difflib.get_close_matches(key, known, n=3)
    if near:
        return f"unknown key {key!r}: did you mean {' or '.join(map(repr, near))}?"
    if not siblings:
        return f"unknown key {key!r}: --cfg job prints the keys there are"
    return f"unknown key {key!r}: {f'the keys of {parent!r}' if parent else 'the keys'} are {', '.join(siblings)}"


def _known_keys(key: str, config_name: str, argv: list[str]) -> list[str]:
    """Every dotted key of the command, composed without the override that failed.

    If others fail, it is composed with its groups alone, or with none.
    """
    flags, _ = get_args_parser().parse_known_args(argv)
    others = [override for override in flags.overrides if _key(override) != key]
    groups = [override for override in others if files(CONFIG_PACKAGE).joinpath(_key(override)).is_dir()]
    folder = [f"hydra.searchpath=['file://{Path(flags.config_dir).resolve()}']"] if flags.config_dir else []
    with_hydra = key.startswith("hydra")
    with initialize_config_module(CONFIG_PACKAGE, version_base=VERSION_BASE):
        for overrides in (others, groups, []):
            try:
                config = compose(flags.config_name or config_name, [*folder, *overrides], return_hydra_config=True)
            except (HydraException, OmegaConfBaseException):
                continue
            chosen = [group for group in config.hydra.runtime.choices if group.startswith("hydra/") == with_hydra]
            keys = [name for name in _dotted(config) if (name.partition(".")[0] == "hydra") == with_hydra]
            return list(dict.fromkeys([*keys, *chosen]))
    return []


def _key(override: str) -> str:
    try:
        return OverridesParser.create().parse_override(override).key_or_group
    except HydraException:
        return ""


def _dotted(config: DictConfig, prefix: str = "") -> Iterator[str]:
    for key, value in config.items_ex(resolve=False):
        name = f"{prefix}{key!s}"
        yield name
        if isinstance(value, DictConfig) and not (value._is_none() or value._is_missing() or value._is_interpolation()):
            yield from _dotted(value, f"{name}.")
