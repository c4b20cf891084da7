"""The shared part of every command: a small Hydra application whose user errors are one line and
exit code 2.

A command is three things: a dataclass that is the schema of its configuration, a YAML in `conf/`
that names the schema in its defaults, and a task that takes the settings:

    def solve(settings: SolveConfig) -> None:           # __post_init__ has refused values out of
    range
        ...

    main = command("solve", SolveConfig, solve)         # conf/solve.yaml: defaults: [solve_schema,
    ..., _self_]
"""

import errno
import functools
import logging
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pkgutil import resolve_name
from typing import Any, TypeVar, cast
from unittest.mock import patch

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.errors import CompactHydraException, HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException
from yaml import MarkedYAMLError, YAMLError

from hexlit.commands import composing, run_folder
from hexlit.commands.composing import Composed
from hexlit.commands.early_checks import refuse_missing
from hexlit.commands.run_folder import Refused
from hexlit.commands.typed_words import as_typed, can_be_read, near_keys
from hexlit.errors import UsageError, error_of_foreign_code
from hexlit.interruption import is_interruption
from hexlit.settings import SEARCH_GROUP, entry_points_of
from hexlit.training.config import NOT_TAKEN

Schema = TypeVar("Schema")
Arguments = list[str]
Prepare = Callable[[Arguments], Arguments]
"""Rewrites the arguments before Hydra sees them; may raise `UsageError`."""

FINE = 0
BUG = 1
MISTAKE = 2
INTERRUPTED = 130
_SYSTEM_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE}
"""Errors of the system that are no bugs of the program, even where they name no file."""


def register_schema(name: str, schema: type[Any]) -> None:
    """Make the dataclass `schema` known to Hydra as `<name>_schema`, the first entry in the
    defaults of a YAML.
    """
    ConfigStore.instance().store(name=f"{name}_schema", node=schema, provider="hexlit")


def command(
    name: str,
    schema: type[Any],
    task: Callable[..., object] | str,
    *,
    prepare: Prepare = list,
    whole: bool = False,
) -> Callable[[Arguments], int]:
    """The `main` of a command: `run` with a `task` that takes its settings. Hydra knows the schema
    from now on.

    A task that imports torch is named, `module:function` in this package, and imported when it is
    called. A task that returns False ends with exit code 1. If `whole` it also takes the `Composed`
    command line.
    """
    register_schema(name, schema)

    def main(argv: Arguments) -> int:
        """Run the command with Hydra overrides; returns the exit code."""
        ends: list[object] = []

        def typed_task(composed: Composed) -> None:
            settings = typed(composed.config, schema)
            refuse_missing(settings)
            function = resolve_name(f"hexlit.commands.{task}") if isinstance(task, str) else task
            ends.append(function(settings, composed) if whole else function(settings))

        return run(typed_task, name, argv, prepare=prepare) or int(False in ends)

    return main


def run_beside(
    task: Callable[[Any, Any], None],
    schema: type[Any],
    config_name: str,
    argv: Arguments,
    own: tuple[Any, ...],
) -> int:
    """As `run`, with a task that takes further settings, and those of a recipe of `hexlit train`.

    Args:
        task: gets both.
        schema: of the recipe.
        config_name: the YAML of the recipe's part.
        argv: the arguments for both.
        own: YAML, schema and keys of the own part.
    """
    asked: list[Any] = []

    def split_arguments(argv: Arguments) -> Arguments:
        config, rest = composing.settings_apart(argv, own[2], own[0])
        if not any(argument.startswith("-") for argument in rest):  # --cfg needs none
            asked.append(typed(config, own[1]))
        return rest

    return run(
        lambda composed: task(asked[0], typed(composed.config, schema)),
        config_name,
        argv,
        prepare=split_arguments,
    )


def typed(config: DictConfig, schema: type[Schema]) -> Schema:
    """The composed configuration as an instance of `schema`, nested groups as instances of theirs.

    Raises:
        UsageError: a value is missing or of the wrong type, or a `__post_init__` refused it.
    """
    try:
        _refuse_other_keys(config)
        result = OmegaConf.to_object(config)
    except OmegaConfBaseException as error:
        raise UsageError(explain(error, "", [])) from error
    return cast(Schema, result)


def _refuse_other_keys(config: DictConfig, prefix: str = "") -> None:
    """Refuse keys that Hydra's +key=value has added or ~key has removed: the settings are those of
    the schema.
    """
    schema: Any = OmegaConf.get_type(config)
    names = {field.name for field in fields(schema)}
    keys = {*map(str, config)}
    for key in sorted(names ^ keys):
        if reason := _not_taken(f"{prefix}{key}"):
            raise UsageError(reason)
        known = ", ".join(sorted(names))
        raise UsageError(
            f"{prefix}{key}: settings are neither added nor removed; the keys here are {known}"
        )
    for key in keys:
        if is_dataclass(OmegaConf.get_type(config, key)):
            _refuse_other_keys(config[key], f"{prefix}{key}.")


