"""Certificates: the winning strategy of a solved position in a file, for a checker that knows
nothing of the solver.

The solver's proof becomes claims (`hexlit.hex.solver.strategy`). Its search gives the moves that
win and the answers to all moves of the other side, virtual connections end it, and cells that it
filled in become claims of their own.
"""

import json
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from hexlit.files import replacing
from hexlit.hex.arrays import Int8Array
from hexlit.hex.frame import frame_action, frame_map
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_cell
from hexlit.hex.solver.bitboard import RING, STRIDE, pack, transpose
from hexlit.hex.solver.connection import FULL, SEMI
from hexlit.hex.solver.moves import edges, fill_in
from hexlit.hex.solver.solver import ExactSolver
from hexlit.hex.solver.strategy import (
    AND,
    BOTTOM,
    CAPTURED,
    DEAD,
    OR,
    TOP,
    Answer,
    Claims,
    StrategyClaim,
    bits_of,
    neighbours,
)
from hexlit.hex.solver.table import LOST, WON

_COLOURS = {BLACK: "black", WHITE: "white"}
_EDGES = {BLACK: ("top", "bottom"), WHITE: ("left", "right")}


@cache
def _is_dead(ring: tuple[int, ...]) -> bool:
    """Whether a cell with these neighbours in order, 1, -1 or 0 (empty), joins nothing, however
    they are filled.
    """
    for way in product(*((colour,) if colour else (1, -1) for colour in ring)):
        changes = sum(way[i] != way[i - 1] for i in range(6))
        if changes > 2:
            return False
    return True


