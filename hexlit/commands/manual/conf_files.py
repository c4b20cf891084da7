"""The YAML files of the configuration: groups, their options, and what the comments at the head of a file say."""

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from hexlit.commands.manual.source import PACKAGE

IN_CHECKOUT = PACKAGE.parent / "conf"
"""In an installed wheel the package `hexlit.conf` lies beside the code instead."""
CONF = IN_CHECKOUT if (IN_CHECKOUT / "train.yaml").is_file() else PACKAGE / "conf"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML as OmegaConf reads it: 1e-3 is a number."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d[\d_]*)(\.[\d_]*)?[eE][-+]?\d+$"),
    list("-+0123456789"),
)


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
    package: str | None
    """The package of the content: `_global_` is the root, None the name of the group."""
    text: str
    """The lines that are no commands, as one."""

    @property
    def summary(self) -> str:
        """The file in a few words: the remark of its first command, else its text."""
        remark = self.examples[0].remark if self.examples else ""
        return remark or self.text


@dataclass(frozen=True)
class Folders:
    """The folders that hold YAML files; the first one wins."""

    paths: tuple[Path, ...] = (CONF,)

    def path(self, name: str) -> Path | None:
        """The file of a configuration, such as `net/small`."""
        return next((path for folder in self.paths if (path := folder / f"{name}.yaml").is_file()), None)

    def options(self, group: str) -> list[str]:
        """The names of a group's options that are files, by alphabet."""
        return sorted({path.stem for folder in self.paths for path in (folder / group).glob("*.yaml")})


@cache
def load(path: Path) -> dict[str, Any]:
    """The content of a YAML file; read only."""
    return yaml.load(path.read_text(encoding="utf-8"), _Loader) or {}


def parsed(value: str) -> Any:
    """The value of an override; as it stands, where YAML reads nothing from it."""
    try:
        return yaml.load(value, _Loader)
    except yaml.YAMLError:
        return value


@cache
def head(path: Path) -> Head:
    """The head of a YAML file.

    A line `# hexlit ...` is an example. Two blanks or more end the command; a remark may follow, in brackets or not.
    """
    examples: list[Example] = []
    texts: list[str] = []
    package = None
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        words = line.removeprefix("#").strip()
        if words.startswith("@package "):
            package = words.removeprefix("@package ").strip()
        elif words.startswith("hexlit "):
            command, *remarks = re.split(r"\s{2,}", words, maxsplit=1)
            examples.append(Example(command, "".join(remarks).removeprefix("(").removesuffix(")")))
        else:
            texts.append(words)
    return Head(tuple(examples), package, " ".join(texts))


def described(path: Path) -> Iterator[tuple[str, Any, str]]:
    """Each value of a YAML file: its dotted key, itself, and the comment behind it; lists count as values."""
    comments: dict[str, str] = {}
    parents: list[tuple[int, str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        result = re.fullmatch(r"( *)([\w-]+):(?: +[^#]*?)?(?: # (.*))?", line)
        if result is None:
            continue
        parents = [(depth, name) for depth, name in parents if depth < len(result[1])]
        parents.append((len(result[1]), result[2]))
        comments[".".join(name for _, name in parents)] = result[3] or ""
    yield from ((key, value, comments.get(key, "")) for key, value in _flat(load(path), ""))


def _flat(content: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in content.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def folder_of_package(name: str) -> Path:
    """The folder of the package `name` of another project."""
    result = importlib.util.find_spec(name)
    if result is None or not result.submodule_search_locations:
        raise ModuleNotFoundError(f"no folder of {name}", name=name)
    return Path(result.submodule_search_locations[0])
