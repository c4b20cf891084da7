"""A recorded game as one HTML file: the page of `hexlit play` with the game in it, and without a
server.

The file holds everything that it needs, so it opens from a disk or an attachment, without a
network.
"""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from hexlit import __version__
from hexlit.arena.thinker import PlyReview
from hexlit.hex.geometry import BLACK
from hexlit.hex.notation import format_cell
from hexlit.hex.record import Ending, GameRecord
from hexlit.hex.records.variations import Variation, main_line

STYLE = '  <link rel="stylesheet" href="style.css">\n'
"""The line of the page that names its style."""
_HOW = {Ending.RESIGNED: "resigned", Ending.FORFEITED: "forfeited"}


def recorded_page(
    record: GameRecord,
    *,
    ply: int,
    title: str = "",
    facts: Sequence[str] = (),
    nodes: Sequence[Variation] = (),
    review: Sequence[PlyReview] = (),
) -> str:
    """The page of a game, complete HTML.

    Args:
        record: the game.
        ply: moves on the board when the page opens.
        title: of the page; empty for the names of the players.
        facts: more about the game.
        nodes: its tree, the main line by first children; empty for the main line alone.
        review: the judgements of its positions; empty shows no review.
    """
    content = as_script(
        {
            "version": __version__,
            "size": record.size,
            "swap": record.size**2 in record.moves[1:2]
            or any(node.move == record.size**2 for node in nodes),
            "nodes": [
                node_entry(node, record.size) for node in nodes or main_line(record.moves.tolist())
            ],
            "ply": ply,
            "names": {"black": record.black, "white": record.white},
            "about": " · ".join(facts),
            "end": end_of(record),
            "review": [review_entry(result, record.size) for result in review] or None,
        }
    )
    names = f"{record.black or 'Black'} – {record.white or 'White'}, {record.size}×{record.size}"
    return one_file(title or names, packed(), {"recorded": content}, state="data-recorded")


def one_file(
    title: str, script: str, data: dict[str, str], *, state: str, allowed: str = ""
) -> str:
    """The page as one file that loads nothing, complete HTML.

    Args:
        title: its title, as plain text.
        script: its one script; no other runs.
        data: id -> text that the script reads, see `as_script`; for `worker` it is another script.
        state: attribute of its root.
        allowed: the end of its content security policy, from what else scripts may do.
    """
    page, style = (
        (PAGE / name).read_text(encoding="utf-8") for name in ("index.html", "style.css")
    )
    page = _LOADS.sub("", page)
    rules = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src '{_digest(script)}'{allowed}"
    policy = f'<meta http-equiv="Content-Security-Policy" content="{rules}">'
    kinds = {"worker": "text/plain"}
    held = "\n".join(
        f'<script type="{kinds.get(name, "application/json")}" id="{name}">{text}</script>'
        for name, text in data.items()
    )
    for old, new in (
        ('<html lang="en">', f'<html lang="en" {state}>'),
        ("<title>hexlit</title>", f"<title>{escape(title)}</title>\n  {policy}"),
        (STYLE, f"  <style>\n{style}</style>\n"),
        ("</body>", f'{held}\n<script type="module">{script}</script>\n</body>'),
    ):
        assert page.count(old) == 1, old
        page = page.replace(old, new)
    return page


def as_script(content: Any) -> str:
    """JSON that may stand inside `<script>`: no text in it can end the script or begin a
    comment.
    """
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def review_entry(found: PlyReview, size: int) -> dict[str, Any]:
    """The judgement of a position as the page takes it."""
    return {
        "ply": found.ply,
        "value": found.value,
        "best": "" if found.best is None else format_cell(found.best, size),
        "expected": [format_cell(action, size) for action in found.expected],
        "cost": found.cost,
    }


def node_entry(node: Variation, size: int) -> dict[str, Any]:
    """A node of the tree as the page takes it."""
    entry: dict[str, Any] = {
        "move": "" if node.move < 0 else format_cell(node.move, size),
        "parent": node.parent,
    }
    if node.comment:
        entry["comment"] = node.comment
    if node.labels:
        entry["marks"] = {
            format_cell(cell, size): f"LB:{text}" for cell, text in node.labels.items()
        }
    return entry


def end_of(record: GameRecord, *, claimed: bool = False) -> dict[str, str] | None:
    """The end of a game that the board does not show, as the page takes it; with `claimed` also a
    winner whom only the record names.
    """
    if not record.winner or record.ending == Ending.CONNECTED:
        return None
    if record.ending not in _HOW and not claimed:
        return None
    how = _HOW.get(record.ending, "")
    return {"winner": "black" if record.winner == BLACK else "white", "how": how}


def _digest(script: str) -> str:
    """A script's own name in a content security policy: no other script runs."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


PAGE = Path(str(files("hexlit.web"))) / "page"
"""Folder of the page and its modules."""
FIRST = "main.mjs"
"""The module that the page loads; all others are imported."""
_IMPORT = re.compile(r'^import \{[^{}]*\} from "(\.\.?/(?:\w+/)?\w+\.mjs)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function\*?|class|const|let) )", re.MULTILINE)
_COMMENT = re.compile(r"^ *(?:/\*.*?\*/|//[^\n]*)\n", re.MULTILINE | re.DOTALL)
"""Comments that stand on lines of their own."""
_INDENT = re.compile(r"^ +", re.MULTILINE)
_LOADS = re.compile(r'  <(?:link rel="modulepreload"|script type="module" src=)[^\n]*\n')
"""The lines of the page that load its modules."""


def joined(first: str = FIRST) -> str:
    """One script with the effect of the module `first`, a path from `PAGE`.

    It has all that it imports, each once and after its own imports, without comments.
    """
    texts: dict[Path, str] = {}

    def add(path: Path) -> None:
        if path not in texts:
            text = path.read_text(encoding="utf-8")
            for imported in _IMPORT.findall(text):
                add((path.parent / imported).resolve())
            texts[path] = _COMMENT.sub("", _EXPORT.sub("", _IMPORT.sub("", text)))

    add((PAGE / first).resolve())
    return "\n".join(texts.values())


def packed(first: str = FIRST) -> str:
    """As `joined`, without indentation; no text of the modules goes over several lines."""
    return _INDENT.sub("", joined(first))
