"""The document of a strength run: kept in its folder, and printed."""

from json import dumps
from pathlib import Path
from typing import Any

Document = dict[str, Any]

RESULTS_FILE = "strength.json"


def write(folder: Path, document: Document) -> None:
    """Write the document, its tables and its figures into `folder`."""
    from hexlit.files import replacing, write_text_atomic
    from hexlit.reporting.charts import draw_data
    from hexlit.reporting.strength import growth_chart, reliability_charts, strength_page
    from hexlit.reporting.text import markdown

    write_text_atomic(folder / RESULTS_FILE, as_json(document) + "\n")
    write_text_atomic(folder / "strength.md", markdown(strength_page(document)))
    if document["what"] == "truth":
        for name, _, chart in (growth_chart(document), *reliability_charts(document)):
            with replacing(folder / f"{name}.svg") as temporary:
                temporary.write_bytes(draw_data(chart))


def show(document: Document, folder: Path, *, json: bool, markdown: bool) -> None:
    """Print the document: as JSON, as Markdown, or as tables for a terminal."""
    from rich.text import Text

    from hexlit.reporting import text
    from hexlit.reporting.strength import strength_page

    if json:
        print(as_json(document))
    elif markdown:
        print(text.markdown(strength_page(document)))
    else:
        console = text.terminal(wide=150)
        text.show(strength_page(document), console)
        console.print(Text(f"\nwritten to {folder}", "dim"), soft_wrap=True)


def as_json(document: Document) -> str:
    """The document as JSON, without NaN and infinities, which JSON does not know."""
    return dumps(document, indent=2, allow_nan=False)
