"""Overrides that a folder has saved: they may come from somebody else, so none of them may run code
by itself.

`resume=` and `+best=` read them. Three settings of a run start code: callbacks name Python classes,
players may be programs, and a Ray cluster exchanges pickles. Such an override has effect only if it
is typed again. Hydra's settings, which name classes too, are never saved and always refused.
"""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from hexlit.errors import UsageError

RAY_ADDRESS = "ray.address"


def setting_of(override: str) -> str:
    """The setting that `override` belongs to: the first part of its key, such as `callbacks`; in
    full for Ray's.
    """
    key = override.lstrip("+~ ").partition("=")[0]
    return RAY_ADDRESS if key == RAY_ADDRESS else re.split(r"[.@/:\[\s]", key)[0]


def runs_code(override: str) -> bool:
    """Whether `override` starts code of its author's choice."""
    setting = setting_of(override)
    if setting == "players":  # a player may be a program, and an interpolation may hide one
        return any(sign in override for sign in ("htp", "$", "\\"))
    if setting == RAY_ADDRESS:  # that of another machine
        return override.partition("=")[2] not in ("auto", "null")
    return setting == "callbacks"


def trusted(saved: Sequence[str], typed: Sequence[str], source: Path, key: str) -> list[str]:
    """The overrides `saved` in the file `source` that have effect next to those `typed` on the
    command line.

    One that runs code is left out: where it counts, it is among the typed ones.

    Args:
        saved: the content of the file.
        typed: the overrides of the command line.
        source: the file.
        key: the setting that named it, such as `resume`.

    Raises:
        UsageError: one is a setting of Hydra, or runs code and neither it nor its section is typed
            again.
    """
    result = []
    typed_again = {setting_of(override) for override in typed}
    for override in saved:
        if re.search(r"(^|@)hydra\b", override.lstrip("+~ ").partition("=")[0]):
            raise UsageError(
                f"{source}: {override}: Hydra's own settings are not read from a file; remove that line"
            )
        if not runs_code(override):
            result.append(override)
        elif setting_of(override) not in typed_again:
            again = " ".join(shlex.quote(one) for one in saved if runs_code(one))
            without = ", or callbacks={} for none" if setting_of(override) == "callbacks" else ""
            raise UsageError(
                f"{key}: {override} of {source} runs code; type it again to allow that: {again}{without}"
            )
    return result
