"""Everything that one command line takes: its settings with their values, and its groups with their options.

Hydra composes the values, with the user's folders and the tasks of other packages. Types, ranges and words are those of
the dataclasses behind them; the meanings are the docstrings below the fields.
"""

import ast
import importlib
import inspect
import itertools
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields, is_dataclass, replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml
from hydra.core.config_store import ConfigStore
from hydra.core.object_type import ObjectType
from omegaconf import DictConfig, OmegaConf

from hexlit.commands.composing import composed, flags_and_overrides, hydra_initialized, is_sweep, search_path
from hexlit.outside import TASK_GROUP, entry_points_of
from hexlit.settings import GROUP, RANGE, WORDS

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
DOCUMENTATION = "https://hydra.cc/docs/plugins"
OTHERS = {
    "hydra/sweeper": {
        "basic": "every combination of the values on the command line; see https://hydra.cc",
        "optuna": "trials that Optuna chooses and prunes; sweep=NAME chooses it",
    },
    "hydra/launcher": {
        "basic": "trials on this machine",
        "submitit_local": f"trials by submitit, here; needs the extra slurm; see {DOCUMENTATION}/submitit_launcher",
        "submitit_slurm": f"each trial is a job of Slurm; needs the extra slurm; see {DOCUMENTATION}/submitit_launcher",
    },
}
"""Options of Hydra and its plugins, with the page that documents them; named whether they are installed or not."""


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
    """A group of entry points whose names it takes beside its `choices`; empty where there is none."""
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
class Example:
    """A command that a user may type."""

    command: str
    remark: str
    """Its purpose; may be empty."""


@dataclass(frozen=True)
class Head:
    """The comments above the first line of a YAML file."""

    examples: tuple[Example, ...]
    at_root: bool
    """Whether the content belongs to the root of the configuration, not to the name of its group."""
    text: str
    """The lines that are no commands, as one."""

    @property
    def summary(self) -> str:
        """The file in a few words: the remark of its first command, else its text."""
        return (self.examples and self.examples[0].remark) or self.text


@dataclass(frozen=True)
class Group:
    """One group of configuration files."""

    name: str
    chosen: str
    options: Mapping[str, str]
    """Option -> what it is, in a few words."""
    settings: Mapping[str, tuple[Setting, ...]]
    """Option -> the settings that it alone has, by their whole keys; the option in use with its values."""

    def is_called(self, name: str) -> bool:
        """Whether `name` is that of the group; of one of Hydra's groups the last word is enough."""
        return name == self.name or (self.name in SWEEP_GROUPS and name == self.name.rpartition("/")[2])


@dataclass(frozen=True)
class Taken:
    """Everything that a command takes, in the order of the page."""

    command: str
    text: str
    """The command's purpose, in several lines."""
    examples: tuple[Example, ...]
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
    words = [re.sub(r"^\+best=", "best=", word) for word in words]  # hexlit train takes both
    overrides = [word for word in words if ("=" in word or word.startswith("~")) and not is_sweep(word)]
    importlib.import_module("hexlit.commands.htp_program" if command == "htp" else f"hexlit.commands.{command}")
    if command in ("train", "bench", "plan"):
        from hexlit.commands import tasks

        tasks.register(overrides)
    folders = search_path(flags.config_dir)
    settings: dict[str, Setting] = {}
    sections: dict[str, str] = {}
    with hydra_initialized():
        for name, own, keys in _parts(command, overrides):
            config = composed(name, own, folders, lenient=lenient)
            values: Any = OmegaConf.to_container(config, resolve=False, enum_to_str=True)
            for one in _settings(config, values, "", sections):
                if keys is None or one.key.partition(".")[0] in keys:
                    settings.setdefault(one.key, one)
    choices = {group: str(option) for group, option in values["hydra"]["runtime"]["choices"].items()}
    named = {group: option for group, option in choices.items() if not group.startswith("hydra/")}
    if command == "train":
        _, of_sweeps = _of_option("hydra/sweeper", "optuna", values, in_use=choices["hydra/sweeper"] == "optuna")
        settings |= {one.key: one for one in of_sweeps}
        sections["hydra.sweeper"] = "Sweeps by Optuna, with --multirun: hydra/sweeper=optuna or sweep=NAME."
        named |= {group: choices.get(group, option) for group, option in SWEEP_GROUPS.items()}
    elif name == "bench":
        named |= {"task": "", "experiment": ""}  # each makes it compose another file
    order = sorted(named, key=lambda group: (group not in FIRST, group.startswith("hydra/"), group))
    groups = tuple(_group(group, named[group], values, settings) for group in order)
    header, examples = inspect.cleandoc(values["hydra"]["help"]["header"]), head(_text(command, values)).examples
    return Taken(command, header, examples, tuple(settings.values()), sections, groups)


