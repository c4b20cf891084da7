"""Sentences that a reader may have to read twice, in docstrings and Markdown.

    python tests/plain_english.py                  # hexlit, README.md, docs, CHANGELOG.md, CONTRIBUTING.md
    python tests/plain_english.py hexlit/search    # some of it

A hit is a suspect, not a verdict: read the sentence, and rewrite it if a plainer one says the same.
`tests/docs/test_plain_english.py` holds the number of all hits below a limit, which only falls.
"""

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACES = ("hexlit", "README.md", "docs", "CHANGELOG.md", "CONTRIBUTING.md")
LONGEST = 30
"""Words of a sentence that still reads in one go."""

SUSPECT = {
    "opens with what, where, whose or which": r"^(What|Where|Whose|Whom|Which)\b(?!.*\?$)",
    "circumscribes (with which, of which ...)": (
        r"\b(with|of|by|in|from|to|for|on|at|over|after|before|under) (which|whom|whose)\b"
    ),
    "inverts (so is, nor does ...)": r"(?i)\b(so (is|are|does|do|has|have) |(nor|neither) (is|does|are) )",
    "old or rare word": (
        r"(?i)\b(likewise|anew|besides|whereby|thereof|therein|hereby|whither|lest|of late|ere|unto|amongst|whilst)\b"
    ),
    "go on (continue, resume)": r"(?i)\b(go|goes|going|went|gone) on\b",
    "a person for a program (he, him, his)": r"\b(he|him|his)\b",
    "nobody, no one (say what is)": r"(?i)\b(nobody|no one|not one)\b",
}
"""Reason -> pattern of a sentence whose inline code was replaced by the word `code`."""

END_OF_SENTENCE = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z`*])")
END_OF_BLOCK = re.compile(r"\n\s*\n|\n\s*(?=(?:[\w.\[\]*, ]+: |[-*] ))")
"""An empty line, or the next argument or item of a list in a docstring."""


@dataclass(frozen=True)
class Suspect:
    """A sentence, where it stands, and why it is suspect."""

    path: Path
    line: int
    reason: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.reason}: {self.sentence[:200]}"


def docstrings(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of every docstring of a module, those of attributes included."""
    for node in ast.walk(ast.parse(text)):
        for child in ast.iter_child_nodes(node):
            if (
                isinstance(child, ast.Expr)
                and isinstance(child.value, ast.Constant)
                and isinstance(child.value.value, str)
            ):
                yield child.lineno, child.value.value


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of every paragraph, item and cell of Markdown; headings and fenced blocks are left out."""
    fenced, start, lines = False, 0, list[str]()
    for number, line in enumerate([*text.splitlines(), ""], 1):
        bare = line.strip()
        fence = bare.startswith("```")
        fenced ^= fence
        no_prose = fenced or fence or not bare or bare.startswith(("#", "|", "<!--"))
        if lines and (no_prose or re.match(r"([-*]|\d+\.) ", bare)):
            yield start, " ".join(lines)
            lines = []
        if not no_prose:
            start = start if lines else number
            lines.append(bare)
        elif bare.startswith("|") and not fenced:
            yield from ((number, cell.strip()) for cell in bare.strip("|").split("|"))


def reasons(text: str) -> Iterator[tuple[str, str]]:
    """Reason and sentence of everything suspect in a docstring or a paragraph."""
    for block in END_OF_BLOCK.split(text):
        if block.lstrip().startswith(">>>"):  # an example
            continue
        for sentence in END_OF_SENTENCE.split(" ".join(block.split())):
            plain = re.sub(r"`[^`]*`", "code", sentence)
            yield from ((reason, sentence) for reason, pattern in SUSPECT.items() if re.search(pattern, plain))
            words = len(re.findall(r"[A-Za-z']+", plain))
            if words > LONGEST:
                yield f"over {LONGEST} words ({words})", sentence


def suspects(places: Sequence[Path]) -> Iterator[Suspect]:
    """All suspects of these files and folders, in order; a place that is not there has none."""
    for place in places:
        files = (
            [path for path in sorted(place.rglob("*")) if path.suffix in (".py", ".md")] if place.is_dir() else [place]
        )
        for path in filter(Path.exists, files):
            text = path.read_text(encoding="utf-8")
            for line, block in docstrings(text) if path.suffix == ".py" else paragraphs(text):
                for reason, sentence in reasons(block):
                    yield Suspect(path, line, reason, sentence)


def main() -> int:
    """Print the suspects, then how many there are of each kind."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("places", nargs="*", type=Path, help="files and folders (default: all that is read)")
    places = [path.resolve() for path in parser.parse_args().places] or [ROOT / place for place in PLACES]
    found = list(suspects(places))
    for suspect in found:
        print(suspect)
    for reason, count in Counter(re.sub(r" \(\d+\)", "", one.reason) for one in found).most_common():
        print(f"{count:6}  {reason}", file=sys.stderr)
    print(f"{len(found):6}  in all", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
