"""The one exception for impossible requests of the user, and what separates errors of the user's
code from others.
"""

import sysconfig
import traceback
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_INSTALLED = {"site-packages", "dist-packages"}
_PYTHON = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")]


def printable(text: str, instead: str = " ") -> str:
    """`text` with each unprintable sign, such as a line end or one that turns the direction of
    writing, replaced.
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else instead for sign in text)


class UsageError(ValueError):
    """Wrong input from outside: a config value, a file, a move, a device.

    The message is a single line that names the value and what would be right. The command line
    prints it and ends with exit code 2, and a notebook shows it alone; any other exception is a bug
    and keeps its traceback.

    >>> import hexlit
    >>> try:
    ...     hexlit.Board(3, moves="z9")
    ... except hexlit.UsageError as mistake:
    ...     print(mistake)
    move 'z9': a move on a 3x3 board is a cell from a1 to c3, or swap-pieces
    """

    def __init__(self, message: str) -> None:
        """The `message` may quote a file of somebody else; it becomes one printable line."""
        super().__init__(printable(message))

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython shows."""
        return [f"{type(self).__name__}: {self}"]


def error_of_foreign_code(error: BaseException | None) -> BaseException | None:
    """The first of `error` and its causes that came out of somebody's code; None if there is none.

    That is code outside hexlit, Python and the installed packages, such as a callback in the user's
    folder.
    """
    while error is not None:
        if any(
            is_foreign_file(frame.f_code.co_filename)
            for frame, _ in traceback.walk_tb(error.__traceback__)
        ):
            return error
        error = error.__cause__
    return None


def is_foreign_file(file: str) -> bool:
    """Whether a file is none of hexlit, of Python and of the installed packages."""
    path = Path(file)
    if file.startswith("<") or not _INSTALLED.isdisjoint(path.parts):
        return False
    return not any(path.resolve().is_relative_to(folder) for folder in (_HERE, *_PYTHON))
