"""Hydra composes the configuration once per command.

By default it composes everything twice: first to see whether `hydra.mode` asks for a sweep, then to run.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hydra._internal.hydra import Hydra
from hydra.types import RunMode

NAME_FILES = ("hydra.searchpath", "--config", "-cd", "-cn", "-cp")
"""Words of a command line that load files outside `conf`, which may set the mode. No file of `conf` does."""


@contextmanager
def composed_once(arguments: Sequence[str]) -> Iterator[None]:
    """In this context Hydra composes once, unless `arguments` name files that may set the mode."""
    get_mode = Hydra.get_mode
    set_here = [argument.removeprefix("hydra.mode=") for argument in arguments if "hydra.mode" in argument]
    if {*set_here} <= {*RunMode.__members__} and not any(word in one for one in arguments for word in NAME_FILES):
        mode = RunMode[set_here[-1]] if set_here else None
        Hydra.get_mode = lambda *_, **__: mode  # type: ignore[method-assign]
    try:
        yield
    finally:
        Hydra.get_mode = get_mode  # type: ignore[method-assign]
