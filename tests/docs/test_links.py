"""Every link leads somewhere: to a file, a heading or a line that is there. Links to the web have a valid form."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.docs.pages import ROOT, anchors, name_of, pages, prose

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CODE = sorted(
    path for folder in ("hexlit", "conf") for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".yaml")
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
    if re.fullmatch(r"L\d+", anchor) and int(anchor[1:]) > len(file.read_text(encoding="utf-8").splitlines()):
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


@pytest.mark.row("F14")
@pytest.mark.parametrize("path", [*pages(), *NOTEBOOKS], ids=name_of)
def test_every_link_of_a_page_leads_somewhere(path: Path) -> None:
    found = [(place, target, what_is_wrong(path, target)) for place, target in links(path)]
    wrong = [f"{place}: {target}: {reason}" for place, target, reason in found if reason]
    assert not wrong, "\n".join(wrong)


@pytest.mark.row("F14")
@pytest.mark.parametrize("folder", ["hexlit", "conf"])
def test_every_file_that_code_names_is_there(folder: str) -> None:
    """Names of placeholders, such as conf/task/NAME.yaml, have capitals."""
    wrong = []
    for path in CODE:
        if not path.is_relative_to(ROOT / folder):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for name in FILE.findall(line):
                if not (ROOT / name).exists() and not re.search(r"[A-Z]{2}", name):
                    wrong.append(f"{name_of(path)}:{number}: there is no {name}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.row("F14")
@pytest.mark.parametrize("path", pages(), ids=name_of)
def test_every_file_that_a_page_names_is_there(path: Path) -> None:
    wrong = [
        f"{name_of(path)}:{number}: there is no {name}"
        for number, line in prose(path)
        for name in FILE.findall(line)
        if not (ROOT / name).exists() and not re.search(r"[A-Z]{2}", name)
    ]
    assert not wrong, "\n".join(wrong)


def test_what_is_wrong_with_a_link_is_found(tmp_path: Path) -> None:
    readme = ROOT / "README.md"
    assert what_is_wrong(readme, "LICENSE") is None
    assert what_is_wrong(readme, "hexlit/cli.py#L3") is None
    assert what_is_wrong(readme, "hexlit/nowhere.py") == "there is no hexlit/nowhere.py"
    assert what_is_wrong(readme, "#nowhere") == "README.md has no heading of the anchor #nowhere"
    assert what_is_wrong(readme, "../other.md") == "it leads out of the repository"
    assert what_is_wrong(readme, "http://example.org") == "links to the web begin with https"
    assert what_is_wrong(readme, "https://example") == "no name of a host"


def test_links_of_all_kinds_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.docs.pages.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        '[a](b.md#c) and [Hex](https://en.wikipedia.org/wiki/Hex_(board_game)), `[no](link)`\n<img src="d.png">\n'
        "[e]: f.md\n[![picture](g.svg)](h.md)\n```sh\n[no](link)\n```\n"
    )
    assert {target for _, target in links(page)} == {
        "b.md#c",
        "https://en.wikipedia.org/wiki/Hex_(board_game)",
        "d.png",
        "f.md",
        "g.svg",
        "h.md",
    }
