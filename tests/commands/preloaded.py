"""Programs in processes of their own, which find imported what a training needs: that alone takes seconds.

Each process is forked from one that has imported and done nothing else, so that a program can be killed, and leaves
nothing behind for the next one.
"""

import multiprocessing
import os
import sys
import tempfile
from pathlib import Path

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["hexlit.commands.hex_task"])


def run_program(program: str, *arguments: str) -> tuple[int, str]:
    """Exit code, below 0 for the signal that ended it, and output of the Python text `program`; as `python -c`."""
    with tempfile.TemporaryDirectory() as room:
        output = Path(room) / "output"
        place = (str(Path.cwd()), dict(os.environ))
        process = _CONTEXT.Process(target=_run, args=(program, arguments, str(output), *place))
        process.start()
        process.join()
        assert process.exitcode is not None
        return process.exitcode, output.read_text(errors="replace")


def _run(program: str, arguments: tuple[str, ...], output: str, folder: str, environment: dict[str, str]) -> None:
    nothing, written = os.open(os.devnull, os.O_RDONLY), os.open(output, os.O_WRONLY | os.O_CREAT)
    for descriptor, source in ((0, nothing), (1, written), (2, written)):
        os.dup2(source, descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["-c", *arguments]
    exec(compile(program, "<program>", "exec"), {"__name__": "__main__"})
