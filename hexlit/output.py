"""Standard output and error of a command, whose loss does not end its work.

A reader may go away (`hexlit train | head`), the disk behind a redirection may be full, and a
terminal may not know a sign. The work is worth more than its display: it goes on, and the log has a
line.
"""

import errno
import io
import logging
import os
import sys
from pathlib import Path
from typing import TextIO

log = logging.getLogger(__name__)

MISLEADING = dict.fromkeys(
    [*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x2028, 0x2029], " "
)
"""Signs that reverse the text around them or break a line, as a name in somebody's file may have
them.
"""


class DisplayFile(io.FileIO):
    """A file descriptor for output. After a failed write it leads nowhere, and further writes
    succeed.

    Attributes:
        error: the reason of the loss; None while all is written.
    """

    error: OSError | None = None

    def write(self, data: "bytes | bytearray | memoryview") -> int | None:  # type: ignore[override]
        """Write `data`; after a loss all of it counts as written."""
        try:
            return super().write(data)
        except BlockingIOError:
            raise
        except OSError as error:
            self.error = error
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            level = logging.INFO if error.errno == errno.EPIPE else logging.WARNING
            log.log(
                level,
                "the output cannot be written (%s); the work goes on without it",
                error.strerror,
            )
            return len(data)


class Display(io.TextIOWrapper):
    """Text for people on a file descriptor: what its encoding lacks is replaced, misleading signs
    are blanks.
    """

    def write(self, text: str, /) -> int:
        """Write `text`, and return its length."""
        super().write(text.translate(MISLEADING))
        return len(text)


def display_of(stream: TextIO) -> tuple[Display, DisplayFile]:
    """A display on the descriptor of `stream`, with the same encoding and buffering, and its
    file.
    """
    stream.flush()
    file = DisplayFile(stream.fileno(), "wb", closefd=False)
    errors = "backslashreplace" if stream is sys.stderr else "replace"
    by_line = bool(stream.line_buffering or getattr(stream, "write_through", False))
    buffer = io.BufferedWriter(file)  # type: ignore[type-var]  # a file is a raw stream
    display = Display(buffer, stream.encoding, errors, line_buffering=by_line)
    return display, file


def use_displays() -> DisplayFile:
    """Replace `sys.stdout` and `sys.stderr` by displays; returns the file of the first."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed before the start, as by `>&-`
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open to the end
            setattr(sys, name, nowhere)
            setattr(sys, f"__{name}__", nowhere)  # as usual, the original stays open
    error_display, _ = display_of(sys.stderr)
    display, file = display_of(sys.stdout)
    sys.stdout, sys.stderr = display, error_display
    return file
