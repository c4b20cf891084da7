"""The settings that a dataclass declares: key, type, default, meaning and choices, from its source."""

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from hexlit.commands.manual.source import NotPlainError, class_of, value_of
from hexlit.settings import Interval


@dataclass(frozen=True)
class Setting:
    """One key of a configuration."""

    key: str
    """Dotted: `optimizer.lr`."""
    type: str
    """As it is annotated: `float | None`."""
    default: Any
    """Of the dataclass; `???` where there is none."""
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


@dataclass(frozen=True)
class Schema:
    """A dataclass and those nested in it."""

    settings: tuple[Setting, ...]
    sections: dict[str, str]
    """Dotted key of each nested dataclass -> what it is about; the whole has the key ''."""

    @property
    def defaults(self) -> dict[str, Any]:
        """The defaults as a nested mapping."""
        nested: dict[str, Any] = {}
        for setting in self.settings:
            node = nested
            *parents, leaf = setting.key.split(".")
            for parent in parents:
                node = node.setdefault(parent, {})
            node[leaf] = setting.default
        return nested


@cache
def schema_of(place: str) -> Schema:
    """The settings of the dataclass at `module:Class`, those of its bases first."""
    module, _, name = place.partition(":")
    settings: list[Setting] = []
    sections: dict[str, str] = {}
    _read(module, name, "", settings, sections)
    return Schema(tuple(settings), sections)


def _read(module: str, name: str, prefix: str, settings: list[Setting], sections: dict[str, str]) -> None:
    sections[prefix.rstrip(".")] = _summary(module, name)
    fields: dict[str, tuple[str, ast.AnnAssign, str]] = {}
    for home, node in _with_bases(module, name):
        for field, meaning in _fields(node):
            assert isinstance(field.target, ast.Name)
            if "ClassVar" not in ast.unparse(field.annotation):
                fields[field.target.id] = (home, field, meaning)
    for key, (home, field, meaning) in fields.items():
        nested = field.annotation.id if isinstance(field.annotation, ast.Name) else ""
        if nested and class_of(home, nested) is not None:
            _read(home, nested, f"{prefix}{key}.", settings, sections)
        else:
            kind = ast.unparse(field.annotation)
            declared = _choices(field, home), _group(field, home), _range(field, home)
            settings.append(Setting(f"{prefix}{key}", kind, _default(field, home), meaning, *declared))


def _with_bases(module: str, name: str) -> Iterator[tuple[str, ast.ClassDef]]:
    """The class and its bases, the most general first, each with its module."""
    result = class_of(module, name)
    if result is None:
        return
    home, node = result
    for base in node.bases:
        if isinstance(base, ast.Name):
            yield from _with_bases(home, base.id)
    yield home, node


def _fields(node: ast.ClassDef) -> Iterator[tuple[ast.AnnAssign, str]]:
    """The declarations of the class, each with the text below it."""
    for number, part in enumerate(node.body):
        if isinstance(part, ast.AnnAssign):
            below = node.body[number + 1] if number + 1 < len(node.body) else None
            yield part, _text(below)


def _text(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return re.sub(r"\bNone\b", "null", " ".join(node.value.value.split()))  # as one writes it on the command line
    return ""


def _summary(module: str, name: str) -> str:
    """The first paragraph of a class's docstring, in one line."""
    result = class_of(module, name)
    text = inspect.cleandoc(ast.get_docstring(result[1]) or "") if result else ""
    return " ".join(text.partition("\n\n")[0].split())


def _default(field: ast.AnnAssign, module: str) -> Any:
    match field.value:
        case ast.Call(func=ast.Name(id="one_of" | "some_of"), args=[_, default]):
            return value_of(default, module)
        case ast.Call(func=ast.Name(id="number"), args=[default, _]):
            number = value_of(default, module)
            return list(number) if isinstance(number, tuple) else number
        case ast.Call(func=ast.Name(id="field")) as call:
            (made,) = [word.value for word in call.keywords if word.arg in ("default_factory", "default")]
            match made:
                case ast.Lambda():
                    return value_of(made.body, module)
                case ast.Name(id="list"):
                    return []
                case ast.Name(id="dict"):
                    return {}
            return value_of(made, module)
        case None:
            raise NotPlainError(f"{ast.unparse(field)} has no default")
        case value:
            return value_of(value, module)


def _choices(field: ast.AnnAssign, module: str) -> tuple[str, ...]:
    """The words of a field that `hexlit.settings` made; none of any other."""
    match field.value:
        case ast.Call(func=ast.Name(id="one_of" | "some_of"), args=[words, _]):
            return tuple(value_of(words, module))
    return ()


def _group(field: ast.AnnAssign, module: str) -> str:
    """The group of entry points that adds to those words."""
    match field.value:
        case ast.Call(func=ast.Name(id="one_of"), keywords=[ast.keyword(arg="group", value=group)]):
            return str(value_of(group, module))
    return ""


def _range(field: ast.AnnAssign, module: str) -> str:
    """The interval of a field made by `number`, in words."""
    match field.value:
        case ast.Call(func=ast.Name(id="number"), args=[_, interval], keywords=keywords):
            unit = "".join(value_of(word.value, module) for word in keywords)
            return str(Interval(value_of(interval, module), unit))
    return ""
