"""Whether rows of a table are games: the one check on every way into the program, of whole columns
at once.

It checks all that compiled code and learning trust: no empty field, values in their ranges, legal
moves. `hexlit.selfplay.importing` compares the result with the board.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hexlit.hex.jit import kernel
from hexlit.hex.record import Ending

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
}
"""Least and largest value, or the same of every value in a list;
means of values may be off by rounding.
"""

_LENGTHS = {"values": "moves", "simulations": "moves"}
"""A column of lists -> the one whose lists are as long, unless they are empty."""


Fault = tuple[str, str]
"""The error of a row: a few words for its kind, and one sentence about this row."""


def faults_of(table: pa.Table) -> dict[int, Fault]:
    """The errors of `table` by the number of the row, from 0, in their order; one per row at most.

    The table has columns of `hexlit.selfplay.store.SCHEMA`, with its types; `size`, `swap`,
    `moves`, `winner`, `ending`, `opening` and `values` at least.
    """
    faults: dict[int, Fault] = {}

    def mark(wrong: NDArray[np.bool_], reason: str, message: str, values: Any = None) -> None:
        """Give this fault to the `wrong` rows without one;
        `message` is formatted with the row's entry of `values`.
        """
        for row in np.flatnonzero(wrong).tolist():
            text = message
            if values is not None:
                text = message.format(values[row])
            faults.setdefault(row, (reason, text))

    def rows_with(name: str, wrong: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Rows with a `wrong` value in the lists of the column, `[R]`."""
        return np.bincount(row_of[name][wrong], minlength=table.num_rows) > 0

    columns = {
        name: table.column(name).combine_chunks() for name in table.column_names if table.num_rows
    }
    if not columns:
        return {}
    lists = {
        name: _filled(column.flatten())
        for name, column in columns.items()
        if pa.types.is_list(column.type)
    }
    lengths = {name: _filled(columns[name].value_lengths()).astype(np.int64) for name in lists}
    row_of = {name: np.repeat(np.arange(table.num_rows), count) for name, count in lengths.items()}
    plain = {name: _filled(columns[name]) for name in _PLAIN if name in columns}
    for name, column in columns.items():
        empty = column.is_null().to_numpy(zero_copy_only=False)
        if name in lists:
            empty_in_list = column.flatten().is_null().to_numpy(zero_copy_only=False)
            empty = empty | rows_with(name, empty_in_list)
        mark(empty, "empty field", f"{name} is empty")
    for name, (least, most) in _RANGES.items():
        if name in plain:
            wrong = (plain[name] < least) | (plain[name] > most)
            mark(wrong, name, f"{name}={{}}: must be from {least} to {most}", plain[name])
        elif name in lists:
            sound = (lists[name] >= least) & (lists[name] <= most)  # a NaN is not
            mark(rows_with(name, ~sound), name, f"{name}: each must be from {least:g} to {most:g}")
    ending = plain["ending"].astype(str)
    opening = plain["opening"]
    plies = lengths["moves"]
    mark(
        ~np.isin(ending, [str(one) for one in Ending]),
        "ending",
        f"ending={{}}: must be {', '.join(Ending)}",
        ending,
    )
    mark(
        (opening < 0) | (opening > plies),
        "opening",
        "opening={}: must be within the moves",
        opening,
    )
    size = np.where(
        (plain["size"] < SMALLEST) | (plain["size"] > LARGEST), SMALLEST, plain["size"]
    ).astype(np.int64)
    ply = _illegal_plies(np.ascontiguousarray(lists["moves"], np.int64), plies, size, plain["swap"])
    mark(ply > 0, "illegal move", "move {} is no free cell, and no swap that the rule allows", ply)
    for name, other in _LENGTHS.items():
        if name in lists:
            wrong = (lengths[name] != 0) & (lengths[name] != lengths[other])
            mark(wrong, name, f"{name}: must be as many as {other}, or none")
    if "policies" in lists:
        kept = lists["policy_plies"]
        numbers = lengths["policies"]
        outside = (kept < 0) | (kept >= plies[row_of["policy_plies"]])
        mark(rows_with("policy_plies", outside), "policies", "there is a policy of no move")
        wrong = numbers != lengths["policy_plies"] * (size**2 + plain["swap"])
        mark(
            wrong,
            "policies",
            "there are {} numbers, not one for each action of each policy",
            numbers,
        )
    return dict(sorted(faults.items()))


@kernel
def _illegal_plies(
    moves: NDArray[np.int64],
    lengths: NDArray[np.int64],
    size: NDArray[np.int64],
    swap: NDArray[np.bool_],
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
    """Values of a column, with an empty text,
    False or 0 for an empty field; an empty float is a NaN.
    """
    if column.null_count and not pa.types.is_floating(column.type):
        empty: Any = 0
        if pa.types.is_string(column.type):
            empty = ""
        elif pa.types.is_boolean(column.type):
            empty = False
        column = pc.fill_null(column, empty)
    filled: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return filled
