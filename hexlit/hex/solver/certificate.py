"""Certificates: the winning strategy of a solved position in a file, for a checker that knows nothing of the solver.

The solver's proof becomes claims (`hexlit.hex.solver.strategy`). Its search gives the moves that win and the answers to
all moves of the other side, virtual connections end it, and cells that it filled in become claims of their own.
"""

import json
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hexlit.files import replacing
from hexlit.hex.frame import frame_map
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_cell
from hexlit.hex.solver.bitboard import STRIDE, pack, transpose
from hexlit.hex.solver.connection import FULL, SEMI, connect, new_connections
from hexlit.hex.solver.moves import edges, fill_in
from hexlit.hex.solver.solver import ExactSolver
from hexlit.hex.solver.strategy import AND, BOTTOM, CAPTURED, DEAD, OR, TOP, Answer, Claim, Claims, beside, bits_of
from hexlit.hex.solver.table import LOST, WON

_RING = ((0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1), (1, 0))  # steps to the neighbours of a cell, in order


@cache
def _is_dead(ring: tuple[int, ...]) -> bool:
    """Whether a cell with these neighbours in order, 1, -1 or 0 (empty), joins nothing, however they are filled."""
    ways = product(*((colour,) if colour else (1, -1) for colour in ring))
    return all(sum(way[i] != way[i - 1] for i in range(6)) <= 2 for way in ways)


class _Strategy:
    """The claims that prove a position, in the frame of the winner, whose stones are `own`."""

    def __init__(self, solver: ExactSolver) -> None:
        self.claims = Claims(solver.size)
        self._solver, self._sides = solver, edges(solver.size)
        self._room = new_connections(solver.size)
        self._by_stones: dict[int, list[int]] = {}

    def replying(self, own: int, opp: int) -> int:
        """The claim that the stones `own` connect the edges although the other side moves."""
        own_filled, opp_filled, steps = self._filled(own, opp, own_moves=False)
        return self._unfilled(self._replying(own_filled, opp_filled), own, steps)

    def moving(self, own: int, opp: int) -> tuple[int, int]:
        """A move that connects the edges, and the claim that holds after it."""
        own_filled, opp_filled, steps = self._filled(own, opp, own_moves=True)
        move, number = self._moving(own_filled, opp_filled)
        return move, self._unfilled(number, own | move, steps)

    def _replying(self, own: int, opp: int) -> int:
        for number in self._by_stones.get(own, []):
            if not self.claims.carriers[number] & opp:
                return number
        kind, carrier = self._connect(own, opp)
        number = self.claims.connected(own, carrier) if kind == FULL else None
        if number is None:
            answer = self.claims.connecting(own, carrier) if kind == SEMI else None
            number = self._answering(own, opp, [answer] if answer else [])
        self._by_stones.setdefault(own, []).append(number)
        return number

    def _moving(self, own: int, opp: int) -> tuple[int, int]:
        kind, carrier = self._connect(own, opp)
        answer = self.claims.connecting(own, carrier) if kind == SEMI else None
        if answer:
            return answer
        won = self._solver.prove(np.uint64(own), np.uint64(opp))
        moves = bits_of(int(won.proof) or int(won.cells))
        move = next(move for move in moves if self._other_loses(own | move, opp))
        return move, self.replying(own | move, opp)

    def _other_loses(self, own: int, opp: int) -> bool:
        """Whether the other side loses, although it moves; the solver then knows the refutations of its moves."""
        return self._solver.prove(np.uint64(_turned(opp)), np.uint64(_turned(own))).state == LOST

    def _empty(self, own: int, opp: int) -> int:
        return int(self._sides.board) & ~(own | opp)

    def _connect(self, own: int, opp: int) -> tuple[int, int]:
        """The virtual connection of the winner from edge to edge, and its carrier."""
        words = np.uint64(own), np.uint64(self._empty(own, opp)), self._sides.top, self._sides.bottom
        kind, carrier, _, _ = connect(*words, True, self._room)
        return kind, int(carrier)

    def _answering(self, own: int, opp: int, answers: list[Answer]) -> int:
        """An OR of answers to all moves of the other side: those given, and those that the solver found first."""
        self._other_loses(own, opp)
        empty = common = self._empty(own, opp)
        kills = {}
        for cell in bits_of(empty):
            for reply in bits_of(beside(cell) & empty):
                if self._dead(cell, own | reply, empty & ~reply):
                    kills[cell] = reply
        for answer in answers:
            common &= answer[0] | self.claims.carriers[answer[1]]
        while (left := common & ~sum(kills)) or not answers:
            known = self._solver.known_moves(np.uint64(_turned(opp)), np.uint64(_turned(own)), WON).tolist()
            ways = [((_turned(carrier) & left).bit_count(), _turned(move)) for move, carrier in known]
            ways = [way for way in ways if way[1] & common] or [(0, next(bits_of(left or common)))]
            answers.append(self.moving(own, opp | min(ways)[1]))
            common &= answers[-1][0] | self.claims.carriers[answers[-1][1]]
        killed = [cell for cell in bits_of(common)]
        around = beside(sum(killed)) & own
        return self.claims.either(answers, around, tuple((cell, kills[cell]) for cell in killed))

    def _filled(self, own: int, opp: int, own_moves: bool) -> tuple[int, int, list[tuple[int, ...]]]:
        """A position filled in as the solver does, and the steps that gave the winner stones: dead or captured ones."""
        if own_moves:
            after_own, after_opp, _, _ = map(int, fill_in(np.uint64(own), np.uint64(opp), self._sides))
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
            for pair in bits_of(beside(cell) & new & (after_own if mine else ~after_own)):
                left = empty & ~(cell | pair)
                if self._dead(cell, own | pair & mine, left) and self._dead(pair, own | cell & mine, left):
                    return cell, pair
        raise AssertionError("cells filled in without a reason")

    def _unfilled(self, number: int, own: int, steps: list[tuple[int, ...]]) -> int:
        """The claim of a position, from that of the position filled in."""
        for step in reversed(steps):
            if self.claims.needed[number] & sum(step):
                around = beside(sum(step)) & (own | sum(map(sum, steps[: steps.index(step)])))
                claim = self.claims.all[number]
                kind = DEAD if len(step) == 1 else CAPTURED
                number = self.claims.add(Claim(kind, (number,), step, around, claim.one, claim.other))
        return number

    def _dead(self, cell: int, own: int, empty: int) -> bool:
        """Whether a cell is dead with the stones `own` and these empty cells, all others being the other side's."""
        row, column = divmod(cell.bit_length() - 1, STRIDE)
        size = self._solver.size
        ring = []
        for down, right in _RING:
            r, c = row + down, column + right
            if not 0 <= r < size:
                ring.append(1 if 0 <= c < size else ring[-1])
            else:
                bit = 1 << STRIDE * r + c if 0 <= c < size else 0
                ring.append(0 if bit & empty else 1 if bit & own else -1)
        return _is_dead(tuple(ring))


