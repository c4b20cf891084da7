"""The command line of a Hydra application, and compositions apart from that of its run.

Help, completion and the suggestions of messages compose, too, with Hydra's public API.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from hydra import compose, initialize_config_module
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig

from hexlit.commands.typed_words import as_typed
from hexlit.errors import UsageError
from hexlit.search.config import ALGORITHMS
from hexlit.settings import SEARCH_GROUP, entry_points_of
from hexlit.tuning.space import quoted

CONFIG_PACKAGE = "hexlit.conf"
VERSION_BASE = "1.3"


@dataclass(frozen=True)
class Composed:
    """A composed command line: what a task gets next to its settings.

    Attributes:
        config: the configuration of the command.
        hydra: Hydra's own.
    """

    config: DictConfig
    hydra: DictConfig

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return Path(self.hydra.runtime.output_dir)

    @property
    def is_job(self) -> bool:
        """Whether it is a job of a sweep."""
        return bool(self.hydra.mode != RunMode.RUN)

    @property
    def overrides(self) -> list[str]:
        """The overrides of the settings."""
        return [*map(str, self.hydra.overrides.task)]

    def choices(self) -> dict[str, Any]:
        """The overrides, the experiment, and the option of every group."""
        chosen = {
            name: option
            for name, option in self.hydra.runtime.choices.items()
            if option not in (None, "null")
        }
        groups = {
            name: str(option) for name, option in chosen.items() if not name.startswith("hydra/")
        }
        return {
            "overrides": self.overrides,
            "experiment": groups.get("experiment"),
            "choices": groups,
        }


def flags_and_overrides(argv: Sequence[str]) -> tuple[Namespace, list[str]]:
    """Hydra's flags in `argv`, and its other words, wherever they stand.

    Raises:
        UsageError: Hydra has no such flag, or its value is missing.
    """
    for word in argv:
        if word.partition("=")[0] in ("--config-name", "-cn", "--config-path", "-cp"):
            raise UsageError(
                f"{word}: each command has its configuration; --config-dir FOLDER adds files of yours"
            )
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.error = _refuse  # type: ignore[method-assign]  # argparse prints its whole usage instead
    for names in (
        "-h --help",
        "--hydra-help",
        "-m --multirun",
        "-r --run",
        "--resolve",
        "-sc --shell-completion",
    ):
        parser.add_argument(*names.split(), action="store_true")
    for names in ("-cd --config-dir", "-p --package"):
        parser.add_argument(*names.split())
    parser.add_argument("--cfg", "-c", choices=("job", "hydra", "all"))
    parser.add_argument("-i", "--info", nargs="?", const="all")
    flags, words = parser.parse_known_args(list(argv))
    for word in words:
        if word.startswith("-"):
            key = word.strip("-").partition("=")[0].replace("-", "_")
            raise UsageError(f"unknown flag {word}: settings have no dashes, as in {key}=VALUE")
    return flags, words


def _refuse(message: str) -> NoReturn:
    raise UsageError(message)


def register_searches(words: Sequence[str]) -> None:
    """Make known to Hydra the search rule of another package that `search=NAME` in `words` names."""
    for word in words:
        name = word.removeprefix("search=")
        if name == word or name in ALGORITHMS or name not in entry_points_of(SEARCH_GROUP).names:
            continue
        from hexlit.search.rule import rule_module

        config = rule_module(name).Config
        ConfigStore.instance().store(group="search", name=name, node=config, provider="hexlit")


def is_sweep(word: str) -> bool:
    """Whether an override gives several values, one for each job of a sweep."""
    try:
        return OverridesParser.create().parse_override(word).is_sweep_override()
    except HydraException:  # reported by the composition
        return False


def is_for_train(overrides: Sequence[str]) -> bool:
    """Whether the arguments of `hexlit bench` name a recipe or a task of `hexlit train`."""
    return any(one.startswith(("task=", "experiment=")) and one != "task=hex" for one in overrides)


@contextmanager
def hydra_initialized() -> Iterator[None]:
    """Hydra with hexlit's configuration, for `composed`; afterwards it is as it was before."""
    theirs = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_module(CONFIG_PACKAGE, version_base=VERSION_BASE):
            yield
    finally:
        GlobalHydra.instance().hydra = theirs


def search_path(config_dir: str | None) -> list[str]:
    """The override that makes Hydra find the YAML files in the user's folder `config_dir`; none for
    None.

    Raises:
        UsageError: there is no such folder.
    """
    if config_dir is None:
        return []
    if not Path(config_dir).is_dir():
        raise UsageError(f"--config-dir {config_dir}: there is no such folder")
    return [f"hydra.searchpath=[{quoted(f'file://{Path(config_dir).resolve()}')}]"]


def composed(
    config_name: str,
    overrides: Sequence[str],
    folders: Sequence[str] = (),
    *,
    lenient: bool = False,
) -> DictConfig:
    """The configuration of a command with that of Hydra itself; only within `hydra_initialized()`.

    Args:
        config_name: the command's YAML file, without its ending.
        overrides: in Hydra's grammar, each with a single value.
        folders: those of `search_path`.
        lenient: where the overrides do not fit together, take the options of groups alone, or else
            none.
    """
    try:
        return compose(config_name, [*folders, *overrides], return_hydra_config=True)
    except Exception:  # Hydra raises nearly anything for what is still being typed
        if not lenient:
            raise
        options_of = GlobalHydra.instance().config_loader().get_group_options
        groups = [
            one for one in overrides if options_of(one.partition("=")[0], overrides=[*folders])
        ]
        return composed(
            config_name, groups if groups != [*overrides] else [], folders, lenient=bool(overrides)
        )


def settings_apart(
    argv: Sequence[str], names: Collection[str], config_name: str
) -> tuple[DictConfig, list[str]]:
    """A command's own configuration, of the settings and sections `names`, and the other arguments.

    They are those of a recipe of `hexlit train`.
    """
    own = [argument for argument in argv if argument.partition("=")[0].partition(".")[0] in names]
    with hydra_initialized():
        config = compose(config_name, [as_typed(argument) for argument in own])
    return config, [argument for argument in argv if argument not in own]
