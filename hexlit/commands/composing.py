"""Hydra composes the configuration once per command, without copies of all that it knows.

By default Hydra composes everything twice: first to see whether `hydra.mode` asks for a sweep, then to run. It also
copies every registered schema for each group that it lists. Together this takes half of the time of a refused
command, and most of the time of `--help`.
"""

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hydra._internal.config_repository import ConfigRepository
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
    # A copy has sources of its own, and the store of schemas gives out copies itself.
    ConfigRepository.__deepcopy__ = lambda self, memo: copy.copy(self)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        Hydra.get_mode = get_mode  # type: ignore[method-assign]
        del ConfigRepository.__deepcopy__  # type: ignore[attr-defined]
