"""Python files as syntax trees: the values of their constants and the classes in them, without importing any."""

import ast
import importlib.util
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[2]

MISSING = "???"
"""Value of a setting that a user has to give, as YAML and OmegaConf write it."""

_KNOWN: dict[tuple[str, str], Any] = {("omegaconf", "MISSING"): MISSING, ("math", "inf"): math.inf}
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
}


class NotPlainError(ValueError):
    """An expression whose value is only known to a running program."""


@dataclass(frozen=True)
class Source:
    """The top level of one module."""

    classes: dict[str, ast.ClassDef]
    constants: dict[str, ast.expr]
    imported: dict[str, tuple[str, str]]
    """Name -> (module, name there)."""


@cache
def source_of(module: str) -> Source:
    """The parsed source of `module`, a dotted name."""
    tree = ast.parse(path_of(module).read_text(encoding="utf-8"))
    classes: dict[str, ast.ClassDef] = {}
    constants: dict[str, ast.expr] = {}
    imported: dict[str, tuple[str, str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            classes[node.name] = node
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            imported |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            constants[node.target.id] = node.value
        elif isinstance(node, ast.Assign):
            constants |= {target.id: node.value for target in node.targets if isinstance(target, ast.Name)}
    return Source(classes, constants, imported)


def path_of(module: str) -> Path:
    """The file of `module`. Only packages above a module from elsewhere are imported to find it."""
    if module.partition(".")[0] == PACKAGE.name:
        path = PACKAGE.parent.joinpath(*module.split("."))
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    result = importlib.util.find_spec(module)
    if result is None or result.origin is None:
        raise ModuleNotFoundError(f"no source of {module}", name=module)
    return Path(result.origin)


def class_of(module: str, name: str) -> tuple[str, ast.ClassDef] | None:
    """The class that `name` stands for in `module`, with the module that defines it; None where it is no class."""
    source = source_of(module)
    if name in source.classes:
        return module, source.classes[name]
    if name not in source.imported:
        return None
    home, there = source.imported[name]
    return class_of(home, there) if home.startswith(f"{PACKAGE.name}.") else None


def value_of(node: ast.expr, module: str) -> Any:
    """The value of an expression of constants, as it stands in `module`.

    Raises:
        NotPlainError: it is made of more than literals, sums, products and the names of such.
    """
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return _named(node.id, module)
        case ast.List() | ast.Tuple():
            entries: list[Any] = []
            for entry in node.elts:
                if isinstance(entry, ast.Starred):
                    entries.extend(value_of(entry.value, module))
                else:
                    entries.append(value_of(entry, module))
            return entries if isinstance(node, ast.List) else tuple(entries)
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            return {value_of(key, module): value_of(value, module) for key, value in pairs if key is not None}
        case ast.JoinedStr():
            parts = (part.value if isinstance(part, ast.FormattedValue) else part for part in node.values)
            return "".join(str(value_of(part, module)) for part in parts)
        case ast.UnaryOp(op=ast.USub()):
            return -value_of(node.operand, module)
        case ast.BinOp() if type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value_of(node.left, module), value_of(node.right, module))
    raise NotPlainError(ast.unparse(node))


def _named(name: str, module: str) -> Any:
    source = source_of(module)
    if name in source.constants:
        return value_of(source.constants[name], module)
    if name in source.imported:
        place = source.imported[name]
        if place in _KNOWN:
            return _KNOWN[place]
        if place[0].startswith(f"{PACKAGE.name}."):
            return _named(place[1], place[0])
    raise NotPlainError(f"{name} of {module}")