def _not_taken(key: str) -> str:
    """Why a run does not take the argument `key` of Lightning's Trainer; empty for other keys."""
    section, _, name = key.partition(".")
    if section == "trainer" and name in NOT_TAKEN:
        return f"{key}: a run does not take it: {NOT_TAKEN[name]}"
    return ""


def run(
    task: Callable[[Composed], None], config_name: str, argv: Arguments, *, prepare: Prepare = list
) -> int:
    """Compose `conf/<config_name>.yaml` with the overrides `argv`, run `task` on it, and return the
    exit code.

    `prepare` may rewrite the arguments first, and raise `UsageError`.

    Hydra's own command line works: `--multirun`, `--cfg job`, `--config-dir`, `--info`, completion.

    Returns:
        0; 2 after a mistake of the user, reported in one line on stderr; 1 after a bug, with its
        traceback; 130 after Ctrl-C. With HYDRA_FULL_ERROR=1 a mistake keeps its traceback too.
    """
    logging.raiseExceptions = False  # a log on a full disk is no reason for a traceback

    code = BUG
    arguments = argv
    wants_traceback = os.environ.get("HYDRA_FULL_ERROR") == "1"
    try:
        arguments = prepare(argv)
        _, overrides = composing.flags_and_overrides(arguments)
        # Argparse wants them in one piece.
        flags = [word for word in arguments if word not in overrides]
        composing.register_searches(overrides)
        arguments = [*flags, *map(as_typed, overrides)]
        # Hydra raises errors then, instead of printing them and leaving.
        with (
            patch.object(sys, "argv", [sys.argv[0], *arguments]),
            patch.dict(os.environ, HYDRA_FULL_ERROR="1"),
        ):
            hydra.main(f"pkg://{composing.CONFIG_PACKAGE}", config_name, composing.VERSION_BASE)(
                _watched(task)
            )()
        code = FINE
    except (KeyboardInterrupt, SystemExit) as stop:
        code = stop.code if isinstance(stop, SystemExit) and isinstance(stop.code, int) else BUG
        code = INTERRUPTED if is_interruption(stop) else code
    except (Refused, Exception) as stop:
        error = stop.error if isinstance(stop, Refused) else stop
        mistake = stop.mistake if isinstance(stop, Refused) else is_mistake(error)
        code = MISTAKE if mistake else BUG
        if wants_traceback or not mistake:
            traceback.print_exception(error)
        if mistake:
            name = config_name.removesuffix("_task")
            print(f"hexlit {name}: {explain(error, config_name, arguments)}", file=sys.stderr)
    finally:
        run_folder.leave(refused=code == MISTAKE)
    return code


def _watched(task: Callable[[Composed], None]) -> Callable[[DictConfig], None]:
    """`task`, whose errors Hydra neither prints nor wraps; a job of a sweep fails alone, and the
    others go on.
    """

    @functools.wraps(task)
    def watched(config: DictConfig) -> None:
        composed = Composed(config, HydraConfig.instance().cfg.hydra)  # type: ignore[union-attr]  # set by now
        try:
            task(composed)
        except Exception as error:
            mistake = mistake_of_task(error)
            if not composed.is_job:
                raise Refused(mistake or error, mistake=mistake is not None) from error
            if mistake is None or mistake is error:
                raise
            raise mistake from error

    return watched


def mistake_of_task(error: Exception) -> Exception | None:
    """The user's mistake in `error` from a task; None for a bug, of hexlit or of the user's own
    code.
    """
    if isinstance(error, UsageError | MissingMandatoryValue):
        return error
    if isinstance(error, UnicodeError):
        return None if error_of_foreign_code(error) else error
    return machine_error(error) or _shared_memory_error(error)


def _shared_memory_error(error: BaseException | None) -> UsageError | None:
    """The mistake if loading processes had too little shared memory; torch reports it by a message
    alone.

    Lightning's own clean-up may fail after it, so the errors before `error` count too.
    """
    earlier: list[BaseException] = []
    while error is not None and error not in earlier:  # a chain of contexts may be a circle
        if isinstance(error, RuntimeError) and "shared memory" in str(error):
            rule = "set accelerator.workers=0, or enlarge /dev/shm (docker run --shm-size=1g)"
            return UsageError(
                f"accelerator.workers: the loading processes lack shared memory; {rule}"
            )
        earlier.append(error)
        error = error.__cause__ or error.__context__
    return None


def is_mistake(error: Exception) -> bool:
    """Whether an error outside the task, while composing, is the user's."""
    if not isinstance(error, UsageError) and error_of_foreign_code(error) is not None:
        return False
    if isinstance(
        error, UsageError | CompactHydraException | OmegaConfBaseException | OSError | YAMLError
    ):
        return True
    # Hydra raises a plain ValueError on flags and on group=3, and other errors where it expects a
    # name.
    frames = traceback.extract_tb(error.__traceback__)
    return any(
        f"{os.sep}{package}{os.sep}" in frames[-1].filename for package in ("hydra", "omegaconf")
    )


