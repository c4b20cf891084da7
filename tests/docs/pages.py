"""The pages that people read, taken apart: fenced blocks,
what is said around them, links and headings.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ROOT / "docs" / "reference.md"
"""The page that comes from the code, with the examples of `--help`."""
MARK = re.compile(r"<!-- +(.*?) +-->")
FENCE = re.compile(r"(?P<indent> *)(?P<ticks>```+)(?P<language>[\w-]*).*")


def manual() -> list[Path]:
    """The README and the pages of `docs/`, whose commands and examples work."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def pages() -> list[Path]:
    """All Markdown files of the project's own."""
    others = [
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        *sorted((ROOT / ".github").rglob("*.md")),
    ]
    return [*manual(), *(path for path in others if path.exists())]


def name_of(path: Path) -> str:
    """`path` as seen from the top of the repository."""
    return path.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Fence:
    """A fenced block of code."""

    page: str
    """Its file, as seen from the top of the repository."""
    line: int
    """Number of its first line of code."""
    language: str
    """The word behind the backticks, such as `sh`; empty where there is none."""
    text: str
    """Its lines, without the indent of a list that it stands in."""
    marks: dict[str, str] = field(default_factory=dict)
    """Comments right above it: `<!-- file: PATH run: NAME -->` gives file -> PATH and run -> NAME.

    Words alone, as in `<!-- slow -->`, have the value "".
    """

    @property
    def place(self) -> str:
        """File and line, for messages."""
        return f"{self.page}:{self.line}"


def fences(path: Path) -> Iterator[Fence]:
    """The fenced blocks of a page, in order."""
    marks: dict[str, str] = {}
    lines = iter(enumerate(path.read_text(encoding="utf-8").splitlines(), 1))
    for number, line in lines:
        opening = FENCE.fullmatch(line)
        if opening is None:
            mark = MARK.fullmatch(line.strip())
            if mark is not None:
                marks |= marks_of(mark[1])
            elif line.strip():
                marks = {}
            continue
        block = []
        for _, inside in lines:
            if inside.strip() == opening["ticks"]:
                break
            block.append(inside.removeprefix(opening["indent"]))
        yield Fence(name_of(path), number + 1, opening["language"], "\n".join(block) + "\n", marks)
        marks = {}


def marks_of(comment: str) -> dict[str, str]:
    """Key -> value of `run: NAME slow`."""
    marks = {}
    words = iter(comment.split())
    for word in words:
        marks[word.removesuffix(":")] = next(words, "") if word.endswith(":") else ""
    return marks


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Number and text of every line of a page outside fenced blocks;
    of a notebook, of its Markdown cells.
    """
    if path.suffix == ".ipynb":
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        yield from enumerate("\n".join(texts).splitlines(), 1)
        return
    ticks = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.fullmatch(line)
        if fence is not None and not ticks:
            ticks = fence["ticks"]
        elif ticks and line.strip() == ticks:
            ticks = ""
        elif not ticks:
            yield number, line


def code_spans(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of every piece of inline code;
    one that is broken over two lines counts, too.
    """
    rows = list(prose(path))
    text = "\n".join(line for _, line in rows)
    for span in re.finditer(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", text, re.DOTALL):
        if "\n\n" not in span[2]:
            yield (
                rows[text.count("\n", 0, span.start())][0],
                " ".join(span[2].split()).replace("\\|", "|"),
            )


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, and those that it sets itself.

    A heading's anchor is formed as GitHub does, and for the pages of `docs/` as MkDocs does, too,
    which puts one hyphen where GitHub puts several.
    """
    found: list[str] = []
    for _, line in prose(path):
        heading = re.fullmatch(r"#{1,6} +(.*?)(?: *\{#(?P<own>[\w-]+)\})? *#*", line)
        if heading is not None:
            bare = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", heading[1]).lower()
            anchor = heading["own"] or re.sub(r"[^\w\- ]", "", bare).strip().replace(" ", "-")
            number = found.count(anchor)
            found.append(anchor)
            found += [f"{anchor}-{number}"] if number else []
            if path.is_relative_to(ROOT / "docs"):
                found.append(re.sub(r"-+", "-", anchor))
        found += re.findall(r"<a (?:id|name)=\"([\w-]+)\"", line)
    return {*found}
