"""Proving the value of a Hex position: the search of the exact solver.

Boolean negamax with *carriers*. Every result comes with the set of empty cells that the winner's strategy uses. When
a move fails, every other move outside the refutation's carrier fails for the same reason, so the moves still worth
trying (the *must-play* region) shrink to their intersection with that carrier; once none is left the mover has lost,
and the union of the carriers proves it (Hayward et al., "Solving 7×7 Hex: Virtual connections and game-state
reduction", 2003). Chains of two-way links (`hexlit.hex.connection`) end a branch early and open the must-play region.

Boards are words as in `hexlit.hex.bitboard`, always in the mover's frame: `own` connects top to bottom, and the
position after a move is seen with row and column exchanged.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hexlit.hex.bitboard import MAX_SIZE, ONE, STRIDE, ZERO, count, full_board, lowest, transpose
from hexlit.hex.connection import SCRATCH, reach, safe_connection
from hexlit.hex.jit import kernel
from hexlit.hex.transposition import COLUMNS, LOST, UNSOLVED, WON, Words, find, store

# Columns of a frame of the search and of its progress: moves to search, moves begun, `nodes` when it began.
_OWN, _OPP, _MUST, _PROOF = 0, 1, 2, 3
_KEPT, _TRIED, _START = 0, 1, 2

_LAYERS = 12  # distances are counted up to here
_CELLS = MAX_SIZE * MAX_SIZE
_DISTANCE_WEIGHT = 100  # of one bridging step, against one step from the centre
_REGION_WEIGHT = 30  # of one cell of the opponent's must-play region after the move


class Work(NamedTuple):
    """What the kernels share: the board's constants, the table, and room to work in."""

    board: np.uint64
    size: int
    top: np.uint64
    bottom: np.uint64
    spare: np.uint64  # see `hexlit.hex.bitboard.rotate`
    table: Words  # [slots, 4]
    layers: Words  # [4, 12]
    scratch: Words
    carriers: Words  # [64]
    moves: Words  # [65, 64], a row a ply, as the next three
    regions: Words
    proofs: Words
    scores: npt.NDArray[np.int64]
    frames: Words  # [65, 4]
    progress: npt.NDArray[np.int64]  # [65, 3]
    nodes: npt.NDArray[np.int64]  # [2]: positions looked at in this call, and how many are allowed


def new_work(size: int, table_bits: int) -> Work:
    """An empty table of 2**table_bits rows and the room to search boards of `size`."""
    board = full_board(size)
    last_row = np.uint64(((1 << size) - 1) << (STRIDE * (size - 1)))
    stack = (_CELLS + 1, _CELLS)
    return Work(
        board=board,
        size=size,
        top=np.uint64((1 << size) - 1),
        bottom=last_row,
        spare=np.uint64((STRIDE + 1) * (STRIDE - size)),
        table=np.zeros((1 << table_bits, COLUMNS), dtype=np.uint64),
        layers=np.zeros((4, _LAYERS), dtype=np.uint64),
        scratch=np.zeros(SCRATCH, dtype=np.uint64),
        carriers=np.zeros(_CELLS, dtype=np.uint64),
        moves=np.zeros(stack, dtype=np.uint64),
        regions=np.zeros(stack, dtype=np.uint64),
        proofs=np.zeros(stack, dtype=np.uint64),
        scores=np.zeros(stack, dtype=np.int64),
        frames=np.zeros((_CELLS + 1, 4), dtype=np.uint64),
        progress=np.zeros((_CELLS + 1, 3), dtype=np.int64),
        nodes=np.zeros(2, dtype=np.int64),
    )


@kernel
def _threats(stones: np.uint64, empty: np.uint64, work: Work) -> int:
    """How many moves connect `stones` at once, found statically; `work.carriers` gets theirs, the move included."""
    number = 0
    candidates = reach(stones, empty, work.top, True) & reach(stones, empty, work.bottom, False)
    while candidates:
        move = lowest(candidates)
        candidates &= ~move
        safe, carrier = safe_connection(stones | move, empty & ~move, work.top, work.bottom, work.scratch)
        if safe:
            work.carriers[number] = carrier | move
            number += 1
    return number


