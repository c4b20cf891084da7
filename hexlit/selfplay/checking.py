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

from hexlit.hex.arrays import BoolArray, FloatArray, Int64Array
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
"""Least and largest value, or the same of every value in a list; means of values may be off by
rounding.
"""

POLICY_ERROR = 0.02
"""Largest error of the sum of a policy, above that of float16."""

_LENGTHS = {"values": "moves", "simulations": "moves"}
"""A column of lists -> the one whose lists are as long, unless they are empty."""


Fault = tuple[str, str]
"""The error of a row: a few words for its kind, and one sentence about this row."""


def faults_of(table: pa.Table) -> dict[int, Fault]:
    """The errors of `table` by the number of the row, from 0, in their order; one per row at most.

    The table has columns of `hexlit.selfplay.store.SCHEMA`, with its types; `size`, `swap`,
    `moves`, `winner`, `ending`, `opening` and `values` at least.
    """
    if not table.num_rows or not table.column_names:
        return {}
    check = _Check(table)
    check.empty_fields()
    check.ranges()
    check.ending_and_opening()
    check.moves()
    check.lengths_of_lists()
    if "policies" in check.lists:
        check.policies()
    return dict(sorted(check.faults.items()))


class _Check:
    """The columns of a table with R rows as arrays, and the errors found so far."""

    def __init__(self, table: pa.Table) -> None:
        self.rows = table.num_rows
        self.columns = {name: table.column(name).combine_chunks() for name in table.column_names}
        self.plain: dict[str, NDArray[Any]] = {}
        """Values of a column without lists, `[R]`."""
        self.lists: dict[str, NDArray[Any]] = {}
        """Values of all lists of a column in turn, `[V]`."""
        self.lengths: dict[str, Int64Array] = {}
        """Lengths of these lists, `[R]`."""
        self.row_of: dict[str, Int64Array] = {}
        """Row of each of these values, `[V]`."""
        self.faults: dict[int, Fault] = {}
        for name, column in self.columns.items():
            if pa.types.is_list(column.type):
                self.lists[name] = _filled(column.flatten())
                self.lengths[name] = _filled(column.value_lengths()).astype(np.int64)
                self.row_of[name] = np.repeat(np.arange(self.rows), self.lengths[name])
            elif name in _PLAIN:
                self.plain[name] = _filled(column)
        size = self.plain["size"]
        impossible = (size < SMALLEST) | (size > LARGEST)
        self.size = np.where(impossible, SMALLEST, size).astype(np.int64)
        """Rows of the board; an impossible number is replaced by the smallest, `[R]`."""

    def mark(self, wrong: BoolArray, reason: str, message: str, values: Any = None) -> None:
        """Give this fault to the `wrong` rows without one; `message` is formatted with the row's
        entry of `values`.
        """
        for row in np.flatnonzero(wrong).tolist():
            text = message
            if values is not None:
                text = message.format(values[row])
            self.faults.setdefault(row, (reason, text))

    def rows_with(self, name: str, wrong: BoolArray) -> BoolArray:
        """Rows with a `wrong` value in the lists of the column, `[R]`."""
        return np.bincount(self.row_of[name][wrong], minlength=self.rows) > 0

    def empty_fields(self) -> None:
        """No field is null, nor a value in a list."""
        for name, column in self.columns.items():
            empty = column.is_null().to_numpy(zero_copy_only=False)
            if name in self.lists:
                empty_in_list = column.flatten().is_null().to_numpy(zero_copy_only=False)
                empty = empty | self.rows_with(name, empty_in_list)
            self.mark(empty, "empty field", f"{name} is empty")

    def ranges(self) -> None:
        """All values are in their ranges."""
        for name, (least, most) in _RANGES.items():
            if name in self.plain:
                values = self.plain[name]
                wrong = (values < least) | (values > most)
                self.mark(wrong, name, f"{name}={{}}: must be from {least} to {most}", values)
            elif name in self.lists:
                values = self.lists[name]
                sound = (values >= least) & (values <= most)  # a NaN is not
                message = f"{name}: each must be from {least:g} to {most:g}"
                self.mark(self.rows_with(name, ~sound), name, message)

    def ending_and_opening(self) -> None:
        """The ending is known, and the opening is a part of the moves."""
        ending = self.plain["ending"].astype(str)
        unknown = ~np.isin(ending, [str(one) for one in Ending])
        self.mark(unknown, "ending", f"ending={{}}: must be {', '.join(Ending)}", ending)
        opening = self.plain["opening"]
        outside = (opening < 0) | (opening > self.lengths["moves"])
        self.mark(outside, "opening", "opening={}: must be within the moves", opening)

    def moves(self) -> None:
        """All moves are legal."""
        moves = np.ascontiguousarray(self.lists["moves"], np.int64)
        ply = _illegal_plies(moves, self.lengths["moves"], self.size, self.plain["swap"])
        message = "move {} is no free cell, and no swap that the rule allows"
        self.mark(ply > 0, "illegal move", message, ply)

    def lengths_of_lists(self) -> None:
        """Lists that belong to the moves are as long as these."""
        for name, other in _LENGTHS.items():
            if name in self.lists:
                length = self.lengths[name]
                wrong = (length != 0) & (length != self.lengths[other])
                self.mark(wrong, name, f"{name}: must be as many as {other}, or none")

    def policies(self) -> None:
        """Policies belong to moves, and have a number for each action."""
        plies = self.lists["policy_plies"]
        plies_of_game = self.lengths["moves"][self.row_of["policy_plies"]]
        outside = (plies < 0) | (plies >= plies_of_game)
        self.mark(
            self.rows_with("policy_plies", outside), "policies", "there is a policy of no move"
        )
        numbers = self.lengths["policies"]
        wrong = numbers != self.lengths["policy_plies"] * (self.size**2 + self.plain["swap"])
        message = "there are {} numbers, not one for each action of each policy"
        self.mark(wrong, "policies", message, numbers)
        totals = np.bincount(self.row_of["policies"], self.lists["policies"], self.rows)
        count = self.lengths["policy_plies"]
        unequal = np.abs(totals - count) > POLICY_ERROR * count
        message = "policies: each must sum to 1; the sum of {} of them is not"
        self.mark(unequal & ~wrong, "policies", message, count)
        sound = np.ones(self.rows, np.bool_)
        sound[list(self.faults)] = False  # their moves and plies may be anything
        shares = _shares_of_stones(
            np.ascontiguousarray(self.lists["moves"], np.int64),
            self.lengths["moves"],
            np.ascontiguousarray(plies, np.int64),
            count,
            np.ascontiguousarray(self.lists["policies"], np.float32),
            self.size,
            numbers,
            sound,
        )
        message = "policies: the share of cells with a stone is {:.2f}, must be 0"
        self.mark(shares > POLICY_ERROR, "policies", message, shares)