def _turned(word: int) -> int:
    """Row and column exchanged."""
    return int(transpose(np.uint64(word)))


def certify(solver: ExactSolver, cells: npt.NDArray[np.int8], to_move: int, path: Path) -> int:
    """Solve a position and write the certificate of its winner; returns the number of claims.

    The first line is a JSON object: the position, the winner, and the first move if the winner is to move. Every other
    line is a claim, `or ANSWER:PART ...` or `and ONE OTHER STONES PART ...`; parts are numbers of earlier claims.

    Args:
        solver: of this board; it searches again what its table has lost.
        cells: int8 `[size*size]`, +1 black, -1 white, 0 empty, nobody connected.
        to_move: +1 or -1.
        path: of the file.
    """
    size = solver.size
    winner = to_move if solver.wins(cells, to_move) else -to_move
    own, opp = (int(pack(frame_map(cells == colour, winner, size), size)) for colour in (winner, -winner))
    strategy = _Strategy(solver)
    first, last = strategy.moving(own, opp) if winner == to_move else (0, strategy.replying(own, opp))
    names = {1 << STRIDE * row + column: (row, column)[::winner] for row, column in np.ndindex(size, size)}
    names = {bit: format_cell(row * size + column, size) for bit, (row, column) in names.items()}
    names |= {TOP: "top" if winner == BLACK else "left", BOTTOM: "bottom" if winner == BLACK else "right"}

    def named(word: int) -> list[str]:
        return [names[bit] for bit in bits_of(word)]

    def listed(word: int) -> str:
        return ",".join(named(word)) or "-"

    head = {"board": size, "black": named(own), "white": named(opp), "to_move": "black", "winner": "black"}
    if winner == WHITE:
        head |= {"black": named(opp), "white": named(own), "winner": "white"}
    head |= {"to_move": "black" if to_move == BLACK else "white", "first": names.get(first)}
    used = strategy.claims.below(last)
    number = {claim: place for place, claim in enumerate(used)}
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write(json.dumps(head) + "\n")
        for claim in map(strategy.claims.all.__getitem__, used):
            parts = [str(number[part]) for part in claim.parts]
            cells = [names[cell] for cell in claim.cells]
            stones = listed(claim.stones)
            if claim.kind == OR:
                kills = ["/".join(map(names.__getitem__, pair)) for pair in claim.kills]
                words = [stones, *map(":".join, zip(cells, parts, strict=True)), *kills]
            elif claim.kind == AND:
                words = [stones, listed(claim.one), listed(claim.other), *parts]
            else:
                words = [stones, *parts, *cells]
            file.write(" ".join([claim.kind, *words]) + "\n")
    return len(used)