@kernel
def _must_play(other: np.uint64, other_empty: np.uint64, work: Work) -> tuple[np.uint64, np.uint64]:
    """The cells of the mover that meet every threat of the opponent, and the union of the threats' carriers.

    `other` are the opponent's stones in the opponent's frame; both results are in the mover's.
    """
    must, proof = transpose(other_empty), ZERO
    for i in range(_threats(other, other_empty, work)):
        refutation = transpose(work.carriers[i])
        if must & ~refutation:
            must &= refutation
            proof |= refutation
    return must, proof


@kernel
def _settle(own: np.uint64, opp: np.uint64, work: Work) -> tuple[int, np.uint64, np.uint64]:
    """What is known without search: the result, its carrier, 0.

    When UNSOLVED instead: the carriers that made the must-play region, and that region.
    """
    empty = work.board & ~(own | opp)
    other, other_empty = transpose(opp), transpose(empty)
    safe, carrier = safe_connection(other, other_empty, work.top, work.bottom, work.scratch)
    if safe:
        return LOST, transpose(carrier), ZERO
    result, carrier = find(work.table, own, opp, work.spare)
    if result != UNSOLVED:
        return result, carrier, ZERO
    number = _threats(own, empty, work)
    if number:
        carrier = work.carriers[0]
        for i in range(1, number):
            if count(work.carriers[i]) < count(carrier):
                carrier = work.carriers[i]
        return WON, carrier, ZERO
    must, proof = _must_play(other, other_empty, work)
    if must == ZERO:
        return LOST, proof, ZERO
    return UNSOLVED, proof, must


@kernel
def _distances(stones: np.uint64, empty: np.uint64, edge: np.uint64, is_top: bool, turned: bool, layers: Words) -> None:
    """Layer d: the empty cells that d moves of `stones` elsewhere, bridging, link to `edge`; transposed if `turned`."""
    layers[:] = ZERO
    filled = stones
    for d in range(_LAYERS):
        near = reach(filled, empty, edge, is_top)
        if near == ZERO:
            break
        layers[d] = transpose(near) if turned else near
        empty &= ~near
        filled |= near


@kernel
def _order(own: np.uint64, opp: np.uint64, must: np.uint64, work: Work, ply: int) -> int:
    """Write the moves of `must` to the row of `ply`, those on the shortest bridging paths of both sides first."""
    empty = work.board & ~(own | opp)
    other, other_empty = transpose(opp), transpose(empty)
    _distances(own, empty, work.top, True, False, work.layers[0])
    _distances(own, empty, work.bottom, False, False, work.layers[1])
    _distances(other, other_empty, work.top, True, True, work.layers[2])
    _distances(other, other_empty, work.bottom, False, True, work.layers[3])
    moves, scores = work.moves[ply], work.scores[ply]
    number = 0
    while must:
        move = lowest(must)
        must &= ~move
        index = np.int64(count(move - ONE))
        row, column, end = index // STRIDE, index % STRIDE, work.size - 1
        score = abs(2 * row - end) + abs(2 * column - end) + abs(row + column - end)
        for side in range(4):
            d = 0
            while d < _LAYERS and work.layers[side, d] != ZERO and not work.layers[side, d] & move:
                d += 1
            score += _DISTANCE_WEIGHT * d
        i = number
        while i > 0 and scores[i - 1] > score:
            scores[i], moves[i] = scores[i - 1], moves[i - 1]
            i -= 1
        scores[i], moves[i] = score, move
        number += 1
    return number


