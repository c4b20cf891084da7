"""The examples of the README and of `docs/` work as they are printed: Python runs, settings in
other languages parse.

`<!-- run: NAME -->` above a block says that it runs. The blocks of one page with one NAME run in
order, in one temporary folder; neighbouring blocks of Python are one program. `<!-- file: PATH run:
NAME -->` says that the block is a file of that folder; without a NAME it is that of the next block
that runs. `<!-- run: NAME slow -->` leaves a NAME to `pytest -m slow`.
"""

import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tests.commands.preloaded import HEXLIT, run_apart
from tests.docs.pages import Fence, fences, manual, name_of
from tests.docs.shell import SHELLS, commands_of_fence

LONGEST = 900.0
"""Seconds that a block may take."""


def examples(*, slow: bool) -> list[Any]:
    """The blocks of each page and NAME, the slow ones or the others."""
    found = []
    for page in manual():
        named: dict[str, list[Fence]] = {}
        files: list[Fence] = []
        for fence in fences(page):
            if "run" in fence.marks:
                named.setdefault(fence.marks["run"], []).extend([*files, fence])
                files = []
            elif "file" in fence.marks:
                files.append(fence)
        assert not files, (
            f"{files[0].place}: no block behind this file runs; name it, <!-- file: PATH run: NAME -->"
        )
        for name, blocks in named.items():
            if any("slow" in block.marks for block in blocks) is slow:
                found.append(pytest.param(blocks, id=f"{name_of(page)}-{name}"))
    return found


def steps(blocks: list[Fence]) -> Iterator[tuple[str, list[Fence]]]:
    """What is done with the blocks, in order: a file is written, Python or shell runs."""

    def kind(block: Fence) -> str:
        return (
            "file" if "file" in block.marks else "shell" if block.language in SHELLS else "python"
        )

    for name, group in groupby(blocks, kind):
        yield name, list(group)


def run_example(blocks: list[Fence], folder: Path) -> None:
    """Do all steps in `folder`."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "HEXLIT_SLOTS": str(folder / "slots")}
    for kind, group in steps(blocks):
        if kind == "file":
            for block in group:
                path = folder / block.marks["file"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text, encoding="utf-8")
        elif kind == "python":
            program = "\n".join(block.text for block in group)
            done = run_apart(program, folder=folder, environment=environment, seconds=LONGEST)
            assert done.returncode == 0, f"{group[0].place}:\n{done.stdout}{done.stderr}"
        else:
            for command in (command for block in group for command in commands_of_fence(block)):
                assert command.words[0] == "hexlit", (
                    f"{command.place}: only commands of hexlit run here"
                )
                done = run_apart(
                    HEXLIT,
                    *command.words[1:],
                    folder=folder,
                    environment=environment,
                    seconds=LONGEST,
                )
                assert done.returncode == 0, f"{command.place}:\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("blocks", examples(slow=False))
def test_an_example_runs(blocks: list[Fence], tmp_path: Path) -> None:
    run_example(blocks, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("blocks", examples(slow=True))
def test_a_slow_example_runs(blocks: list[Fence], tmp_path: Path) -> None:
    run_example(blocks, tmp_path)
