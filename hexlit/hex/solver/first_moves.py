"""All first moves of Black, solved with one table; kept in a folder, so that a killed run goes on
where it was.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hexlit.errors import UsageError
from hexlit.files import replacing
from hexlit.hex.arrays import Int64Array
from hexlit.hex.geometry import WHITE
from hexlit.hex.solver.bitboard import Words
from hexlit.hex.solver.solver import ExactSolver, UnsolvedError
from hexlit.hex.solver.table import COLUMNS

MAP, PROOFS = "openings.json", "table.npy"
_FIRST_NODES, _MORE = 250_000, 4
"""Nodes for a first move before the next one has its turn; every round has four times as many."""
_STEP = 50_000  # nodes between two looks at the clock
_DEAR = 50  # positions that cost fewer nodes are not kept in the file: they are soon proved again
_LETTERS = {
    1: "W",
    -1: "L",
    0: ".",
}  # of the map: Black wins with the first move there, loses, not known
_VALUES = {letter: value for value, letter in _LETTERS.items()}


class FirstMoves:
    """The first moves of Black and what is known of them.

    A refutation also refutes the first moves outside its carrier, and a board turned by 180° has
    the same value.

    Args:
        solver: searches, and remembers.
        folder: where the map (`openings.json`) and the costly part of the table are kept; what it
            has is continued. A process killed between the two leaves one of them, which is enough.

    Raises:
        UsageError: the folder is of another board, or cannot be read.
    """

    def __init__(self, solver: ExactSolver, folder: Path | None = None) -> None:
        self.solver, self.folder = solver, folder
        self.values = np.zeros(solver.size**2, np.int8)
        """1 where Black wins, -1 where Black loses, 0 where that is not known."""
        self.nodes, self.seconds = 0, 0.0
        """Of all searches, those before a restart included."""
        self.save_after = 40.0
        """Seconds between two saves."""
        self._saved = time.monotonic()
        if folder is not None:
            self._load(folder)

    def solve(self) -> Iterator[int]:
        """Search until all are known; yields the first move that is being searched, about once in
        some seconds.
        """
        size, nodes = self.solver.size, _FIRST_NODES
        ring = [
            abs(2 * row - size + 1) + abs(2 * column - size + 1)
            for row, column in np.ndindex(size, size)
        ]
        half = sorted(
            range((size * size + 1) // 2), key=ring.__getitem__
        )  # of two that a turn exchanges, the first
        try:
            while not self.values.all():
                for cell in half:
                    spent = 0
                    while spent < nodes and self.values[cell] == 0:
                        spent += self._search(cell, min(_STEP, nodes))
                        yield cell
                nodes *= _MORE
        finally:
            self._save()

    def _search(self, cell: int, nodes: int) -> int:
        """Search a first move a little longer; returns the nodes of it."""
        board, start = np.zeros(self.values.size, np.int8), time.monotonic()
        board[cell] = 1
        try:
            refuted, carrier = self.solver.proof(board, WHITE, nodes)
        except UnsolvedError:
            pass
        else:
            self._settle(
                -1 if refuted else 1, np.flatnonzero(~carrier) if refuted else np.array([cell])
            )
        self.nodes, self.seconds = (
            self.nodes + self.solver.nodes,
            self.seconds + time.monotonic() - start,
        )
        if time.monotonic() > self._saved + self.save_after:
            self._save()
        return self.solver.nodes

    def _settle(self, value: int, cells: Int64Array) -> None:
        self.values[cells] = value
        self.values[self.values.size - 1 - cells] = value

    @property
    def rows(self) -> str:
        """The map as in `hexlit.hex.openings.SOLVED`, with a point where the value is not known."""
        letters = "".join(_LETTERS[value] for value in self.values.tolist())
        return "/".join(
            letters[row : row + self.solver.size]
            for row in range(0, len(letters), self.solver.size)
        )

    def as_json(self) -> dict[str, object]:
        """The map and its cost as plain values."""
        return {
            "board": self.solver.size,
            "openings": self.rows,
            "nodes": self.nodes,
            "seconds": self.seconds,
        }

    def _save(self) -> None:
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            with replacing(self.folder / PROOFS) as temporary, temporary.open("wb") as file:
                np.save(file, np.vstack([self._head(), self.solver.remembered(_DEAR)]))
            with replacing(self.folder / MAP) as temporary:
                temporary.write_text(json.dumps(self.as_json()), encoding="utf-8")
        self._saved = time.monotonic()

    def _load(self, folder: Path) -> None:
        try:
            if (folder / MAP).exists():
                self._load_map(json.loads((folder / MAP).read_text(encoding="utf-8")))
            if (folder / PROOFS).exists():
                # Mapped first, because a damaged head may name any size.
                table = np.array(np.lib.format.open_memmap(folder / PROOFS, mode="r"))
                self._check_head(table, known=(folder / MAP).exists())
                self.solver.remember(table)
        except (
            OSError,
            RecursionError,
            ArithmeticError,
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
        ) as error:
            raise UsageError(f"{folder}: its openings cannot be read ({error})") from error

    def _head(self) -> Words:
        """The first row of the kept table: the rows of the board, and otherwise as one that is not
        in use.
        """
        return np.array([[self.solver.size] + [0] * (COLUMNS - 1)], np.uint64)

    def _check_head(self, table: Words, known: bool) -> None:
        """Refuse a table of another board. One of hexlit 0.2 has no head: a map must have made the
        board `known`.
        """
        if len(table) and not table[0, 1:].any():
            if table[0, 0] != self.solver.size:
                raise UsageError(f"a table of a board of {table[0, 0]}, not of {self.solver.size}")
        elif not known:
            raise UsageError(f"without {MAP} it is unknown for which board {PROOFS} is")

    def _load_map(self, kept: dict[str, Any]) -> None:
        letters = kept["openings"].replace("/", "")
        values = [_VALUES[letter] for letter in letters]
        self.nodes = int(kept["nodes"])
        self.seconds = float(kept["seconds"])
        if kept["board"] != self.solver.size or len(values) != self.values.size:
            raise UsageError(f"a board of {kept['board']}, not of {self.solver.size}")
        self.values[:] = values
