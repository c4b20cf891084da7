"""The installed package, imported from any folder."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_a_script_beside_the_clone_imports_the_package(tmp_path: Path) -> None:
    (tmp_path / "hexlit").symlink_to(
        ROOT
    )  # without an __init__.py: Python could take it for a namespace package
    script = "import hexlit; print(hexlit.Board(3))"
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.stderr == ""
    assert "a" in ended.stdout
