"""Parts that other installed packages bring, found by their entry points.

A name alone leads to a part, and only to one of an installed package: no setting and no file names a module to import.
To read the entry points takes a tenth of a second, so hexlit looks among its own names first.
"""

from functools import cache
from importlib.metadata import EntryPoints, entry_points

TASK_GROUP = "hexlit.tasks"
"""Tasks; each entry point leads to a `hexlit.commands.tasks.TaskEntry`."""
BLOCK_GROUP = "hexlit.blocks"
"""Residual blocks for `net.block`; each entry point leads to a callable, see `hexlit.nets.outside_blocks`."""


@cache
def entry_points_of(group: str) -> EntryPoints:
    """The entry points of `group`, none of them loaded; `names` has their names."""
    return entry_points(group=group)