@kernel
def _shares_of_stones(
    moves: Int64Array,
    move_counts: Int64Array,
    plies: Int64Array,
    ply_counts: Int64Array,
    policies: FloatArray,
    size: Int64Array,
    numbers: Int64Array,
    sound: BoolArray,
) -> NDArray[np.float64]:
    """The largest share that a policy of each row gives to cells with a stone; 0 for rows that are
    not `sound`, `[R]`.
    """
    largest = np.zeros(size.size)
    taken = np.zeros(LARGEST * LARGEST, np.bool_)
    first_move = first_ply = first_number = 0
    for row in range(size.size):
        n = size[row]
        actions = numbers[row] // max(ply_counts[row], 1)
        for k in range(ply_counts[row] if sound[row] else 0):
            taken[:] = False
            for i in range(plies[first_ply + k]):
                move = moves[first_move + i]
                if move == n * n:  # the first stone changes its place with its colour
                    stone = moves[first_move]
                    taken[stone] = False
                    move = stone % n * n + stone // n
                taken[move] = True
            share = 0.0
            for cell in range(n * n):
                if taken[cell]:
                    share += policies[first_number + k * actions + cell]
            largest[row] = max(largest[row], share)
        first_move += move_counts[row]
        first_ply += ply_counts[row]
        first_number += numbers[row]
    return largest


@kernel
def _illegal_plies(
    moves: Int64Array,
    lengths: Int64Array,
    size: Int64Array,
    swap: BoolArray,
) -> Int64Array:
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
    """Values of a column, with an empty text, False or 0 for an empty field; an empty float is a
    NaN.
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
