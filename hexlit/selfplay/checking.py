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
_LISTS = ("moves", "values", "simulations", "policy_plies", "policies")
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
    def places(self) -> NDArray[np.int64]:
        """The place of each value in its list, from 0."""
        return np.arange(len(self.values)) - np.repeat(np.cumsum(self.lengths) - self.lengths, self.lengths)


def faults_of(table: pa.Table) -> list[Fault]:
    """The errors of `table` in the order of its rows, one per row at most.

    The table has columns of `hexlit.selfplay.store.SCHEMA`, with its types; `size`, `swap`, `moves`, `winner`,
    `ending`, `opening` and `values` at least.
    """
    columns = {name: _whole(table.column(name)) for name in table.column_names if name not in LATER_COLUMNS}
    checks = _Checks(table.num_rows)
    for name, column in columns.items():
        checks.mark(_empty(column), "empty field", lambda row, name=name: f"{name} is empty")
    lists = {name: _List.of(columns[name]) for name in _LISTS if name in columns}
    if "surprises" in table.column_names:
        lists["surprises"] = _List.of(_whole(table.column("surprises")))
    plain = {
        name: _filled(column) for name, column in columns.items() if name not in _LISTS and name not in ("search",)
    }
    _check_fields(checks, plain, lists)
    _check_moves(checks, plain, lists["moves"])
    _check_searches(checks, plain, lists)
    return checks.found()


class _Checks:
    """The first fault of every row."""

    def __init__(self, rows: int) -> None:
        self._faults: list[Fault | None] = [None] * rows
        self.sound: NDArray[np.bool_] = np.ones(rows, np.bool_)

    def mark(self, wrong: NDArray[np.bool_], reason: str, said: Any) -> None:
        """Give this fault to the `wrong` rows that were sound so far; `said(row)` is its sentence."""
        for row in np.flatnonzero(wrong & self.sound).tolist():
            self._faults[row] = Fault(row, reason, said(row))
        self.sound &= ~wrong

    def found(self) -> list[Fault]:
        return [self._faults[row] for row in np.flatnonzero(~self.sound).tolist()]  # type: ignore[misc]


def _check_fields(checks: _Checks, plain: dict[str, NDArray[Any]], lists: dict[str, _List]) -> None:
    size, winner, opening = plain["size"], plain["winner"], plain["opening"]
    plies = lists["moves"].lengths
    checks.mark(
        (size < SIZES.start) | (size >= SIZES.stop), "size", lambda row: f"there is no board of {size[row]} rows"
    )
    checks.mark(
        np.abs(winner.astype(np.int64)) > 1,
        "winner",
        lambda row: f"the winner is {winner[row]}; 1 is Black, -1 White, 0 unknown",
    )
    endings = [str(ending) for ending in Ending]
    checks.mark(
        ~np.isin(plain["ending"].astype(str), endings),
        "ending",
        lambda row: f"the ending is {str(plain['ending'][row])[:40]!r}; there are {', '.join(endings)}",
    )
    checks.mark(
        (opening < 0) | (opening > plies),
        "opening",
        lambda row: f"the opening has {opening[row]} of {plies[row]} moves",
    )
    if "would_resign" in plain:
        would = plain["would_resign"]
        checks.mark(
            np.abs(would.astype(np.int64)) > 1, "winner", lambda row: f"{would[row]} is no player who would resign"
        )


def _check_moves(checks: _Checks, plain: dict[str, NDArray[Any]], moves: _List) -> None:
    """Every move is a free cell, except a swap as second move under the swap rule."""
    size = np.where(checks.sound, plain["size"], 2).astype(np.int64)
    rows, places, cells = moves.rows, moves.places, moves.values.astype(np.int64)
    area = (size**2)[rows]
    swaps = cells == area
    wrong = (cells < 0) | (cells > area) | (swaps & ((places != 1) | ~plain["swap"][rows]))
    bad = np.zeros(len(size), np.bool_)
    bad[rows[wrong]] = True
    bad[_played_twice(np.where(bad, 2, size), rows, places, np.where(wrong | bad[rows], -1, cells))] = True
    starts = np.cumsum(moves.lengths) - moves.lengths

    def said(row: int) -> str:
        own = cells[starts[row] : starts[row] + moves.lengths[row]]
        return illegal_move(own.tolist(), int(size[row]), bool(plain["swap"][row]))

    checks.mark(bad, "illegal move", said)


