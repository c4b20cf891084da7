"""Choices that were measured once on this machine, saved in one small file of the cache folder."""

import json
import logging
from collections.abc import Callable, Sequence

from hexlit.files import named_cache_folder, read_json, write_text_atomic
from hexlit.locks import alone

log = logging.getLogger(__name__)


def cached_choice(key: str, names: Sequence[str], measure: Callable[[], dict[str, float]]) -> str:
    """The fastest name for `key`, from an earlier measurement; measured now if there is none.

    A choice stays, so that the same run gives the same result again. If several processes ask at once, one measures and
    the others wait. A damaged file is measured again. If the file cannot be written, the first name is taken without
    measurement: a choice that cannot be saved could differ the next time.

    Args:
        key: everything that the choice depends on.
        names: the options; the first is preferred among equals.
        measure: seconds of the same work by name; a name that does not work may be absent.
    """
    path = named_cache_folder() / "backends.json"
    try:
        with alone(path.with_name(f"{path.name}.lock")):
            known = read_json(path)
            if key not in known or known[key].get("choice") not in names:
                seconds = measure()
                known[key] = {
                    "choice": fastest(names, seconds),
                    "milliseconds": {name: round(1000 * taken, 4) for name, taken in seconds.items()},
                }
                write_text_atomic(path, json.dumps(known, indent=1) + "\n")
            return str(known[key]["choice"])
    except OSError as error:
        log.warning("%s cannot be written (%s): %s is taken, unmeasured", path, error.strerror, names[0])
        return names[0]


def fastest(names: Sequence[str], seconds: dict[str, float], margin: float = 0.05) -> str:
    """The name with the least seconds; the first of `names` unless another is faster by more than `margin`."""
    worked = [name for name in names if name in seconds]
    if not worked:
        return names[0]
    best = min(worked, key=seconds.__getitem__)
    return best if seconds[best] < (1 - margin) * seconds[worked[0]] else worked[0]
