"""The settings of one command line with their values, and its groups with their options.

Hydra composes the values, with the user's folders and the tasks of other packages. Types, ranges
and choices are those of the dataclasses behind them; the meanings are the docstrings below the
fields.
"""

import importlib
import inspect
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from hydra.core.global_hydra import GlobalHydra
from omegaconf import DictConfig, OmegaConf

from hexlit.commands.composing import (
    composed,
    flags_and_overrides,
    hydra_initialized,
    is_for_train,
    is_sweep,
    register_searches,
    search_path,
)
from hexlit.reporting.run_files import flat
from hexlit.settings import GROUP, RANGE, TASK_GROUP, WORDS, entry_points_of

MISSING = "???"
"""Value of a setting that a user has to give, as YAML and OmegaConf write it."""
_SUBMITIT = "(extra slurm; https://hydra.cc/docs/plugins/submitit_launcher)"
SWEEP_GROUPS: Mapping[str, Mapping[str, str]] = {
    "hydra/sweeper": {
        "basic": "every combination of the values on the command line; see https://hydra.cc",
        "optuna": "trials that Optuna chooses and prunes; sweep=NAME chooses it",
    },
    "hydra/launcher": {
        "basic": "trials on this machine",
        "submitit_local": f"trials by submitit, on this machine {_SUBMITIT}",
        "submitit_slurm": f"each trial is a job of Slurm {_SUBMITIT}",
    },
    "hydra/sweeper/pruner": {},
    "hydra/sweeper/sampler": {},
}
"""Groups of Hydra for sweeps; options that Hydra and its plugins document, each with a summary."""


@dataclass(frozen=True)
class Setting:
    """One key of a configuration."""

    key: str
    """Dotted: `optimizer.lr`."""
    type: str
    """As it is annotated: `float | None`."""
    value: Any
    """In the composed configuration; `???` where a user has to give it."""
    meaning: str
    """The text below its declaration, in one line."""
    choices: tuple[str, ...] = ()
    """The words that it takes; empty where it takes others."""
    group: str = ""
    """A group of entry points whose names it takes, too."""
    range: str = ""
    """The numbers that it takes, in words."""

    @property
    def section(self) -> str:
        """The part of the key before the last dot."""
        return self.key.rpartition(".")[0]

    @property
    def is_list(self) -> bool:
        """Whether it takes a list of its `choices`."""
        return self.type.startswith("list")

    @property
    def rules(self) -> str:
        """Its range and its choices, as sentences; empty where it has neither."""
        sentences = []
        if self.range:
            sentences.append(f"{'Each must' if self.is_list else 'Must'} be {self.range}.")
        if self.choices:
            sentences.append(f"Choices: {', '.join(self.choices)}.")
        return " ".join(sentences)


@dataclass(frozen=True)
class Group:
    """One group of configuration files."""

    name: str
    chosen: str
    options: Mapping[str, str]
    """Option -> a summary."""
    files: Mapping[str, str]
    """Option -> its YAML below the head, of samplers and pruners."""


@dataclass(frozen=True)
class Contents:
    """Everything that a command takes, in the order of the page."""

    text: str
    """The usage and purpose of the command, in several lines."""
    examples: Sequence[tuple[str, str]]
    """Commands that a user may type, each with its purpose, which may be empty."""
    settings: Sequence[Setting]
    sections: Mapping[str, str]
    """Section -> what it is about; the settings outside of all are in ''."""
    groups: Sequence[Group]


def contents_of(command: str, arguments: Sequence[str] = (), *, lenient: bool = False) -> Contents:
    """Everything that `hexlit COMMAND ARGUMENTS` takes.

    `lenient` leaves out overrides that do not fit.

    Raises:
        UsageError: there is no such flag or folder.
        HydraException, OmegaConfBaseException: the arguments do not compose.
    """
    flags, words = flags_and_overrides(arguments)
    words = [word.removeprefix("+") if word.startswith("+best=") else word for word in words]
    overrides = [
        word for word in words if ("=" in word or word.startswith("~")) and not is_sweep(word)
    ]
    module_name = "htp_program" if command == "htp" else command
    module = importlib.import_module(f"hexlit.commands.{module_name}")
    if command in ("train", "bench", "plan"):
        from hexlit.commands import tasks

        tasks.register(overrides)
    if command == "train" and not any(word.startswith("hydra/sweeper=") for word in overrides):
        overrides.append("hydra/sweeper=optuna")  # its settings are a section like any other
    register_searches(overrides)
    settings: dict[str, Setting] = {}
    sections: dict[str, str] = {}
    with hydra_initialized():
        folders = search_path(flags.config_dir)
        for name, part, keys in _parts(command, overrides, getattr(module, "OWN_KEYS", ())):
            config = composed(name, part, folders, lenient=lenient)
            for setting in _settings(config, "", sections):
                if keys is None or setting.key.partition(".")[0] in keys:
                    settings.setdefault(setting.key, setting)
        if command == "train":
            for setting in _settings(config.hydra.sweeper, "hydra.sweeper.", sections):
                settings[setting.key] = setting
        names = sorted(one for one in config.hydra.runtime.choices if not one.startswith("hydra/"))
        if command == "train":
            names += SWEEP_GROUPS
        if name == "bench":
            names += ["experiment", "task"]  # each makes it compose another file
        groups = [_group(one, config, folders) for one in names]
    examples, _, _ = head(_text(command, config))
    text = inspect.cleandoc(config.hydra.help.header)
    return Contents(text, examples, [*settings.values()], sections, groups)


