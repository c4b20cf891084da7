"""Whether rows of a table are games: the one check on every way into the program, of whole columns at once.

It checks all that compiled code and learning trust: no empty field, values in their ranges, legal moves. Its speed is
about ten million plies a second. `hexlit.selfplay.importing` compares the result with the board.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hexlit.hex.notation import format_cell
from hexlit.hex.record import Ending
from hexlit.hex.symmetry import mirror_cell

LATER_COLUMNS = ("black", "white", "source", "surprises")
"""Columns that files of earlier versions do not have; empty fields there are empty texts and lists."""

SIZES = range(2, 27)
_LISTS = ("moves", "values", "simulations", "policy_plies", "policies", "surprises")
_PLAIN = ("size", "swap", "winner", "ending", "opening", "would_resign")
_LARGEST_VALUE = 1.001
"""Largest absolute mean of values in [-1, 1], rounding included."""


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
        values = column.flatten()
        if values.null_count and not pa.types.is_floating(values.type):  # an empty float is read as NaN
            values = values.fill_null(0)
        return cls(values.to_numpy(zero_copy_only=False), lengths)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The row of each value."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @property
    def starts(self) -> NDArray[np.int64]:
        """Index of each row's first value."""
        return np.cumsum(self.lengths) - self.lengths

    def rows_with(self, wrong: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Rows with a `wrong` value, `[R]`."""
        return np.bincount(self.rows[wrong], minlength=len(self.lengths)) > 0


class _Faults(dict[int, Fault]):
    """The first fault of every wrong row."""

    def mark(self, wrong: NDArray[np.bool_], reason: str, said: str, *values: Any) -> None:
        """Give this fault to the `wrong` rows without one; `said` is formatted with the row's entries of `values`."""
        for row in np.flatnonzero(wrong).tolist():
            if row not in self:
                self[row] = Fault(row, reason, said.format(*(column[row] for column in values)))


def faults_of(table: pa.Table) -> list[Fault]:
    """The errors of `table` in the order of its rows, one per row at most.

    The table has columns of `hexlit.selfplay.store.SCHEMA`, with its types; `size`, `swap`, `moves`, `winner`,
    `ending`, `opening` and `values` at least.
    """
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    faults = _Faults()
    for name, column in columns.items():
        if name not in LATER_COLUMNS:
            faults.mark(_empty(column), "empty field", f"{name} is empty")
    lists = {name: _List.of(columns[name]) for name in _LISTS if name in columns}
    plain = {name: _filled(columns[name]) for name in _PLAIN if name in columns}
    _check_fields(faults, plain, lists["moves"].lengths)
    size = np.where(np.isin(plain["size"], SIZES), plain["size"], SIZES.start).astype(np.int64)
    _check_moves(faults, size, plain["swap"], lists["moves"])
    _check_searches(faults, size**2 + plain["swap"], lists)
    return [faults[row] for row in sorted(faults)]


def _check_fields(faults: _Faults, plain: dict[str, NDArray[Any]], plies: NDArray[np.int64]) -> None:
    size, winner, ending, opening = plain["size"], plain["winner"], plain["ending"].astype(str), plain["opening"]
    endings = [str(ending) for ending in Ending]
    faults.mark(~np.isin(size, SIZES), "size", "there is no board of {} rows", size)
    faults.mark(~np.isin(winner, (-1, 0, 1)), "winner", "the winner is {}; 1 is Black, -1 White, 0 unknown", winner)
    faults.mark(
        ~np.isin(ending, endings),
        "ending",
        f"the ending is {{!r:.40}}; there are {', '.join(endings)}",
        ending.tolist(),
    )
    faults.mark((opening < 0) | (opening > plies), "opening", "the opening has {} of {} moves", opening, plies)
    if "would_resign" in plain:
        would = plain["would_resign"]
        faults.mark(~np.isin(would, (-1, 0, 1)), "winner", "{} is no player who would resign", would)


def _check_moves(faults: _Faults, size: NDArray[np.int64], swap: NDArray[np.bool_], moves: _List) -> None:
    """Every move is a free cell, except a swap as second move under the swap rule, which mirrors the first stone."""
    area, rows, cells = size**2, moves.rows, moves.values.astype(np.int64)
    swaps = cells == area[rows]
    second = np.arange(len(cells)) == moves.starts[rows] + 1
    bad = moves.rows_with((cells < 0) | (cells > area[rows]) | (swaps & ~(second & swap[rows])))
    after = np.flatnonzero(swaps & ~bad[rows])
    stones, width = cells.copy(), size[rows[after]]
    stones[after - 1] = cells[after - 1] % width * width + cells[after - 1] // width
    there = ~swaps & ~bad[rows]
    places = (np.cumsum(area) - area)[rows[there]] + stones[there]
    bad[rows[there][np.bincount(places)[places] > 1]] = True
    starts, lengths = moves.starts, moves.lengths
    said = {
        row: illegal_move(cells[starts[row] : starts[row] + lengths[row]].tolist(), int(size[row]), bool(swap[row]))
        for row in np.flatnonzero(bad).tolist()
    }
    faults.mark(bad, "illegal move", "{}", said)


def _check_searches(faults: _Faults, actions: NDArray[np.int64], lists: dict[str, _List]) -> None:
    """Search results exist for all moves or for none, and consist of finite numbers."""

    def check_values(name: str, sound: NDArray[np.bool_], said: str) -> None:
        faults.mark(lists[name].rows_with(~sound), "searches", said)

    def check_lengths(name: str, of: NDArray[np.int64], said: str) -> None:
        lengths = lists[name].lengths
        faults.mark((lengths != 0) & (lengths != of), "searches", f"{{}} {name} for {{}} {said}", lengths, of)

    plies = lists["moves"].lengths
    check_lengths("values", plies, "moves")
    if "simulations" in lists:
        check_lengths("simulations", plies, "moves")
    check_values("values", np.abs(lists["values"].values) <= _LARGEST_VALUE, "a value lies outside of [-1, 1]")
    if "policies" not in lists:
        return
    kept, policies = lists["policy_plies"], lists["policies"]
    check_values("policy_plies", (kept.values >= 0) & (kept.values < plies[kept.rows]), "there is a policy of no move")
    faults.mark(
        policies.lengths != kept.lengths * actions,
        "searches",
        "{} numbers are not {} policies over {} actions",
        policies.lengths,
        kept.lengths,
        actions,
    )
    shares = (policies.values >= 0) & (policies.values <= _LARGEST_VALUE)
    check_values("policies", shares, "a policy holds a number outside of [0, 1]")
    if "surprises" in lists:
        surprises = lists["surprises"].values
        check_lengths("surprises", kept.lengths, "policies")
        check_values("surprises", (surprises >= 0) & np.isfinite(surprises), "a surprise is below 0, or no number")
    check_values("simulations", lists["simulations"].values >= 0, "there are simulations below 0")


def illegal_move(moves: list[int], size: int, swap: bool) -> str:
    """The error of the first illegal move of `moves`; empty if all are legal."""
    cells: set[int] = set()
    for ply, action in enumerate(moves):
        if not 0 <= action <= size**2:
            return f"ply {ply + 1}: {action} is no cell of a {size}x{size} board"
        if action == size**2:
            if ply != 1 or not swap:
                return f"ply {ply + 1}: only White's first move may be a swap, and only under the swap rule"
            cells = {mirror_cell(moves[0], size)}
        elif action in cells:
            return f"ply {ply + 1}: {format_cell(action, size)} is taken"
        else:
            cells.add(action)
    return ""


def _empty(column: pa.Array) -> NDArray[np.bool_]:
    """Rows with a null field or a null entry in the list."""
    empty: NDArray[np.bool_] = column.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_list(column.type) and (inside := column.flatten()).null_count:
        empty = empty | _List.of(column).rows_with(inside.is_null().to_numpy(zero_copy_only=False))
    return empty


def _filled(column: pa.Array) -> NDArray[Any]:
    standard: Any = "" if pa.types.is_string(column.type) else False if pa.types.is_boolean(column.type) else 0
    filled: NDArray[Any] = pc.fill_null(column, standard).to_numpy(zero_copy_only=False)
    return filled
