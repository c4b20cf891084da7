"""A table of text for a terminal or for Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group
from rich.table import Table
from rich.text import Text


@dataclass(frozen=True)
class Grid:
    """Headings and rows of text. The first `names` columns are names, at the left; the rest are numbers."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1

    def as_table(self) -> Group:
        """The table for a terminal."""
        table = Table(box=None, padding=(0, 2, 0, 0))
        for column, heading in enumerate(self.headings):
            table.add_column(heading, justify="left" if column < self.names else "right", header_style="dim")
        for row in self.rows:
            table.add_row(*row)
        return Group(Text(self.title, "bold"), table)  # a table's own title would wrap at its width

    def as_markdown(self) -> str:
        """The table for a README or an issue."""
        rule = ["---" if column < self.names else "---:" for column in range(len(self.headings))]
        lines = [list(self.headings), rule, *self.rows]
        table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
        return f"**{self.title}**\n\n{table}\n"