class Certificate:
    """The claims that prove the value of a position; words are in the frame of the winner, whose
    stones are `own`.

    Args:
        solver: of this board. It searches again what its table has lost, and should use no carriers
            by stones (`Ingredients(stones=False)`): they show who wins, but not how.
        cells: int8 `[size*size]`, +1 black, -1 white, 0 empty, nobody connected.
        to_move: +1 or -1.
    """

    winner: int
    first: str | None = None
    """The move to begin with, if the winner is to move."""
    last: int
    """The number of the claim that connects the edges."""

    def __init__(self, solver: ExactSolver, cells: Int8Array, to_move: int) -> None:
        self.claims = Claims(solver.size)
        self.cells, self.to_move = cells, to_move
        self._solver, self._sides = solver, edges(solver.size)
        self._by_stones: dict[int, list[int]] = {}

    def prove(self) -> None:
        """Solve the position and collect the claims."""
        self.winner = self.to_move if self._solver.wins(self.cells, self.to_move) else -self.to_move
        own, opp = self._stones(self.winner), self._stones(-self.winner)
        if self.winner == self.to_move:
            move, self.last = self._moving(own, opp)
            (self.first,) = self._names(move)
        else:
            self.last = self._replying(own, opp)

    def _replying(self, own: int, opp: int) -> int:
        """The claim that the stones `own` connect the edges although the other side moves."""
        own_filled, opp_filled, steps = self._filled(own, opp, own_moves=False)
        return self._unfilled(self._replying_filled(own_filled, opp_filled), own, steps)

    def _moving(self, own: int, opp: int) -> Answer:
        """A move that connects the edges, and the claim that holds after it."""
        own_filled, opp_filled, steps = self._filled(own, opp, own_moves=True)
        kind, carrier, _ = self.claims.connect(own_filled, self._empty(own_filled, opp_filled))
        if kind == FULL:  # any move will do
            move = next(bits_of(carrier or self._empty(own, opp)))
            return move, self._replying(own | move, opp)
        answer = self.claims.connecting(own_filled, carrier) if kind == SEMI else None
        move, number = answer or self._searched(own_filled, opp_filled)
        return move, self._unfilled(number, own | move, steps)

    def _searched(self, own: int, opp: int) -> Answer:
        """The move that the solver finds, and the claim that holds after it."""
        won = self._solver.prove(np.uint64(own), np.uint64(opp))
        moves = bits_of(int(won.proof) or int(won.cells))
        move = next(move for move in moves if self._other_loses(own | move, opp))
        return move, self._replying(own | move, opp)

    def _replying_filled(self, own: int, opp: int) -> int:
        for known in self._by_stones.get(own, []):
            if not self.claims.carriers[known] & opp:
                return known
        kind, carrier, _ = self.claims.connect(own, self._empty(own, opp))
        number = self.claims.connected(own, carrier) if kind == FULL else None
        if number is None:
            answer = self.claims.connecting(own, carrier) if kind == SEMI else None
            number = self._answering(own, opp, [answer] if answer else [])
        self._by_stones.setdefault(own, []).append(number)
        return number

    def _other_loses(self, own: int, opp: int) -> bool:
        """Whether the other side loses, although it moves; the solver then knows the refutations of
        its moves.
        """
        return self._solver.prove(np.uint64(_turned(opp)), np.uint64(_turned(own))).state == LOST

    def _empty(self, own: int, opp: int) -> int:
        return int(self._sides.board) & ~(own | opp)

    def _answering(self, own: int, opp: int, answers: list[Answer]) -> int:
        """An OR of answers to all moves of the other side: those given, and those that the solver
        found first.
        """
        self._other_loses(own, opp)
        empty = common = self._empty(own, opp)
        kills = {}
        for cell in bits_of(empty):
            for reply in bits_of(neighbours(cell) & empty):
                if self._dead(cell, own | reply, empty & ~reply):
                    kills[cell] = reply
        for answer in answers:
            common &= answer[0] | self.claims.carriers[answer[1]]
        while common & ~sum(kills) or not answers:
            left = common & ~sum(kills)
            known = self._solver.known_moves(
                np.uint64(_turned(opp)), np.uint64(_turned(own)), WON
            ).tolist()
            ways = [
                ((_turned(carrier) & left).bit_count(), _turned(move)) for move, carrier, _ in known
            ]
            ways = [way for way in ways if way[1] & common] or [(0, next(bits_of(left or common)))]
            answers.append(self._moving(own, opp | min(ways)[1]))
            common &= answers[-1][0] | self.claims.carriers[answers[-1][1]]
        killed = list(bits_of(common))
        around = neighbours(sum(killed)) & own
        return self.claims.either(answers, around, tuple((cell, kills[cell]) for cell in killed))

    def _filled(
        self, own: int, opp: int, own_moves: bool
    ) -> tuple[int, int, list[tuple[int, ...]]]:
        """A position filled in as the solver does, and the steps that gave the winner stones: dead
        or captured ones.
        """
        if own_moves:
            after_own, after_opp, _, _ = map(
                int, fill_in(np.uint64(own), np.uint64(opp), self._sides)
            )
        else:
            turned = fill_in(np.uint64(_turned(opp)), np.uint64(_turned(own)), self._sides)
            after_opp, after_own, _, _ = (_turned(int(word)) for word in turned)
        steps: list[tuple[int, ...]] = []
        new = (after_own | after_opp) & ~(own | opp)
        while new:
            step = self._step(own, opp, after_own, new)
            for cell in step:
                own, opp = own | cell & after_own, opp | cell & after_opp
                new &= ~cell
            if step[0] & after_own:
                steps.append(step)
        return after_own, after_opp, steps

    def _step(self, own: int, opp: int, after_own: int, new: int) -> tuple[int, ...]:
        """One of the cells `new` that is dead, or two that one side has captured."""
        empty = self._empty(own, opp)
        for cell in bits_of(new):
            if self._dead(cell, own, empty):
                return (cell,)
        for cell in bits_of(new):
            mine = after_own if cell & after_own else 0
            for pair in bits_of(neighbours(cell) & new & (after_own if mine else ~after_own)):
                left = empty & ~(cell | pair)
                if self._dead(cell, own | pair & mine, left) and self._dead(
                    pair, own | cell & mine, left
                ):
                    return cell, pair
        raise AssertionError("cells filled in without a reason")

    def _unfilled(self, number: int, own: int, steps: list[tuple[int, ...]]) -> int:
        """The claim of a position, from that of the position filled in."""
        for step in reversed(steps):
            if self.claims.needed[number] & sum(step):
                around = neighbours(sum(step)) & (own | sum(map(sum, steps[: steps.index(step)])))
                claim = self.claims.all[number]
                kind = DEAD if len(step) == 1 else CAPTURED
                number = self.claims.add(
                    StrategyClaim(kind, (number,), step, around, claim.one, claim.other)
                )
        return number

    def _dead(self, cell: int, own: int, empty: int) -> bool:
        """Whether a cell is dead with the stones `own` and these empty cells, all others being the
        other side's.
        """
        row, column = divmod(cell.bit_length() - 1, STRIDE)
        size = self._solver.size
        ring: list[int] = []
        for down, right in RING:
            r, c = row + down, column + right
            if not 0 <= r < size:
                ring.append(1 if 0 <= c < size else ring[-1])
            else:
                bit = 1 << STRIDE * r + c if 0 <= c < size else 0
                stone = 1 if bit & own else -1
                ring.append(0 if bit & empty else stone)
        return _is_dead(tuple(ring))

    def write(self, path: Path) -> int:
        """Write the certificate; returns its number of claims.

        The first line is a JSON object: the position, the winner, and the first move if the winner
        is to move. Every other line is a claim: its kind, its stones, then `ANSWER:PART` and
        `CELL/REPLY` of an OR, both ends and the parts of an AND, or the part and the cells. Parts
        are numbers of earlier claims, counted from 0.
        """
        used = self.claims.below(self.last)
        number = {claim: place for place, claim in enumerate(used)}
        stones = {name: self._names(self._stones(colour)) for colour, name in _COLOURS.items()}
        rest = {
            "to_move": _COLOURS[self.to_move],
            "winner": _COLOURS[self.winner],
            "first": self.first,
        }
        with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
            file.write(json.dumps({"board": self._solver.size, **stones, **rest}) + "\n")
            for claim in map(self.claims.all.__getitem__, used):
                parts = [str(number[part]) for part in claim.parts]
                cells = [self._named(cell) for cell in claim.cells]
                if claim.kind == OR:
                    words = [":".join(answer) for answer in zip(cells, parts, strict=True)]
                    words += [
                        f"{self._named(cell)}/{self._named(reply)}" for cell, reply in claim.kills
                    ]
                elif claim.kind == AND:
                    words = [self._named(claim.one), self._named(claim.other), *parts]
                else:
                    words = [*parts, *cells]
                file.write(" ".join([claim.kind, self._named(claim.stones), *words]) + "\n")
        return len(used)

    def _stones(self, colour: int) -> int:
        size = self._solver.size
        return int(pack(frame_map(self.cells == colour, self.winner, size), size))

    def _names(self, word: int) -> list[str]:
        """The names of cells and edges on the board as it is."""
        size, names = self._solver.size, []
        for bit in bits_of(word):
            row, column = divmod(bit.bit_length() - 1, STRIDE)
            if bit in (TOP, BOTTOM):
                names.append(_EDGES[self.winner][bit == BOTTOM])
            else:
                names.append(
                    format_cell(frame_action(row * size + column, self.winner, size), size)
                )
        return names

    def _named(self, word: int) -> str:
        return ",".join(self._names(word)) or "-"


def _turned(word: int) -> int:
    """Row and column exchanged."""
    return int(transpose(np.uint64(word)))