def explain(error: Exception, config_name: str, argv: list[str]) -> str:
    """The mistake in the overrides `argv` of the command `config_name`, in one line."""
    message = str(error)
    if isinstance(error, UsageError):
        return " ".join(message.split())
    unmatched = re.match(r"Could not override '([^'@]*)", message)
    words = composing.flags_and_overrides(argv)[1] if isinstance(error, HydraException) else []
    unreadable = [word for word in words if not can_be_read(word)]
    cause = error if isinstance(error, OmegaConfBaseException) else error.__cause__
    if isinstance(error, MissingConfigException) and error.options:
        group, _, option = (error.missing_cfg_file or "").rpartition("/")
        brought = entry_points_of(SEARCH_GROUP).names if group == "search" else set()
        options = ", ".join(sorted({*error.options, *brought}))
        message = f"{group}={option}: there is no such option; choose from {options}"
    elif unreadable:
        rule = "settings are written KEY=VALUE, in quotes where the value has special characters"
        message = f"{unreadable[0]}: {rule}"
    elif unmatched is not None:
        message = _unknown_key(unmatched[1], config_name, argv)
    elif isinstance(cause, MissingMandatoryValue):
        message = f"{cause.full_key} has no value: add {cause.full_key}=VALUE"
    elif isinstance(cause, OmegaConfBaseException):
        override = (
            message.removeprefix("Error merging override ")
            if cause is not error
            else cause.full_key
        )
        reason = str(cause.msg or cause).splitlines()[0]
        message = f"{override or config_name}: {_expected_kind(str(override), reason)}"
    elif isinstance(error, MarkedYAMLError) and error.problem_mark is not None:
        message = f"{error.problem_mark.name} line {error.problem_mark.line + 1}: {error.problem}"
    elif isinstance(error, OSError) and error.filename is not None:
        message = str(machine_error(error))
    elif not isinstance(error, HydraException | OSError):  # from within Hydra, for an odd value
        message = f"{' '.join(argv)[:200]}: {message} ({type(error).__name__})"
    return " ".join(message.partition("Config search path:")[0].split())


def _expected_kind(override: str, reason: str) -> str:
    """What is expected where a single value was given for a section or a list, else `reason`."""
    key, _, value = override.partition("=")
    if "is not a subclass of" in reason or re.search(r"Cannot (assign|merge) \w+ to Dict", reason):
        return f"{key} is a section; set its keys, such as {key}.KEY=VALUE"
    rectangle = re.fullmatch(r"board=(\d+)[x×]\d+", override)
    if rectangle is not None:
        return f"boards are square; give the number of rows, such as board={rectangle[1]}"
    if "is not a ListConfig" in reason:
        return f"must be a list, such as {key}=[{value}]"
    return reason


def _unknown_key(key: str, config_name: str, argv: list[str]) -> str:
    """The message with the keys that are near, else with those next to it.

    The command is composed without the override that failed.
    """
    if reason := _not_taken(key):
        return reason
    flags, words = composing.flags_and_overrides(argv)
    others = [word for word in words if word.lstrip("+~").partition("=")[0] != key]
    with composing.hydra_initialized():
        config = composing.composed(
            config_name, others, composing.search_path(flags.config_dir), lenient=True
        )
    keys = dict.fromkeys(
        [*_dotted(OmegaConf.to_container(config, resolve=False)), *config.hydra.runtime.choices]
    )
    known = [one for one in keys if one.startswith("hydra") == key.startswith("hydra")]
    parent = key.rpartition(".")[0]
    if near := near_keys(key, known):
        return f"unknown key {key!r}: did you mean {' or '.join(map(repr, near[:3]))}?"
    return f"unknown key {key!r}: the keys are {', '.join(one for one in known if one.rpartition('.')[0] == parent)}"


def _dotted(values: Any, prefix: str = "") -> Iterator[str]:
    for key, value in values.items():
        yield f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{prefix}{key}.")


def machine_error(error: BaseException | None) -> UsageError | None:
    """The machine's error behind `error`, with its file or the folder of this command; None for a
    bug.

    A file that the user's own code does not find is a bug of that code.
    """
    while error is not None:
        if isinstance(error, OSError):
            of_file = error.filename is not None and not error_of_foreign_code(error)
            if of_file or error.errno in _SYSTEM_ERRNOS:
                return UsageError(
                    f"{_place_of(error)[:100]}: cannot be read or written ({error.strerror})"
                )
        error = error.__cause__
    return None


def _place_of(error: OSError) -> str:
    """The file of `error`, else the folder of this command; `hexlit.files.replacing` names all
    other files.
    """
    if error.filename is not None:
        return str(error.filename)
    if (folder := run_folder.folder()) is not None:
        return str(folder)
    return "this machine"
