"""Further targets of learning from other packages, trained next to policy and value.

`+targets.NAME=WEIGHT` takes the entry point NAME of the group `hexlit.targets`, which leads to a
module with these parts:

- `KIND`: a word of `KINDS`.
- `of_game(record)`: the targets of a `hexlit.hex.record.GameRecord` of T moves, one row for the
  position before each, on the board as it lies: `[T, size*size]`, or `[T]` for `value`. NaN is
  unknown and teaches nothing.
- `head(config)`, optional: a module from the last features `[B, C, n, n]` of the network of a
  `NetConfig` to `[B, n*n]`, or to `[B]` for `value`.
- `loss(output, target)`, optional: the mean loss of `[B, ...]` and `[B, ...]`, a scalar.

The mover's frame, turned boards and micro-batches are the caller's work. The heads serve training
alone.
"""

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.record import GameRecord
from hexlit.settings import TARGET_GROUP, check_word, loaded

KINDS = ("cells", "policy", "value")
"""`cells`: a number from 0 to 1 for each cell. `policy`: a distribution over the free cells.
`value`: a number from -1 to 1 for the player to move.
"""


class Target(NamedTuple):
    """A further target of a run."""

    name: str
    weight: float
    """Weight of its loss in the total loss."""
    module: Any
    """Its parts."""

    def of_game(self, record: GameRecord) -> NDArray[np.float16]:
        """The targets of a game of T moves, `[T, size*size]` or `[T]`.

        Raises:
            UsageError: its module returns another shape.
        """
        values = np.asarray(self.module.of_game(record), np.float16)
        expected: tuple[int, ...] = (len(record.moves),)
        if self.module.KIND != "value":
            expected += (record.size**2,)
        if values.shape != expected:
            raise UsageError(
                f"targets.{self.name}: of_game returned shape {values.shape}, not {expected}"
            )
        least = -1 if self.module.KIND == "value" else 0
        if (values < least).any() or (values > 1).any():  # NaN is neither
            raise UsageError(
                f"targets.{self.name}: of_game returned {np.nanmin(values):g} to "
                f"{np.nanmax(values):g}, not {least} to 1"
            )
        return values

    @property
    def source(self) -> str:
        """The text of its module, by which its results are kept."""
        return inspect.getsource(self.module)


def load_targets(weights: Mapping[str, float]) -> list[Target]:
    """The targets with `weights` by name.

    Raises:
        UsageError: no installed package brings one, or it is of no known kind.
    """
    result = []
    for name, weight in weights.items():
        check_word("targets", name, (), TARGET_GROUP)
        module = loaded(TARGET_GROUP, name, "targets")
        missing = [part for part in ("KIND", "of_game") if not hasattr(module, part)]
        if missing:
            raise UsageError(f"targets.{name}: its module has no {', '.join(missing)}")
        check_word(f"targets.{name}: KIND", module.KIND, KINDS)
        result.append(Target(name, weight, module))
    return result
