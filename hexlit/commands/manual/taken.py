"""Everything that one command line takes: its settings with their values, and its groups with their
options.

Hydra composes the values, with the user's folders and the tasks of other packages. Types, ranges
and words are those of the dataclasses behind them; the meanings are the docstrings below the
fields.
"""

import ast
import importlib
import inspect
import itertools
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml
from hydra.core.config_store import ConfigStore
from hydra.core.object_type import ObjectType
from omegaconf import DictConfig, OmegaConf

from hexlit.commands.composing import (
    composed,
    flags_and_overrides,
    hydra_initialized,
    is_sweep,
    search_path,
)
from hexlit.reporting.run_files import flat
from hexlit.settings import GROUP, RANGE, TASK_GROUP, WORDS, entry_points_of

MISSING = "???"
"""Value of a setting that a user has to give, as YAML and OmegaConf write it."""
FIRST = ("task", "experiment")
"""Groups that change most; the others follow by alphabet, then Hydra's own."""
SWEEP_GROUPS = {
    "hydra/sweeper": "basic",
    "hydra/sweeper/sampler": "tpe",
    "hydra/sweeper/pruner": "median",
    "hydra/launcher": "basic",
}
"""Group of Hydra's for sweeps -> its default option."""
PLUGIN = "needs the extra slurm; see https://hydra.cc/docs/plugins/submitit_launcher"
OTHERS = {
    "hydra/sweeper/basic": "every combination of the values on the command line; see https://hydra.cc",
    "hydra/sweeper/optuna": "trials that Optuna chooses and prunes; sweep=NAME chooses it",
    "hydra/launcher/basic": "trials on this machine",
    "hydra/launcher/submitit_local": f"trials by submitit, here; {PLUGIN}",
    "hydra/launcher/submitit_slurm": f"each trial is a job of Slurm; {PLUGIN}",
}
"""Options of Hydra and its plugins, with the page that documents them;
named whether they are installed or not.
"""
Values = Mapping[str, Any]
"""A configuration as plain values."""


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
    """The text below its declaration, in one line; empty where there is none."""
    choices: tuple[str, ...] = ()
    """The words declared for it, the only ones that it takes; empty where it takes others."""
    group: str = ""
    """A group of entry points whose names it takes beside its `choices`;
    empty where there is none.
    """
    range: str = ""
    """The numbers that it takes, in words; empty where none are declared."""

    @property
    def section(self) -> str:
        """The part of the key before the last dot."""
        return self.key.rpartition(".")[0]

    @property
    def several(self) -> bool:
        """Whether it takes a list of its `choices`."""
        return self.type.startswith("list")

    @property
    def whole_meaning(self) -> str:
        """Its meaning and its range."""
        rule = f" {'Each must' if self.several else 'Must'} be {self.range}." if self.range else ""
        return f"{self.meaning}{rule}"


@dataclass(frozen=True)
class Group:
    """One group of configuration files."""

    name: str
    chosen: str
    options: Mapping[str, str]
    """Option -> what it is, in a few words."""
    settings: Mapping[str, tuple[Setting, ...]]
    """Option -> the settings that it alone has,
    by their whole keys; the option in use with its values.
    """

    def is_called(self, name: str) -> bool:
        """Whether `name` is that of the group; of one of Hydra's groups the last word is enough."""
        return name == self.name or (
            self.name in SWEEP_GROUPS and name == self.name.rpartition("/")[2]
        )


@dataclass(frozen=True)
class Taken:
    """Everything that a command takes, in the order of the page."""

    command: str
    text: str
    """The command's purpose, in several lines."""
    examples: tuple[tuple[str, str], ...]
    """Commands that a user may type, each with its purpose, which may be empty."""
    settings: tuple[Setting, ...]
    sections: Mapping[str, str]
    """Section -> what it is about; the settings outside of all are in ''."""
    groups: tuple[Group, ...]


def taken(command: str, arguments: Sequence[str] = (), *, lenient: bool = False) -> Taken:
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
    module = importlib.import_module(
        f"hexlit.commands.{'htp_program' if command == 'htp' else command}"
    )
    keys = getattr(module, "OWN_KEYS", ())
    if command in ("train", "bench", "plan"):
        from hexlit.commands import tasks

        tasks.register(overrides)
    settings: dict[str, Setting] = {}
    sections: dict[str, str] = {}
    with hydra_initialized():
        folders = search_path(flags.config_dir)
        for name, own, beside in _parts(command, overrides, keys):
            config = composed(name, own, folders, lenient=lenient)
            values: Any = OmegaConf.to_container(config, resolve=False, enum_to_str=True)
            for one in _settings(config, values, "", sections):
                if not beside or one.key.partition(".")[0] in keys:
                    settings.setdefault(one.key, one)
        choices = values["hydra"]["runtime"]["choices"]
        chosen = {
            group: str(option)
            for group, option in choices.items()
            if not group.startswith("hydra/")
        }
        if command == "train":
            in_use = choices["hydra/sweeper"] == "optuna"
            settings |= {
                one.key: one
                for one in _of_option("hydra/sweeper", "optuna", values, in_use=in_use)[1]
            }
            sections["hydra.sweeper"] = (
                "Sweeps by Optuna, with --multirun: hydra/sweeper=optuna or sweep=NAME."
            )
            chosen |= {
                group: str(choices.get(group, option)) for group, option in SWEEP_GROUPS.items()
            }
        elif name == "bench":
            chosen |= {"task": "", "experiment": ""}  # each makes it compose another file
        order = sorted(
            chosen, key=lambda group: (group not in FIRST, group.startswith("hydra/"), group)
        )
        groups = tuple(_group(group, chosen[group], values, settings) for group in order)
    header = inspect.cleandoc(values["hydra"]["help"]["header"])
    (examples, _, _) = head(_text(command, values))
    return Taken(command, header, examples, tuple(settings.values()), sections, groups)


