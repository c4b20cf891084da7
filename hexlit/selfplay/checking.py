"""Whether rows of a table are games: the one check on every way into the program, of whole columns at once.

It checks all that compiled code and learning trust: no empty field, values in their ranges, legal moves.
`hexlit.selfplay.importing` compares the result with the board.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hexlit.hex.jit import kernel
from hexlit.hex.record import Ending

LATER_COLUMNS = ("black", "white", "source", "surprises")
"""Columns that files of earlier versions do not have; empty fields there are empty texts and lists."""

_PLAIN = ("size", "swap", "winner", "ending", "opening", "would_resign")

SMALLEST, LARGEST = 2, 26
"""Rows of a board."""

_RANGES = {
    "size": (SMALLEST, LARGEST),
    "winner": (-1, 1),
    "would_resign": (-1, 1),
    "values": (-1.001, 1.001),
    "simulations": (0, np.inf),
    "policies": (0, 1.001),
    "surprises": (0, float(np.finfo(np.float32).max)),
}
"""Least and largest value, or the same of every value in a list; means of values may be off by rounding."""

_LENGTHS = {"values": "moves", "simulations": "moves", "surprises": "policy_plies"}
"""A column of lists -> the one whose lists are as long, unless its own are empty."""


class Fault(NamedTuple):
    """The error of one row."""

    row: int
    """Number of the row, from 0."""
    reason: str
    """A few words for the kind of error."""
    said: str
    """One sentence about this row."""


class _List(NamedTuple):
    """A column of lists."""

    values: NDArray[Any]
    """Values of all rows, one row after the other; 0 or NaN for an empty field."""
    lengths: NDArray[np.int64]
    """Length of the list of each row, `[R]`."""

    @classmethod
    def of(cls, column: pa.Array) -> "_List":
        lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        return cls(_filled(column.flatten()), lengths)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The row of each value."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def rows_with(self, wrong: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Rows with a `wrong` value, `[R]`."""
        return np.bincount(self.rows[wrong], minlength=len(self.lengths)) > 0


def faults_of(table: pa.Table) -> list[Fault]:
    """The errors of `table` in the order of its rows, one per row at most.

    The table has columns of `hexlit.selfplay.store.SCHEMA`, with its types; `size`, `swap`, `moves`, `winner`,
    `ending`, `opening` and `values` at least.
    """
    faults: dict[int, Fault] = {}

    def mark(wrong: NDArray[np.bool_], reason: str, said: str, values: Any = None) -> None:
        """Give this fault to the `wrong` rows without one; `said` is formatted with the row's entry of `values`."""
        for row in np.flatnonzero(wrong).tolist():
            faults.setdefault(row, Fault(row, reason, said if values is None else said.format(values[row])))

    columns = {name: table.column(name).combine_chunks() for name in table.column_names if table.num_rows}
    if not columns:
        return []
    lists = {name: _List.of(column) for name, column in columns.items() if pa.types.is_list(column.type)}
    plain = {name: _filled(columns[name]) for name in _PLAIN if name in columns}
    for name, column in columns.items():
        if name not in LATER_COLUMNS:
            empty = column.is_null().to_numpy(zero_copy_only=False)
            if name in lists:
                empty = empty | lists[name].rows_with(column.flatten().is_null().to_numpy(zero_copy_only=False))
            mark(empty, "empty field", f"{name} is empty")
    for name, (least, most) in _RANGES.items():
        if name in plain:
            wrong = (plain[name] < least) | (plain[name] > most)
            mark(wrong, name, f"{name}={{}}: must be from {least} to {most}", plain[name])
        elif name in lists:
            values = lists[name].values
            sound = (values >= least) & (values <= most)  # a NaN is not
            mark(lists[name].rows_with(~sound), name, f"{name}: each must be from {least:g} to {most:g}")
    ending, opening, moves = plain["ending"].astype(str), plain["opening"], lists["moves"]
    mark(~np.isin(ending, [str(one) for one in Ending]), "ending", f"ending={{}}: must be {', '.join(Ending)}", ending)
    mark((opening < 0) | (opening > moves.lengths), "opening", "opening={}: must be within the moves", opening)
    size = np.where((plain["size"] < SMALLEST) | (plain["size"] > LARGEST), SMALLEST, plain["size"]).astype(np.int64)
    ply = _illegal_plies(np.ascontiguousarray(moves.values, np.int64), moves.lengths, size, plain["swap"])
    mark(ply > 0, "illegal move", "move {} is no free cell, and no swap that the rule allows", ply)
    for name, other in _LENGTHS.items():
        if name in lists:
            lengths = lists[name].lengths
            wrong = (lengths != 0) & (lengths != lists[other].lengths)
            mark(wrong, name, f"{name}: must be as many as {other}, or none")
    if "policies" in lists:
        kept, lengths = lists["policy_plies"], lists["policies"].lengths
        outside = (kept.values < 0) | (kept.values >= moves.lengths[kept.rows])
        mark(kept.rows_with(outside), "policies", "there is a policy of no move")
        wrong = lengths != kept.lengths * (size**2 + plain["swap"])
        mark(wrong, "policies", "there are {} numbers, not one for each action of each policy", lengths)
    return [faults[row] for row in sorted(faults)]


@kernel
def _illegal_plies(
    moves: NDArray[np.int64], lengths: NDArray[np.int64], size: NDArray[np.int64], swap: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Number of the first illegal move of each row, from 1; 0 if all are legal, `[R]`."""
    illegal = np.zeros(lengths.size, np.int64)
    taken = np.zeros(LARGEST * LARGEST, np.bool_)
    start = 0
    for row in range(lengths.size):
        taken[:] = False
        for ply in range(lengths[row]):
            move, first, area = moves[start + ply], moves[start], size[row] * size[row]
            if move == area and ply == 1 and swap[row]:  # swap-pieces mirrors the first stone
                taken[first] = False
                taken[first % size[row] * size[row] + first // size[row]] = True
            elif 0 <= move < area and not taken[move]:
                taken[move] = True
            else:
                illegal[row] = ply + 1
                break
        start += lengths[row]
    return illegal


def _filled(column: pa.Array) -> NDArray[Any]:
    """Values of a column, with an empty text, False or 0 for an empty field; an empty float is a NaN."""
    if column.null_count and not pa.types.is_floating(column.type):
        empty: Any = "" if pa.types.is_string(column.type) else False if pa.types.is_boolean(column.type) else 0
        column = pc.fill_null(column, empty)
    filled: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return filled
