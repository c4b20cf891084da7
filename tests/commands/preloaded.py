"""Programs in processes of their own, which find imported what a training or a sweep needs: that
alone takes seconds.

Each process is forked from one that has imported and done nothing else, so that a program can be
killed, and leaves nothing behind for the next one.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.commands.what_is_preloaded"])

HEXLIT = "import sys; from hexlit.cli import main; sys.exit(main(sys.argv[1:]))"
"""The program `hexlit`."""


def run_program(program: str, *arguments: str) -> tuple[int, str]:
    """Exit code, below 0 for the signal that ended it,
    and output of the Python text `program`; as `python -c`.
    """
    done = run_apart(program, *arguments)
    return done.returncode, done.stdout + done.stderr


def run_apart(
    program: str,
    *arguments: str,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` of `python -c program`, in `folder` with `environment`; standard input is
    empty.

    Raises:
        subprocess.TimeoutExpired: it took longer than `seconds`; it is killed.
    """
    place = str(folder or Path.cwd()), dict(os.environ if environment is None else environment)
    with tempfile.TemporaryDirectory() as room:
        outputs = str(Path(room) / "out"), str(Path(room) / "err")
        process = _CONTEXT.Process(target=_run, args=(program, arguments, outputs, *place))
        process.start()
        process.join(seconds)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(program, seconds or 0.0)
        said = [Path(output).read_text(errors="replace") for output in outputs]
    return subprocess.CompletedProcess([program, *arguments], process.exitcode, *said)


def _run(
    program: str,
    arguments: tuple[str, ...],
    outputs: tuple[str, str],
    folder: str,
    environment: dict[str, str],
) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    out, err = (os.open(output, os.O_WRONLY | os.O_CREAT) for output in outputs)
    for descriptor, source in ((0, nothing), (1, out), (2, err)):
        os.dup2(source, descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # of this environment
    sys.path[:0] = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.argv = ["-c", *arguments]
    exec(compile(program, "<program>", "exec"), {"__name__": "__main__"})
