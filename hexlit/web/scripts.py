"""The scripts of the page: native modules, which a browser loads one by one, and one script of all of them.

The one script serves a page that is a single file: a browser loads no module from a file. Each module names what it
imports as `import { a, b } from "./module.mjs";`, and exports declarations.
"""

import re
from collections.abc import Callable
from importlib.resources import files

FIRST = "main.mjs"
"""The module that the page loads; all others are imported."""
TAG = f'  <script type="module" src="{FIRST}"></script>\n'
"""The line of the page that loads it."""

_IMPORT = re.compile(r'^import \{[^{}]*\} from "\./(\w+\.mjs)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const|let) )", re.MULTILINE)
_DECLARATION = re.compile(r"^(?:async function|function|class|const|let) (\w+)", re.MULTILINE)
_UNREAD = re.compile(r"^(?:import|export)\b.*|</script|<!--", re.MULTILINE)


def module_names() -> list[str]:
    """The names of all modules, sorted."""
    return sorted(file.name for file in files("hexlit.web").joinpath("page").iterdir() if file.name.endswith(".mjs"))


def module_text(name: str) -> str:
    """The source of a module."""
    return files("hexlit.web").joinpath("page", name).read_text(encoding="utf-8")


def with_preloads(page: str) -> str:
    """The page with a hint for each module: the browser loads all at once, not import by import."""
    assert page.count(TAG) == 1
    return page.replace(TAG, "".join(f'  <link rel="modulepreload" href="{name}">\n' for name in module_names()) + TAG)


def joined(first: str = FIRST, text_of: Callable[[str], str] = module_text) -> str:
    """One script with the effect of the module `first`: all that it imports, each once and after its own imports.

    Raises:
        ValueError: modules import each other in a circle, two declare the same name, or a line is not understood.
    """
    texts: dict[str, str] = {}
    open_modules: list[str] = []

    def add(name: str) -> None:
        if name in open_modules:
            raise ValueError(f"{' -> '.join([*open_modules, name])}: modules import each other in a circle")
        if name in texts:
            return
        open_modules.append(name)
        text = text_of(name)
        for imported in _IMPORT.findall(text):
            add(imported)
        open_modules.pop()
        texts[name] = _EXPORT.sub("", _IMPORT.sub("", text))

    add(first)
    owners: dict[str, str] = {}
    for name, text in texts.items():
        if result := _UNREAD.search(text):
            raise ValueError(f"{name}: {result[0]!r} cannot stand in a joined script")
        for declared in _DECLARATION.findall(text):
            if declared in owners:
                raise ValueError(f"{name}: {declared} is declared in {owners[declared]}, too")
            owners[declared] = name
    return "\n".join(texts.values())
