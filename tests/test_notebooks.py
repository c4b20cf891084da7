"""The notebooks as they lie in git; `pytest --nbmake notebooks` runs them."""

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
METADATA = {"kernelspec", "language_info"}


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stripped(path: Path) -> None:
    notebook = read(path)
    assert set(notebook["metadata"]) <= METADATA
    assert set(notebook["metadata"]["language_info"]) == {"name"}
    for cell in notebook["cells"]:
        assert cell["metadata"] == {}
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_a_lesson(path: Path) -> None:
    """It begins with a title, says something before each few cells of code,
    and speaks to hexlit by its Python API.
    """
    cells = read(path)["cells"]
    assert "".join(cells[0]["source"]).startswith("# ")
    kinds = "".join("t" if cell["cell_type"] == "markdown" else "c" for cell in cells)
    assert "cccc" not in kinds
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    assert "import hexlit" in code
    assert not any(line.lstrip().startswith(("!", "%")) for line in code.splitlines())
