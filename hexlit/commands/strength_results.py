"""The document of a strength run: kept in its folder, and printed."""

from json import dumps
from pathlib import Path
from typing import Any

Document = dict[str, Any]

RESULTS_FILE = "strength.json"


def write(folder: Path, document: Document) -> None:
    """Write the document, its tables and its figures into `folder`."""
    from hexlit.files import replacing, write_text_atomic
    from hexlit.reporting.figures import draw
    from hexlit.reporting.strength_figures import growth_figure, reliability_figure

    write_text_atomic(folder / RESULTS_FILE, as_json(document) + "\n")
    write_text_atomic(folder / "strength.md", as_markdown(document))
    if document["what"] == "truth":
        for name, figure in (("reliability", reliability_figure), ("growth", growth_figure)):
            with replacing(folder / f"{name}.svg") as temporary:
                temporary.write_bytes(draw(figure, document))


def show(document: Document, folder: Path, *, json: bool, markdown: bool) -> None:
    """Print the document: as JSON, as Markdown, or as tables for a terminal."""
    from rich.console import Console
    from rich.text import Text

    from hexlit.reporting.search_quality import print_search
    from hexlit.reporting.strength_tables import print_truth

    if json:
        print(as_json(document))
    elif markdown:
        print(as_markdown(document))
    else:
        console = Console(highlight=False)
        (print_truth if document["what"] == "truth" else print_search)(console, document)
        console.print(Text(f"\nwritten to {folder}", "dim"), soft_wrap=True)


def as_json(document: Document) -> str:
    """The document as JSON, without NaN and infinities, which JSON does not know."""
    return dumps(document, indent=2, allow_nan=False)


def as_markdown(document: Document) -> str:
    """The document's tables."""
    from hexlit.reporting.search_quality import search_markdown
    from hexlit.reporting.strength_tables import truth_markdown

    return (truth_markdown if document["what"] == "truth" else search_markdown)(document)
