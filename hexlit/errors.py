"""The one exception for impossible requests of the user."""


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

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython shows."""
        return [f"{type(self).__name__}: {self}"]