def _parts(
    command: str, overrides: list[str], keys: Collection[str]
) -> list[tuple[str, list[str], bool]]:
    """The YAML files that make up the command, with their overrides,
    and whether their own `keys` alone count there.
    """
    beside, name = {"plan": ("plan_settings", "plan"), "bench": ("bench", "bench_task")}.get(
        command, ("", command)
    )
    if command == "bench" and not is_for_train(overrides):
        beside = ""
        name = "bench"
        overrides = [one for one in overrides if one != "task=hex"]
    own = [one for one in overrides if beside and one.partition("=")[0].partition(".")[0] in keys]
    whole = (name, [one for one in overrides if one not in own], False)
    return [(beside, own, True), whole] if beside else [whole]


def is_for_train(overrides: Sequence[str]) -> bool:
    """Whether the arguments of `hexlit bench` name a recipe or a task of `hexlit train`."""
    return any(one.startswith(("task=", "experiment=")) and one != "task=hex" for one in overrides)


def _settings(
    node: DictConfig, values: Values, prefix: str, sections: dict[str, str]
) -> Iterator[Setting]:
    """The settings of a node with a dataclass, and of those within;
    `sections` gets what each dataclass is about.
    """
    kind = OmegaConf.get_type(node)
    if kind is None or not is_dataclass(kind):
        return
    texts = texts_of(kind)
    sections[prefix.rstrip(".")] = texts[""]
    for one in fields(kind):
        key = f"{prefix}{one.name}"
        value = values.get(one.name, MISSING)
        if one.name in values and is_dataclass(OmegaConf.get_type(node, one.name)):
            yield from _settings(node[one.name], value, f"{key}.", sections)
        else:
            kind_text = (
                one.type if isinstance(one.type, str) else inspect.formatannotation(one.type)
            )
            words = tuple(one.metadata.get(WORDS, ()))
            more = one.metadata.get(GROUP, "")
            span = str(one.metadata.get(RANGE, ""))
            yield Setting(
                key,
                kind_text.replace("typing.", ""),
                value,
                texts.get(one.name, ""),
                words,
                more,
                span,
            )


@cache
def texts_of(kind: type) -> Mapping[str, str]:
    """Field of a dataclass, or of its bases -> the docstring below it,
    in one line; "" -> its own first paragraph.
    """
    texts = {"": ""}
    for base in reversed(kind.__mro__):
        if not is_dataclass(base):
            continue
        texts[""] = ""
        node = _classes(base.__module__).get(base.__qualname__.rpartition(".")[2])
        if node is None:
            continue
        first_paragraph, _, _ = (ast.get_docstring(node) or "").partition("\n\n")
        texts[""] = " ".join(first_paragraph.split())
        for field, below in itertools.pairwise([*node.body, ast.Pass()]):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                texts[field.target.id] = _docstring(below)
    return texts


