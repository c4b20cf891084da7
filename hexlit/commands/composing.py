"""Hydra composes the configuration once a command, without copies of all that it knows.

Left alone, Hydra composes everything twice: first to learn whether `hydra.mode` asks for a sweep, then to run. It also
copies every registered schema for each group that it lists. Both together are half of the time in which a command
refuses a mistake, and most of that of `--help`.
"""

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hydra._internal.config_repository import ConfigRepository
from hydra._internal.hydra import Hydra

SET_THE_MODE = ("hydra.mode", "hydra.searchpath", "--config", "-cd", "-cn", "-cp")
"""Words of a command line that set `hydra.mode`, or name files that may. No file of `conf` sets it."""


@contextmanager
def composed_once(arguments: Sequence[str]) -> Iterator[None]:
    """In this context Hydra composes once, where nothing in `arguments` can set the mode but `--multirun`."""
    get_mode = Hydra.get_mode
    if not any(word in argument for argument in arguments for word in SET_THE_MODE):
        Hydra.get_mode = lambda *_, **__: None  # type: ignore[method-assign]  # its answer where the mode is not set
    # A copy gets sources of its own, and what the store of schemas gives out is a copy itself.
    ConfigRepository.__deepcopy__ = lambda self, memo: copy.copy(self)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        Hydra.get_mode = get_mode  # type: ignore[method-assign]
        del ConfigRepository.__deepcopy__  # type: ignore[attr-defined]
