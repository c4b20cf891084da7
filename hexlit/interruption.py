"""An orderly end after Ctrl-C or SIGTERM, the signal of batch systems: the user learns how to
continue.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

RESUME_HINT_PRINTED = "what is kept, and how to go on, was printed"
"""Note on an interruption after the two lines of `prints_resume_hint`."""


@contextmanager
def prints_resume_hint(command: str, kept: str, again: str) -> Iterator[None]:
    """In the block SIGTERM acts as Ctrl-C. Either prints two lines to the error stream.

    Args:
        command: the program, such as `hexlit match`.
        kept: the saved results and their place.
        again: the shell command that continues.
    """
    main = threading.current_thread() is threading.main_thread()  # the only one that may set it
    before = signal.signal(signal.SIGTERM, signal.default_int_handler) if main else None
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as stop:
        if is_interruption(stop) and RESUME_HINT_PRINTED not in getattr(stop, "__notes__", ()):
            print(
                f"\n{command}: interrupted; {kept}\nTo continue: {again}",
                file=sys.stderr,
                flush=True,
            )
            stop.add_note(RESUME_HINT_PRINTED)
        raise
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)


def is_interruption(stop: BaseException) -> bool:
    """Whether `stop` is Ctrl-C, or the exit that Lightning makes of it."""
    return isinstance(stop, KeyboardInterrupt) or isinstance(stop.__context__, KeyboardInterrupt)