def _played_twice(
    size: NDArray[np.int64], rows: NDArray[np.int64], places: NDArray[np.int64], cells: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Rows with a cell taken twice; cells below 0 are ignored. After a swap the first stone is mirrored."""
    area = size**2
    second = np.flatnonzero((places == 1) & (cells == area[rows]))
    stones = cells.copy()
    stones[second] = -1
    width = size[rows[second]]
    first = cells[second - 1]
    stones[second - 1] = np.where(first < 0, -1, first % width * width + first // width)
    kept = stones >= 0
    keys = (np.cumsum(area) - area)[rows[kept]] + stones[kept]
    taken = np.zeros(int(area.sum()), np.bool_)
    taken[keys] = True
    if np.count_nonzero(taken) == len(keys):  # the usual case: sorting takes ten times as long
        return np.zeros(0, np.int64)
    order = np.argsort(keys, kind="stable")
    again = order[1:][keys[order][1:] == keys[order][:-1]]
    twice: NDArray[np.int64] = rows[kept][again]
    return twice


def _check_searches(checks: _Checks, plain: dict[str, NDArray[Any]], lists: dict[str, _List]) -> None:
    """Search results exist for all moves or for none, and consist of finite numbers."""
    plies = lists["moves"].lengths
    for name in ("values", "simulations"):
        if name in lists:
            lengths = lists[name].lengths
            checks.mark(
                (lengths != 0) & (lengths != plies),
                "searches",
                lambda row, name=name, lengths=lengths: f"{lengths[row]} {name} for {plies[row]} moves",
            )
    checks.mark(
        _rows_with(lists["values"], ~(np.abs(lists["values"].values) <= _LARGEST_VALUE)),
        "searches",
        lambda row: "a value lies outside of [-1, 1]",
    )
    if "policies" not in lists:
        return
    kept, policies = lists["policy_plies"], lists["policies"]
    outside = (kept.values < 0) | (kept.values >= plies[kept.rows])
    checks.mark(_rows_with(kept, outside), "searches", lambda row: "there is a policy of no move")
    actions = np.where(checks.sound, plain["size"], 2).astype(np.int64) ** 2 + plain["swap"]
    checks.mark(
        policies.lengths != kept.lengths * actions,
        "searches",
        lambda row: f"{policies.lengths[row]} numbers are not {kept.lengths[row]} policies over {actions[row]} actions",
    )
    checks.mark(
        _rows_with(policies, ~((policies.values >= 0) & (policies.values <= _LARGEST_VALUE))),
        "searches",
        lambda row: "a policy holds a number outside of [0, 1]",
    )
    if "surprises" in lists:
        surprises = lists["surprises"]
        checks.mark(
            (surprises.lengths != 0) & (surprises.lengths != kept.lengths),
            "searches",
            lambda row: f"{surprises.lengths[row]} surprises for {kept.lengths[row]} policies",
        )
        checks.mark(
            _rows_with(surprises, ~((surprises.values >= 0) & np.isfinite(surprises.values))),
            "searches",
            lambda row: "a surprise is below 0, or no number",
        )
    simulations = lists["simulations"]
    checks.mark(
        _rows_with(simulations, simulations.values < 0), "searches", lambda row: "there are simulations below 0"
    )


def illegal_move(moves: list[int], size: int, swap: bool) -> str:
    """The error of the first illegal move of `moves`; empty if all are legal."""
    if size not in SIZES:
        return f"there is no board of {size} rows"
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


def _rows_with(column: _List, wrong: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Rows with a `wrong` value."""
    found = np.zeros(len(column.lengths), np.bool_)
    found[column.rows[wrong]] = True
    return found


def _empty(column: pa.Array) -> NDArray[np.bool_]:
    """Rows with a null field or a null entry in the list."""
    empty: NDArray[np.bool_] = column.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_list(column.type):
        inside = column.flatten()
        if inside.null_count:
            empty = empty | _rows_with(_List.of(column), inside.is_null().to_numpy(zero_copy_only=False))
    return empty


def _filled(column: pa.Array) -> NDArray[Any]:
    standard: Any = "" if pa.types.is_string(column.type) else False if pa.types.is_boolean(column.type) else 0
    filled: NDArray[Any] = pc.fill_null(column, standard).to_numpy(zero_copy_only=False)
    return filled


def _whole(column: pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks()
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