def _docstring(node: ast.stmt) -> str:
    """The text of a statement that is a string, in one line; empty for any other statement."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return ""
    text = " ".join(str(node.value.value).split())
    return re.sub(r"\bNone\b", "null", text)


@cache
def _classes(module: str) -> Mapping[str, ast.ClassDef]:
    path = Path(str(sys.modules[module].__file__))
    if path.suffix != ".py":
        return {}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def _group(name: str, chosen: str, values: Values, settings: Mapping[str, Setting]) -> Group:
    """The group, with those of its options that suit the settings and choices in use."""
    places = [folder.joinpath(name) for folder in _folders(values)]
    store = ConfigStore.instance()
    paths = [path.name for place in places if place.is_dir() for path in place.iterdir()]
    paths += store.list(name) if store.get_type(name) is ObjectType.GROUP else []
    known = sorted({path.removesuffix(".yaml") for path in paths if path.endswith(".yaml")})
    if name in SWEEP_GROUPS:
        known = sorted(
            {*known, *(one.rpartition("/")[2] for one in OTHERS if one.startswith(f"{name}/"))}
        )
        options_of = {one: _of_option(name, one, values, in_use=one == chosen) for one in known}
        kept = {one: (about, settings) for one, (about, settings) in options_of.items() if about}
        return Group(
            name, chosen, {one: kept[one][0] for one in kept}, {one: kept[one][1] for one in kept}
        )
    options = (
        dict.fromkeys(entry_points_of(TASK_GROUP).names, "a task of another package")
        if name == "task"
        else {}
    )
    for option in known:
        text = _text(f"{name}/{option}", values)
        examples, summary, at_root = head(text)
        if not chosen or not at_root or _fits(text, values, settings):
            options[option] = (examples and examples[0][1]) or summary
    return Group(name, chosen, options, {})


def _fits(text: str, values: Values, settings: Mapping[str, Setting]) -> bool:
    """Whether an option at the root suits the other choices:
    it overrides, sets and searches only what is there.
    """
    content = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {}
    names = [next(iter(entry)) for entry in content.get("defaults", ()) if isinstance(entry, dict)]
    overridden = {
        name.removeprefix("override ").lstrip("/") for name in names if name.startswith("override ")
    }
    groups = {*values["hydra"]["runtime"]["choices"], *SWEEP_GROUPS}
    searched = {*(content.get("hydra", {}).get("sweeper", {}).get("params") or ())}
    return (
        overridden <= groups
        and searched <= {*settings, *groups}
        and {*content} - {"defaults"} <= {*values}
    )


def _of_option(
    group: str, option: str, values: Values, *, in_use: bool = False
) -> tuple[str, tuple[Setting, ...]]:
    """An option of one of Hydra's groups in a few words, and its settings; `in_use` with the
    composed values.

    An option is a YAML file whose comments are the meanings, or a dataclass in Hydra's store. One
    whose plugin is not installed has no settings.
    """
    store = ConfigStore.instance()
    place = f"{group}/{option}.yaml"
    prefix = f"{group.replace('/', '.')}."
    text = _text(f"{group}/{option}", values)
    sections: dict[str, str] = {}
    known = [*described(text, prefix)]
    if not text and store.get_type(place) is ObjectType.CONFIG:
        node = store.load(place).node
        stored: Any = OmegaConf.to_container(node, resolve=False, enum_to_str=True)
        known = [*_settings(node, stored, prefix, sections)]
    examples, others, _ = head(text)
    about = (
        OTHERS.get(f"{group}/{option}")
        or others
        or sections.get(prefix[:-1])
        or "".join(dict(examples).values())
    )
    filled = {group.replace("/", ".") for group in SWEEP_GROUPS} | {"hydra.sweeper.defaults"}
    kept = (
        one
        for one in known
        if one.key not in filled and not one.key.rpartition(".")[2].startswith("_")
    )
    now = dict(flat(values)) if in_use else {}
    return about, tuple(replace(one, value=now.get(one.key, one.value)) for one in kept)


def _text(name: str, values: Values) -> str:
    """The text of a YAML file, such as `net/small`,
    in the folders that were searched; empty where there is none.
    """
    paths = (folder.joinpath(f"{name}.yaml") for folder in _folders(values))
    return next((path.read_text(encoding="utf-8") for path in paths if path.is_file()), "")


def _folders(values: Values) -> Iterator[Traversable]:
    for source in values["hydra"]["runtime"]["config_sources"]:
        if source["schema"] in ("pkg", "file"):
            yield (files if source["schema"] == "pkg" else Path)(source["path"])


@cache
def head(text: str) -> tuple[tuple[tuple[str, str], ...], str, bool]:
    """The comments at the head of a YAML file: its examples, the others as one line, and whether it
    is for the root.

    A line `# hexlit ...` is an example. Two blanks or more end the command; a remark may follow, in
    brackets or not.
    """
    comments = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    lines = [line.removeprefix("#").strip() for line in comments]
    commands = [
        re.split(r"\s{2,}", line, maxsplit=1) for line in lines if line.startswith("hexlit ")
    ]
    examples = tuple(
        (one, "".join(remark).removeprefix("(").removesuffix(")")) for one, *remark in commands
    )
    others = " ".join(line for line in lines if not line.startswith(("hexlit ", "@package ")))
    return examples, others, "@package _global_" in lines


def described(text: str, prefix: str) -> Iterator[Setting]:
    """The values of a YAML file, each with the comment behind it."""
    parents: list[tuple[int, str]] = []
    for depth, name, value, comment in re.findall(
        r"^( *)([\w-]+):(?: +([^#\n]*?))?(?: # (.*))?$", text, re.MULTILINE
    ):
        parents = [(above, parent) for above, parent in parents if above < len(depth)] + [
            (len(depth), name)
        ]
        plain = yaml.safe_load(value)
        if value:
            kind = "Any" if plain is None else type(plain).__name__
            yield Setting(prefix + ".".join(parent for _, parent in parents), kind, plain, comment)
