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

from hydra.errors import HydraException, MissingConfigException
from omegaconf import OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from hexlit.commands import run_folder
from hexlit.commands.composing import composed, flags_and_overrides, hydra_initialized, search_path
from hexlit.errors import UsageError

_OF_THE_MACHINE = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE),
    *(errno.ENAMETOOLONG, errno.ELOOP, errno.EMFILE, errno.ENFILE, errno.ENOTDIR, errno.EISDIR, errno.EEXIST),
}
"""Errors of the system that are no bugs of the program."""


def explain(error: Exception, config_name: str, argv: list[str]) -> str:
    """The mistake in the overrides `argv` of the command `config_name`, in one line."""
    message = str(error)
    if isinstance(error, UsageError):
        return " ".join(message.split())
    unmatched = re.match(r"Could not override '([^'@]*)", message)
    cause = error if isinstance(error, OmegaConfBaseException) else error.__cause__
    if isinstance(error, MissingConfigException) and error.options:
        group, _, option = (error.missing_cfg_file or "").rpartition("/")
        message = f"{group}={option}: there is no such option; choose from {', '.join(sorted(error.options))}"
    elif unmatched is not None:
        message = _unknown_key(unmatched[1], config_name, argv)
    elif isinstance(cause, MissingMandatoryValue):
        message = f"{cause.full_key} has no value: add {cause.full_key}=VALUE"
    elif isinstance(cause, OmegaConfBaseException):
        override = message.removeprefix("Error merging override ") if cause is not error else cause.full_key
        message = f"{override or config_name}: {str(cause.msg or cause).splitlines()[0]}"
    elif isinstance(error, OSError) and error.filename is not None:
        message = f"{str(error.filename)[:100]}: {error.strerror}"
    elif not isinstance(error, HydraException | OSError):  # from within Hydra, for an odd value
        message = f"{' '.join(argv)[:200]}: {message} ({type(error).__name__})"
    return " ".join(message.partition("Config search path:")[0].split())


def _unknown_key(key: str, config_name: str, argv: list[str]) -> str:
    """The message with the keys that are near, else with those beside it.

    The command is composed without the override that failed.
    """
    flags, words = flags_and_overrides(argv)
    others = [word for word in words if word.lstrip("+~").partition("=")[0] != key]
    with hydra_initialized():
        config = composed(config_name, others, search_path(flags.config_dir), lenient=True)
    keys = dict.fromkeys([*_dotted(OmegaConf.to_container(config, resolve=False)), *config.hydra.runtime.choices])
    known = [one for one in keys if one.startswith("hydra") == key.startswith("hydra")]
    parent, _, leaf = key.rpartition(".")
    near = [one for one in known if one.rpartition(".")[2] == leaf]
    near = near or difflib.get_close_matches(key, known, n=1, cutoff=0.75)
    if near:
        return f"unknown key {key!r}: did you mean {' or '.join(map(repr, near[:3]))}?"
    return f"unknown key {key!r}: the keys are {', '.join(one for one in known if one.rpartition('.')[0] == parent)}"


def _dotted(values: Any, prefix: str = "") -> Iterator[str]:
    for key, value in values.items():
        yield f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{prefix}{key}.")


def machine_error(error: BaseException | None) -> UsageError | None:
    """The machine's error behind `error`, with its file or the folder of this command; None for a bug."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _OF_THE_MACHINE:
            place = str(error.filename or run_folder.folder() or "this machine")
            return UsageError(f"{place[:100]}: {os.strerror(error.errno)}")
        error = error.__cause__
    return None
