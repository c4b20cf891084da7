"""Errors that are no bugs, each told in one line.

A mistake on the command line: the argument, and the words of Hydra or OmegaConf. An error of the machine during a
command: the file, and the words of the system.
"""

import difflib
import errno
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from hexlit.commands import run_folder
from hexlit.commands.composing import composed, flags_and_overrides, hydra_initialized, search_path
from hexlit.errors import UsageError

_OF_THE_MACHINE = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE),
    *(errno.ENAMETOOLONG, errno.ELOOP, errno.EMFILE, errno.ENFILE),
}
"""Errors of the system that are no bugs of the program."""
_LONGEST = 100
"""Longest name in a message, in characters."""


def one_line(text: str) -> str:
    """`text` with every run of white space replaced by a single blank."""
    return " ".join(text.split())


def explain(error: Exception, config_name: str, argv: list[str]) -> str:
    """The mistake in the overrides `argv` of the command `config_name`, and the right value."""
    if isinstance(error, UsageError):
        return str(error)
    message = str(error)
    unmatched = re.match(r"Could not override '([^'@]*)", message)
    cause = error if isinstance(error, OmegaConfBaseException) else error.__cause__
    if isinstance(error, OverrideParseException):
        return _unreadable(error.override)
    if isinstance(error, MissingConfigException) and error.options:
        group, _, option = (error.missing_cfg_file or "").rpartition("/")
        return f"{group}={option}: there is no such option; choose from {', '.join(sorted(error.options))}"
    if unmatched is not None:
        return _unknown_key(unmatched[1], config_name, argv)
    if isinstance(cause, MissingMandatoryValue):
        return f"{cause.full_key} has no value: add {cause.full_key}=VALUE"
    if isinstance(cause, OmegaConfBaseException):
        override = message.removeprefix("Error merging override ") if cause is not error else cause.full_key
        return f"{override or config_name}: {str(cause.msg or cause).splitlines()[0]}"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{str(error.filename)[:100]}: {error.strerror}"
    if isinstance(error, HydraException | OSError):
        return message.partition("Config search path:")[0]
    return f"{' '.join(argv)[:200]}: {message} ({type(error).__name__})"  # from within Hydra, for an odd value


def _unreadable(override: str) -> str:
    key, equals, value = override.partition("=")
    if not equals or not re.fullmatch(r"[+~]{0,2}[\w$][\w$./:@-]*", key, re.ASCII):
        return f"{override!r} is not an override: write KEY=VALUE or GROUP=OPTION"
    return f"cannot read {override!r}: a value with special characters needs quotes, '{key}=\"{value}\"'"


def _unknown_key(key: str, config_name: str, argv: list[str]) -> str:
    if not key:
        return _unreadable("=")
    known = _known_keys(key, config_name, argv)
    parent, _, leaf = key.rpartition(".")
    beside = {one.rpartition(".")[2]: one for one in known if one.rpartition(".")[0] == parent}
    near = [one for one in known if one.rpartition(".")[2] == leaf]
    near = near or [beside[one] for one in difflib.get_close_matches(leaf, beside)]
    near = near or difflib.get_close_matches(key, known, cutoff=0.75)
    if near:
        return f"unknown key {key!r}: did you mean {' or '.join(map(repr, near[:3]))}?"
    if not beside:
        return f"unknown key {key!r}: --cfg job prints the keys there are"
    of_parent = f" of {parent!r}" if parent else ""
    return f"unknown key {key!r}: the keys{of_parent} are {', '.join(beside.values())}"


def _known_keys(key: str, config_name: str, argv: list[str]) -> list[str]:
    """Every dotted key of the command, and its groups, composed without the override that failed."""
    flags, words = flags_and_overrides(argv)
    others = [word for word in words if word.lstrip("+~").partition("=")[0] != key]
    try:
        with hydra_initialized():
            config = composed(flags.config_name or config_name, others, search_path(flags.config_dir), lenient=True)
    except (HydraException, OmegaConfBaseException):  # the command needs an option that the line does not name
        return []
    values: Any = OmegaConf.to_container(config, resolve=False)
    known = dict.fromkeys([*_dotted(values), *config.hydra.runtime.choices])
    return [one for one in known if one.startswith("hydra") == key.startswith("hydra") and "._" not in one]


def _dotted(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in values.items():
        yield f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{prefix}{key}.")


def machine_error(error: BaseException) -> UsageError | None:
    """The machine's error behind `error`; None for a bug of the program."""
    for result in _chain(error):
        if isinstance(result, OSError) and result.errno in _OF_THE_MACHINE:
            return UsageError(f"{_named(result)}{os.strerror(result.errno)}")
    if any(isinstance(result, FileNotFoundError) for result in _chain(error)):
        try:
            run_folder.check()  # a file may be missing because its folder is missing
        except UsageError as gone:
            return gone
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _named(error: OSError) -> str:
    """The file of the error, else the folder of this command."""
    name = error.filename if error.filename is not None else run_folder.folder()
    if name is None:
        return ""
    text = os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else str(name)
    return f"{text if len(text) <= _LONGEST else text[:_LONGEST] + '...'}: "