def _parts(command: str, overrides: list[str]) -> list[tuple[str, list[str], Sequence[str] | None]]:
    """The YAML files that make up the command: name, overrides, and the keys that count there; None is all."""
    of_task = [one for one in overrides if one.startswith(("task=", "experiment=")) and one != "task=hex"]
    if command == "plan":
        beside, name, keys = "plan_settings", "plan", [*ConfigStore.instance().load("plan_schema.yaml").node]
    elif command == "bench" and of_task:
        from hexlit.commands.bench import OF_THE_BENCH

        beside, name, keys = "bench", "bench_task", [*OF_THE_BENCH]
        overrides = overrides if any(one.startswith("task=") for one in overrides) else ["task=hex", *overrides]
    else:
        return [(command, [one for one in overrides if command != "bench" or one != "task=hex"], None)]
    own = [one for one in overrides if one.partition("=")[0].partition(".")[0] in keys]
    return [(beside, own, keys), (name, [one for one in overrides if one not in own], None)]


def _settings(node: DictConfig, values: Mapping[str, Any], prefix: str, sections: dict[str, str]) -> Iterator[Setting]:
    """The settings of a node with a dataclass, and of those within; `sections` gets what each dataclass is about."""
    kind = OmegaConf.get_type(node)
    if kind is None or not is_dataclass(kind):
        return
    texts = texts_of(kind)
    sections[prefix.rstrip(".")] = texts[""]
    for one in fields(kind):
        key = f"{prefix}{one.name}"
        if one.name in values and is_dataclass(OmegaConf.get_type(node, one.name)):
            yield from _settings(node[one.name], values[one.name], f"{key}.", sections)
        else:
            yield _setting(one, key, values.get(one.name, MISSING), texts.get(one.name, ""))


def _setting(one: Field[Any], key: str, value: Any, meaning: str) -> Setting:
    kind = one.type if isinstance(one.type, str) else inspect.formatannotation(one.type).replace("typing.", "")
    words, span = one.metadata.get(WORDS, ()), one.metadata.get(RANGE, "")
    return Setting(key, kind, value, meaning, tuple(words), one.metadata.get(GROUP, ""), str(span))


@cache
def texts_of(kind: type) -> Mapping[str, str]:
    """Field of a dataclass, or of its bases -> the docstring below it, in one line; "" -> its own first paragraph."""
    texts = {"": ""}
    for base in reversed(kind.__mro__):
        node = _classes(base.__module__).get(base.__qualname__.rpartition(".")[2]) if is_dataclass(base) else None
        if node is None:
            continue
        texts[""] = " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())
        for part, below in itertools.pairwise([*node.body, ast.Pass()]):
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                told = below.value if isinstance(below, ast.Expr) else None
                text = " ".join(str(told.value).split()) if isinstance(told, ast.Constant) else ""
                texts[part.target.id] = re.sub(r"\bNone\b", "null", text)  # as one writes it on the command line
    return texts


@cache
def _classes(module: str) -> Mapping[str, ast.ClassDef]:
    path = Path(str(sys.modules[module].__file__))
    tree = ast.parse(path.read_text(encoding="utf-8") if path.suffix == ".py" else "")
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def _group(name: str, chosen: str, values: Mapping[str, Any], settings: Mapping[str, Setting]) -> Group:
    """The group, with those of its options that suit the settings and choices in use."""
    known = _options(name, values)
    if name in SWEEP_GROUPS:
        known = sorted({*known, *OTHERS.get(name, ())})
        told = {option: _of_option(name, option, values, in_use=option == chosen) for option in known}
        return Group(name, chosen, {one: told[one][0] for one in known}, {one: told[one][1] for one in known})
    options = dict.fromkeys(entry_points_of(TASK_GROUP).names, "a task of another package") if name == "task" else {}
    for option in known:
        text = _text(f"{name}/{option}", values)
        if not chosen or not head(text).at_root or _fits(text, values, settings):
            options[option] = head(text).summary
    return Group(name, chosen, options, {})