@kernel
def _expand(
    own: np.uint64, opp: np.uint64, must: np.uint64, proof: np.uint64, work: Work, ply: int
) -> tuple[int, np.uint64]:
    """Settle every reply to a position that `_settle` left open, with the region and proof it gave.

    Result and carrier when that decides the position. Otherwise UNSOLVED, and frame `ply` holds the position and the
    moves to search, those first that leave the opponent the fewest answers.
    """
    start = work.nodes[0]
    other = transpose(opp)
    moves, scores, regions, proofs = work.moves[ply], work.scores[ply], work.regions[ply], work.proofs[ply]
    kept = 0
    for i in range(_order(own, opp, must, work, ply)):
        move = moves[i]
        if not move & must:
            continue
        work.nodes[0] += 1
        result, carrier, region = _settle(other, transpose(own | move), work)
        if result == LOST:
            carrier = move | transpose(carrier)
            store(work.table, own, opp, work.spare, WON, carrier, work.nodes[0] - start)
            return WON, carrier
        if result == WON:
            carrier = transpose(carrier)
            must &= carrier
            proof |= carrier
            continue
        score = scores[i] + _REGION_WEIGHT * np.int64(count(region))
        j = kept
        while j > 0 and scores[j - 1] > score:
            scores[j], moves[j], regions[j], proofs[j] = scores[j - 1], moves[j - 1], regions[j - 1], proofs[j - 1]
            j -= 1
        scores[j], moves[j], regions[j], proofs[j] = score, move, region, carrier
        kept += 1
    if must == ZERO:
        store(work.table, own, opp, work.spare, LOST, proof, work.nodes[0] - start)
        return LOST, proof
    frame, progress = work.frames[ply], work.progress[ply]
    frame[_OWN], frame[_OPP], frame[_MUST], frame[_PROOF] = own, opp, must, proof
    progress[_KEPT], progress[_TRIED], progress[_START] = kept, 0, start
    return UNSOLVED, ZERO


@kernel
def _search(own: np.uint64, opp: np.uint64, must: np.uint64, proof: np.uint64, work: Work) -> tuple[int, np.uint64]:
    """The result and its carrier of a position that `_settle` left open; UNSOLVED when the node limit is passed.

    Depth first over the frames. A loop, because Numba cannot reload a recursive kernel from its cache.
    """
    ply = 0
    result, carrier = _expand(own, opp, must, proof, work, ply)
    while True:
        if result != UNSOLVED:  # the position of frame `ply`: hand it to the frame before
            if ply == 0:
                return result, carrier
            ply -= 1
        frame, progress = work.frames[ply], work.progress[ply]
        own, opp, cost = frame[_OWN], frame[_OPP], work.nodes[0] - progress[_START]
        if result != UNSOLVED:
            carrier = transpose(carrier)
            if result == LOST:
                result, carrier = WON, carrier | work.moves[ply, progress[_TRIED] - 1]
                store(work.table, own, opp, work.spare, result, carrier, cost)
                continue
            frame[_MUST] &= carrier
            frame[_PROOF] |= carrier
        i = progress[_TRIED]
        while i < progress[_KEPT] and not work.moves[ply, i] & frame[_MUST]:
            i += 1
        if i == progress[_KEPT]:
            result, carrier = LOST, frame[_PROOF]
            store(work.table, own, opp, work.spare, result, carrier, cost)
            continue
        progress[_TRIED] = i + 1
        if work.nodes[0] > work.nodes[1]:
            return UNSOLVED, ZERO
        other, reply = transpose(opp), transpose(own | work.moves[ply, i])
        # It may have been proved since it was settled.
        result, carrier = find(work.table, other, reply, work.spare)
        if result == UNSOLVED:
            result, carrier = _expand(other, reply, work.regions[ply, i], work.proofs[ply, i], work, ply + 1)
        ply += 1


@kernel
def answer(own: np.uint64, opp: np.uint64, every: bool, work: Work) -> tuple[int, np.uint64]:
    """The result of an unfinished position and, when `every`, all its winning moves.

    One kernel for both, since each further entry costs a second of compiling.
    """
    other, wins = transpose(opp), ZERO
    must = ONE  # one round, for the position itself
    if every:
        must, carrier = _must_play(other, transpose(work.board & ~(own | opp)), work)
    while must:
        move = lowest(must)
        must &= ~move
        first, second = (other, transpose(own | move)) if every else (own, opp)
        work.nodes[0] += 1
        result, carrier, region = _settle(first, second, work)
        if result == UNSOLVED:
            result, carrier = _search(first, second, region, carrier, work)
        if result == UNSOLVED or not every:
            return result, wins
        if result == LOST:
            wins |= move
        else:
            must &= transpose(carrier)
    return WON if wins else LOST, wins
