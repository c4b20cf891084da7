"""The one exception for impossible requests of the user."""


class UsageError(ValueError):
    """Wrong input from outside: a config value, a file, a move, a device.

    The message is a single line that names the value and says what would be right. The command line prints it and
    ends with exit code 2, and a notebook shows it alone; any other exception is a bug and keeps its traceback.
    """

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython shows."""
        return [f"{type(self).__name__}: {self}"]