def _options(group: str, values: Mapping[str, Any]) -> list[str]:
    """The options of a group, by alphabet: the files in the folders that were searched, and those of Hydra's store."""
    store = ConfigStore.instance()
    inside = [place for folder in _folders(values) if (place := folder.joinpath(group)).is_dir()]
    names = [path.name for place in inside for path in place.iterdir()]
    names += store.list(group) if store.get_type(group) is ObjectType.GROUP else []
    return sorted({name.removesuffix(".yaml") for name in names if name.endswith(".yaml")})


def _fits(text: str, values: Mapping[str, Any], settings: Mapping[str, Setting]) -> bool:
    """Whether an option at the root suits the other choices: it overrides, sets and searches only what is there."""
    content = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {}
    names = [next(iter(entry)) for entry in content.get("defaults", ()) if isinstance(entry, dict)]
    overridden = {name.removeprefix("override ").lstrip("/") for name in names if name.startswith("override ")}
    groups = {*values["hydra"]["runtime"]["choices"], *SWEEP_GROUPS}
    searched = {*_at(content, "hydra.sweeper.params", ())}
    return overridden <= groups and searched <= {*settings, *groups} and {*content} - {"defaults"} <= {*values}


def _of_option(
    group: str, option: str, values: Mapping[str, Any], *, in_use: bool = False
) -> tuple[str, tuple[Setting, ...]]:
    """An option of one of Hydra's groups in a few words, and its settings; `in_use` with the composed values.

    An option is a YAML file whose comments are the meanings, or a dataclass in Hydra's store. One whose plugin is not
    installed has no settings.
    """
    store, place, prefix = ConfigStore.instance(), f"{group}/{option}.yaml", f"{group.replace('/', '.')}."
    text = _text(f"{group}/{option}", values)
    sections: dict[str, str] = {}
    known = [*described(text, prefix)]
    if not text and store.get_type(place) is ObjectType.CONFIG:
        node = store.load(place).node
        stored: Any = OmegaConf.to_container(node, resolve=False, enum_to_str=True)
        known = [*_settings(node, stored, prefix, sections)]
    about = OTHERS.get(group, {}).get(option) or head(text).text or head(text).summary or sections.get(prefix[:-1], "")
    filled = {group.replace("/", ".") for group in SWEEP_GROUPS} | {"hydra.sweeper.defaults"}
    kept = (one for one in known if one.key not in filled and not one.key.rpartition(".")[2].startswith("_"))
    return about, tuple(replace(one, value=_at(values, one.key, one.value)) if in_use else one for one in kept)


def _at(values: Mapping[str, Any], key: str, default: Any) -> Any:
    """The value at a dotted key; the `default` where there is none."""
    node: Any = values
    for part in key.split("."):
        if not isinstance(node, Mapping) or part not in node:
            return default
        node = node[part]
    return default if node is None and isinstance(default, tuple) else node


def _text(name: str, values: Mapping[str, Any]) -> str:
    """The text of a YAML file, such as `net/small`, in the folders that were searched; empty where there is none."""
    paths = (folder.joinpath(f"{name}.yaml") for folder in _folders(values))
    return next((path.read_text(encoding="utf-8") for path in paths if path.is_file()), "")


def _folders(values: Mapping[str, Any]) -> Iterator[Traversable]:
    for source in values["hydra"]["runtime"]["config_sources"]:
        if source["schema"] == "pkg":
            yield files(source["path"])
        elif source["schema"] == "file":
            yield Path(source["path"])


@cache
def head(text: str) -> Head:
    """The comments at the head of a YAML file.

    A line `# hexlit ...` is an example. Two blanks or more end the command; a remark may follow, in brackets or not.
    """
    comments = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    lines = [line.removeprefix("#").strip() for line in comments]
    commands = [re.split(r"\s{2,}", line, maxsplit=1) for line in lines if line.startswith("hexlit ")]
    examples = (Example(one, "".join(remark).removeprefix("(").removesuffix(")")) for one, *remark in commands)
    others = " ".join(line for line in lines if not line.startswith(("hexlit ", "@package ")))
    return Head(tuple(examples), "@package _global_" in lines, others)


def described(text: str, prefix: str) -> Iterator[Setting]:
    """The values of a YAML file, each with the comment behind it."""
    parents: list[tuple[int, str]] = []
    for depth, name, value, comment in re.findall(r"^( *)([\w-]+):(?: +([^#\n]*?))?(?: # (.*))?$", text, re.MULTILINE):
        parents = [(above, parent) for above, parent in parents if above < len(depth)] + [(len(depth), name)]
        plain = yaml.safe_load(value)
        if value:
            kind = "Any" if plain is None else type(plain).__name__
            yield Setting(prefix + ".".join(parent for _, parent in parents), kind, plain, comment)
