"""The one exception for impossible requests of the user."""


def printable(text: str, instead: str = " ") -> str:
    """`text` with each unprintable sign, such as a line end or one that turns the direction of writing, replaced."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else instead for sign in text)


class UsageError(ValueError):
    """Wrong input from outside: a config value, a file, a move, a device.

    The message is a single line that names the value and says what would be right. The command line prints it and
    ends with exit code 2, and a notebook shows it alone; any other exception is a bug and keeps its traceback.

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
