"""Every link leads somewhere: to a file,
a heading or a line that is there. Links to the web have a valid form.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.docs.pages import ROOT, anchors, name_of, pages, prose

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CODE = sorted(
    path
    for folder in ("hexlit", "conf")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".yaml")
)
LINK = re.compile(
    r"!?\[(?:[^\[\]]|\[[^\]]*\]|!\[[^\]]*\]\([^)]*\))*\]\(<?(?P<target>[^\s<>()]+(?:\([^)]*\))?)>?(?: +\"[^\"]*\")?\)"
)
NAMED = re.compile(r"^\s*\[[^\]]+\]: +<?(?P<target>\S+?)>?\s*$")
PART = re.compile(r"<(?:img|a|source)\b[^>]*\b(?:src|href|srcset)=\"(?P<target>[^\"]+)\"")
FILE = re.compile(
    r"(?<![\w./-])(?:docs|tests|conf|hexlit|notebooks|examples|\.ci|\.github)/[\w./-]+\.(?:py|md|ya?ml|ipynb|json|toml)\b"
)


def links(path: Path) -> Iterator[tuple[str, str]]:
    """Place and target of every link of a page; what stands in code is none."""
    for number, line in prose(path):
        plain = re.sub(r"(`+).+?\1", "code", line)
        for pattern in (LINK, NAMED, PART):
            for found in pattern.finditer(plain):
                yield f"{name_of(path)}:{number}", found["target"]
        inner = re.findall(r"\[!\[[^\]]*\]\(([^)\s]+)\)\]", plain)  # a picture that is a link
        yield from ((f"{name_of(path)}:{number}", target) for target in inner)


def what_is_wrong(path: Path, target: str) -> str | None:
    """Why a link of the page `path` leads nowhere; None where it leads somewhere."""
    if re.match(r"\w[\w+.-]*:", target):
        return what_is_wrong_with_url(target)
    name, _, anchor = unquote(target).partition("#")
    file = (path.parent / name).resolve() if name else path
    if not file.is_relative_to(ROOT):
        return "it leads out of the repository"
    if not file.exists():
        return f"there is no {name_of(file)}"
    if anchor and file.suffix == ".md" and anchor not in anchors(file):
        return f"{name_of(file)} has no heading of the anchor #{anchor}"
    if re.fullmatch(r"L\d+", anchor) and int(anchor[1:]) > len(
        file.read_text(encoding="utf-8").splitlines()
    ):
        return f"{name_of(file)} has fewer lines"
    return None


def what_is_wrong_with_url(target: str) -> str | None:
    """Why a link to the web cannot be one. It is not opened."""
    parts = urlsplit(target)
    if parts.scheme == "mailto":
        return None if re.fullmatch(r"[^@\s]+@[\w.-]+", parts.path) else "no address of a person"
    if parts.scheme != "https":
        return "links to the web begin with https"
    return None if re.fullmatch(r"[\w-]+(\.[\w-]+)+(:\d+)?", parts.netloc) else "no name of a host"


@pytest.mark.parametrize("path", [*pages(), *NOTEBOOKS], ids=name_of)
def test_every_link_of_a_page_leads_somewhere(path: Path) -> None:
    found = [(place, target, what_is_wrong(path, target)) for place, target in links(path)]
    wrong = [f"{place}: {target}: {reason}" for place, target, reason in found if reason]
    assert not wrong, "\n".join(wrong)


def test_every_file_that_code_and_pages_name_is_there() -> None:
    """Names of placeholders, such as conf/task/NAME.yaml, have capitals."""
    lines = [
        (path, *line)
        for path in CODE
        for line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    ]
    lines += [(path, *line) for path in pages() for line in prose(path)]
    named = [
        (f"{name_of(path)}:{number}", name)
        for path, number, line in lines
        for name in FILE.findall(line)
    ]
    assert [
        one for one in named if not (ROOT / one[1]).exists() and not re.search(r"[A-Z]{2}", one[1])
    ] == []