def _parts(
    command: str, overrides: list[str], keys: Collection[str]
) -> list[tuple[str, list[str], Collection[str] | None]]:
    """The YAML files behind the command, each with its overrides and the only keys that count
    there; None for all.
    """
    if command == "bench" and not is_for_train(overrides):
        return [("bench", [one for one in overrides if one != "task=hex"], None)]
    names = {"bench": ("bench", "bench_task"), "plan": ("plan_settings", "plan")}.get(command)
    if names is None:
        return [(command, overrides, None)]
    own: list[str] = []
    others: list[str] = []
    for override in overrides:
        is_own = override.partition("=")[0].partition(".")[0] in keys
        part = own if is_own else others
        part.append(override)
    return [(names[0], own, keys), (names[1], others, None)]


def _settings(node: DictConfig, prefix: str, sections: dict[str, str]) -> Iterator[Setting]:
    """The settings of a node with a dataclass, and of those within.

    `sections` gets what each dataclass is about.
    """
    kind = OmegaConf.get_type(node)
    if not is_dataclass(kind):
        return
    texts = texts_of(kind)
    sections[prefix.rstrip(".")] = texts[""]
    values: Any = OmegaConf.to_container(node, resolve=False, enum_to_str=True)
    for field in fields(kind):
        key = f"{prefix}{field.name}"
        value = values.get(field.name, MISSING)
        meaning = texts.get(field.name, "")
        if field.name in values and is_dataclass(OmegaConf.get_type(node, field.name)):
            yield from _settings(node[field.name], f"{key}.", sections)
        elif key.replace(".", "/") in SWEEP_GROUPS:
            sections[key] = meaning
            for name, entry in flat(value, key):
                yield Setting(name, "Any", entry, f"See --help {field.name}.")
        elif not field.name.startswith("_") and field.name != "defaults":
            yield Setting(
                key,
                inspect.formatannotation(field.type).replace("typing.", ""),
                value,
                meaning,
                tuple(field.metadata.get(WORDS, ())),
                field.metadata.get(GROUP, ""),
                str(field.metadata.get(RANGE, "")),
            )


def texts_of(kind: type) -> Mapping[str, str]:
    """Field of a dataclass, or of its bases -> the docstring below it, in one line.

    The key "" has the first paragraph of the class.
    """
    import docstring_parser

    texts = {"": " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())}
    for base in reversed(kind.__mro__):
        if is_dataclass(base):
            for field in docstring_parser.parse_from_object(base).params:
                text = (field.description or "").replace("None", "null")
                texts[field.arg_name] = " ".join(text.split())
    return texts


def _group(name: str, config: DictConfig, folders: Sequence[str]) -> Group:
    chosen = str(config.hydra.runtime.choices.get(name, ""))
    options = dict(SWEEP_GROUPS.get(name, {}))
    if options:
        return Group(name, "" if name == "hydra/sweeper" else chosen, options, {})
    texts = {}
    loader = GlobalHydra.instance().config_loader()
    for option in loader.get_group_options(name, overrides=[*folders]):
        text = _text(f"{name}/{option}", config)
        examples, summary, rest = head(text)
        options[option] = (examples and examples[0][1]) or summary
        if name in SWEEP_GROUPS:
            texts[option] = rest
    if name == "task":
        for option in sorted(entry_points_of(TASK_GROUP).names):
            options[option] = "a task of another package"
    return Group(name, chosen, options, texts)


def _text(name: str, config: DictConfig) -> str:
    """The text of a YAML file, such as `net/small`, in the folders that Hydra searched.

    It is empty where there is none.
    """
    for source in config.hydra.runtime.config_sources:
        if source.schema in ("pkg", "file"):
            folder: Traversable = (files if source.schema == "pkg" else Path)(source.path)
            path = folder.joinpath(f"{name}.yaml")
            if path.is_file():
                return path.read_text(encoding="utf-8")
    return ""


def head(text: str) -> tuple[list[tuple[str, str]], str, str]:
    """The comments at the head of a YAML file: its examples, and the others as one line; and the
    text below them.

    A line `# hexlit ...` is an example. A remark may follow it after two blanks or more, in
    brackets or not.
    """
    examples = []
    others = []
    lines = text.splitlines()
    while lines and lines[0].startswith("#"):
        comment = lines.pop(0).removeprefix("#").strip()
        if comment.startswith("hexlit "):
            example, *remark = re.split(r"\s{2,}", comment, maxsplit=1)
            examples.append((example, "".join(remark).strip("()")))
        elif not comment.startswith("@package "):
            others.append(comment)
    return examples, " ".join(others), "\n".join(lines)
