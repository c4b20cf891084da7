"""Tables as a run leaves them."""

import csv
from pathlib import Path


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a table."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
