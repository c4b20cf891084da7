"""Learn the weights that order the moves of the exact solver, from positions that it has solved.

    python examples/solver_order.py TARGET.npz [NODES]

Examples are positions of 6×6 to 8×8 whose winning move is in the solver's table after a search of
some openings, each of at most NODES nodes. The scores of a position's moves are trained as logits
of its winning move, costlier positions weighing more. A second round learns from the positions that
the solver visits with the weights of the first.
"""

import sys
from contextlib import suppress

import numpy as np
import torch

from hexlit.hex.jit import kernel
from hexlit.hex.solver import ExactSolver, UnsolvedError, order
from hexlit.hex.solver.bitboard import ZERO, lowest, rotate, transpose
from hexlit.hex.solver.connection import SEMI, connect
from hexlit.hex.solver.moves import fill_in, inferior_moves
from hexlit.hex.solver.table import LOST, find, seal

OPENINGS = {6: "c1 b4 d2 a3 c2 b2 a5", 7: "b4 d2 a3 c2 b2 a5 c1 e3", 8: "d5 a1 d4 b4 b7 c3 a4 d2"}
MOST = 36  # moves of an example; those of emptier boards are left out
BATCH, EPOCHS, RATE = 256, 8, 5e-3


@kernel
def collect(rows, w, turned, moves, costs, tuples, wins):  # type: ignore[no-untyped-def]
    """Write the number of moves of each row, its cost,
    its moves' tuples, and which win; returns how many are kept.
    """
    number = 0
    for row in range(len(rows)):
        sealed = seal(rows[row])
        own, opp = rows[row, 0] ^ sealed, rows[row, 1] ^ sealed
        empty = w.edges.board & ~(own | opp)
        kind, _, common, _ = connect(
            transpose(opp), transpose(empty), w.edges.top, w.edges.bottom, True, w.connections
        )
        must = transpose(common) if kind == SEMI else empty
        left = must & ~inferior_moves(own, opp, must, w.edges)[0]
        winning, rest = ZERO, left
        while rest:
            move = lowest(rest)
            rest &= ~move
            after_own, after_opp, _, _ = fill_in(transpose(opp), transpose(own | move), w.edges)
            seen, known = find(w.table.positions, after_own, after_opp, w.spare)
            if seen and known.state == LOST:
                winning |= move
        if winning in (ZERO, left):
            continue
        if turned:
            own, opp, empty = rotate(own, w.spare), rotate(opp, w.spare), rotate(empty, w.spare)
            left, winning = rotate(left, w.spare), rotate(winning, w.spare)
        found = order.describe(own, opp, empty, left, w.ordering)
        if found > MOST:
            continue
        moves[number], costs[number] = found, rows[row, 5]
        for i in range(found):
            tuples[number, i] = w.ordering.tuples[i]
            wins[number, i] = w.ordering.moves[i] & winning != ZERO
        number += 1
    return number


def examples(size: int, nodes: int, most: int = 100_000) -> tuple[torch.Tensor, ...]:
    """Moves `[N]`, costs `[N]`,
    tuples `[N, MOST, 10]` and winning moves `[N, MOST]` of positions of one size.
    """
    solver = ExactSolver(size, rows=1 << 24)
    for opening in OPENINGS[size].split():
        board = np.zeros(size * size, np.int8)
        board[(int(opening[1]) - 1) * size + ord(opening[0]) - ord("a")] = 1
        with suppress(UnsolvedError):
            solver.wins(board, -1, nodes)
        print(f"{size}x{size} {opening}: {solver.nodes:,} nodes", flush=True)
    table = solver.remembered(3)
    rows = table[(table[:, 2] & np.uint64(3)) == 2]
    rows = rows[np.random.default_rng(size).permutation(len(rows))[:most]]
    parts = []
    for turned in (False, True):
        room = (
            np.zeros(len(rows), np.int64),
            np.zeros(len(rows), np.int64),
            np.zeros((len(rows), MOST, len(order.TUPLES)), np.int16),
            np.zeros((len(rows), MOST), np.bool_),
        )
        kept = collect(rows, solver._works[0], turned, *room)  # type: ignore[no-untyped-call]
        parts.append([torch.from_numpy(array[:kept]) for array in room])
    return tuple(map(torch.cat, zip(*parts, strict=True)))


class Model(torch.nn.Module):
    """The function of `hexlit.hex.solver.order.Weights`."""

    first: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.rows = torch.nn.Parameter(0.05 * torch.randn(sum(order.TUPLES), order.UNITS))
        self.bias = torch.nn.Parameter(torch.zeros(order.UNITS))
        self.output = torch.nn.Parameter(0.2 * torch.randn(order.UNITS))
        self.register_buffer("first", torch.tensor((0, *np.cumsum(order.TUPLES)[:-1].tolist())))

    def forward(self, tuples: torch.Tensor) -> torch.Tensor:
        """Scores `[N, MOST]` of `tuples` `[N, MOST, 10]`."""
        index = (tuples.int() + self.first.int()).flatten(0, 1)
        rows = torch.nn.functional.embedding_bag(index, self.rows, mode="sum")
        scores: torch.Tensor = torch.relu(self.bias + rows) @ self.output
        return scores.view(tuples.shape[:2])


def learn(
    moves: torch.Tensor, costs: torch.Tensor, tuples: torch.Tensor, wins: torch.Tensor
) -> Model:
    """The model after some epochs;
    it prints how often the winning move has the best score, on held-out examples.
    """
    torch.manual_seed(0)
    model, weight = Model(), costs.float().log2()
    shuffled = torch.randperm(len(moves))
    train, held = shuffled[8192:], shuffled[:8192]
    steps = EPOCHS * (len(train) // BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=1e-3)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, steps)

    def logits(batch: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = model(tuples[batch])
        return scores.masked_fill(torch.arange(MOST) >= moves[batch, None], -1e9)

    for step in range(steps):
        start = step * BATCH % (len(train) - BATCH)
        batch = train[start : start + BATCH]
        chosen = logits(batch).log_softmax(1).masked_fill(~wins[batch], -1e9).logsumexp(1)
        loss = -(chosen * weight[batch]).sum() / weight[batch].sum()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        rate.step()
    with torch.no_grad():
        best = logits(held).argmax(1, keepdim=True)
    print(
        f"{len(train):,} examples, first choice wins {wins[held].gather(1, best).float().mean():.1%}",
        flush=True,
    )
    return model


def main(target: str, nodes: str = "1000000") -> None:
    """Two rounds; the weights of the second are written to `target`."""
    for _ in range(2):
        model = learn(
            *map(torch.cat, zip(*(examples(size, int(nodes)) for size in OPENINGS), strict=True))
        )
        values = {
            name: getattr(model, name).detach().numpy().astype(np.float16)
            for name in order.Weights._fields
        }
        np.savez_compressed(target, **values)
        for name, array in values.items():  # in place: solvers made from now on use them
            getattr(order.packaged_weights(), name)[:] = array


if __name__ == "__main__":
    main(*sys.argv[1:])
