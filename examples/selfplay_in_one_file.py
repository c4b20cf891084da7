"""Hex from nothing in one file: from the rules to a network that has been measured against perfect
play.

    python examples/selfplay_in_one_file.py              # 4x4: a minute or two on two cores
    python examples/selfplay_in_one_file.py --epochs 1   # seconds, and no strength

`hexlit train` does the same with everything that a real run needs. This file has the core alone, in
the order in which it works: rules, network, search, self-play, replay window, training, evaluation.
hexlit gives the rules (`Board`), the compiled search (`TreeSearch`) and the truth (`Solver`); all
else is plain torch and NumPy, to be changed at will.
"""

import argparse
import time
from collections import deque
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

import hexlit
from hexlit.hex.encoding import OPPONENT, OWN, PLANES
from hexlit.search.config import SearchConfig
from hexlit.search.search import SearchResult, TreeSearch

# --- Rules ----------------------------------------------------------------------------------------
# A game is a `hexlit.Board`: Black begins and connects top to bottom, White left to right, and
# nobody can draw. Network and search see every position in the mover's frame, in which the mover
# connects top to bottom (White's board is transposed). So one network plays both colours, and a
# value is always that of the player to move.


def position_arrays(boards: list[hexlit.Board]) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Stones `[B, size*size]` (+1 black,
    -1 white) and who moves `[B]`, as the search takes them.
    """
    return np.stack([board.cells for board in boards]), np.array(
        [board.to_move for board in boards], np.int8
    )


def to_movers_frame(policy: NDArray[np.float32], to_move: int, size: int) -> NDArray[np.float32]:
    """A policy `[size*size]` over the board, in the frame of the player to move."""
    return policy if to_move > 0 else policy.reshape(size, size).T.ravel()


# --- Network --------------------------------------------------------------------------------------
# A small residual tower. It keeps the board's shape to the end, so that a policy is one number a
# cell.


class Net(nn.Module):
    """Planes `[B, PLANES, n, n]` to policy logits `[B, n*n]`
    and the logit of the mover's chance to win `[B]`.
    """

    def __init__(self, channels: int = 32, blocks: int = 3) -> None:
        super().__init__()
        self.stem = nn.Conv2d(PLANES, channels, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.BatchNorm2d(channels),
                nn.ReLU(),
                nn.Conv2d(channels, channels, 3, padding=1),
                nn.BatchNorm2d(channels),
                nn.ReLU(),
                nn.Conv2d(channels, channels, 3, padding=1),
            )
            for _ in range(blocks)
        )
        self.policy = nn.Conv2d(channels, 1, 1)
        self.value = nn.Sequential(
            nn.Linear(2 * channels, channels), nn.ReLU(), nn.Linear(channels, 1)
        )

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        x = self.stem(planes)
        for block in self.blocks:
            x = x + block(x)
        summary = torch.cat(
            [x.mean((2, 3)), x.amax((2, 3))], 1
        )  # of any board, so the value head knows no size
        taken = (planes[:, OWN] + planes[:, OPPONENT]).flatten(1) > 0
        return self.policy(x).flatten(1).masked_fill(taken, -1e9), self.value(summary).squeeze(1)


class NetEvaluator:
    """The search's only way to the network: a `hexlit.search.evaluator.Evaluator`."""

    def __init__(self, net: Net) -> None:
        self.net = net

    @torch.inference_mode()
    def evaluate(
        self, planes: NDArray[np.int8], policy: NDArray[np.float32], value: NDArray[np.float32]
    ) -> None:
        """Write probabilities `[B, n*n]` and values `[B]` in [-1, 1] for the positions `planes`."""
        self.net.eval()
        logits, win = self.net(torch.from_numpy(planes).float())
        policy[:] = logits.softmax(1).numpy()
        value[:] = win.tanh().numpy()


# --- Search ---------------------------------------------------------------------------------------
# Gumbel AlphaZero (Danihelka et al. 2022) gets a better policy than the network's out of a few
# simulations, which is what the network then learns. With noise it draws moves to explore; without,
# it plays the best one.


def searched(
    search: TreeSearch, net: Net, boards: list[hexlit.Board], *, noise: float = 0.0, seed: int = 0
) -> SearchResult:
    """What `search` finds for each of `boards`, none of which is decided."""
    parts = []
    for start in range(0, len(boards), search.games):  # it was made for that many positions
        cells, to_move = position_arrays(boards[start : start + search.games])
        parts.append(search.run(cells, to_move, NetEvaluator(net), noise=noise, seed=seed + start))
    return SearchResult(
        *(np.concatenate([vars(part)[name] for part in parts]) for name in vars(parts[0]))
    )


# --- Self-play ------------------------------------------------------------------------------------
# All games move in lock step, so that one call of the network serves all of them.


class Example(NamedTuple):
    """One position to learn from, in the mover's frame."""

    planes: NDArray[np.int8]
    policy: NDArray[np.float32]
    value: float  # 1 if the player to move won the game, else -1


def play_games(search: TreeSearch, net: Net, random: np.random.Generator) -> list[Example]:
    """Play `search.games` games to their end; every searched position becomes an example."""
    size = search.size
    # Half of the games begin with a random stone, or all would soon be about the one best opening.
    boards = [hexlit.Board(size) for _ in range(search.games)]
    for board in boards[::2]:
        board.play(int(random.integers(size * size)))
    seen: list[list[tuple[NDArray[np.int8], NDArray[np.float32], int]]] = [[] for _ in boards]
    while going_on := [number for number, board in enumerate(boards) if not board.winner]:
        found = searched(
            search, net, [boards[n] for n in going_on], noise=1.0, seed=int(random.integers(2**31))
        )
        for number, policy, action in zip(
            going_on, found.policy, found.action.tolist(), strict=True
        ):
            board = boards[number]
            seen[number].append(
                (board.planes()[0], to_movers_frame(policy, board.to_move, size), board.to_move)
            )
            board.play(action)
    return [
        Example(planes, policy, 1.0 if mover == board.winner else -1.0)
        for board, positions in zip(boards, seen, strict=True)
        for planes, policy, mover in positions
    ]


# --- Replay window and training -------------------------------------------------------------------
# The latest epochs of games only: the targets of older ones come from a weaker player.

WINDOW_EPOCHS = 8
STEPS, BATCH = 40, 256


def train(
    net: Net, optimizer: torch.optim.Optimizer, window: list[Example], random: np.random.Generator
) -> float:
    """Take STEPS steps over draws from `window`; returns the mean loss."""
    net.train()
    total = 0.0
    for _ in range(STEPS):
        batch = [window[row] for row in random.integers(len(window), size=BATCH)]
        planes = torch.from_numpy(np.stack([one.planes for one in batch])).float()
        policy = torch.from_numpy(np.stack([one.policy for one in batch]))
        value = torch.tensor([one.value for one in batch])
        if (
            random.random() < 0.5
        ):  # a turn by 180 degrees is the one symmetry of Hex that keeps the mover's frame
            planes, policy = planes.flip(2, 3), policy.flip(1)
        logits, win = net(planes)
        # tanh(x) as a value is sigmoid(2x) as a chance to win, whose cross-entropy learns faster
        # than squares.
        loss = F.cross_entropy(logits, policy) + F.binary_cross_entropy_with_logits(
            2 * win, (value + 1) / 2
        )
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        total += loss.item() / STEPS
    return total


# --- Evaluation -----------------------------------------------------------------------------------
# The exact solver knows who wins every position of a small board. It only measures: nothing is ever
# trained on it.


class Truth(NamedTuple):
    """What perfect play is on one board."""

    openings: list[hexlit.Board]  # each with one black stone
    black_wins: NDArray[np.bool_]  # for each of them
    positions: list[hexlit.Board]  # that the player to move can win
    winning_moves: list[list[str]]  # for each of them


def truth_of(size: int, count: int, random: np.random.Generator) -> Truth:
    """All openings, and `count` random positions in which a wrong move loses a won game."""
    solver = hexlit.Solver()
    positions: list[hexlit.Board] = []
    moves: list[list[str]] = []
    while len(positions) < count:
        board = hexlit.Board(size)
        for cell in random.permutation(size * size)[: random.integers(size * size // 2)].tolist():
            if not board.winner:
                board.play(cell)
        if not board.winner:
            winning = solver.solve(board).moves
            if 0 < len(winning) < len(board.legal_moves()):
                positions.append(board)
                moves.append(winning)
    openings = [hexlit.Board(size, moves=[cell]) for cell in range(size * size)]
    return Truth(openings, solver.openings(size).values > 0, positions, moves)


def strength(search: TreeSearch, net: Net, truth: Truth) -> tuple[float, float]:
    """Shares of openings whose winner the search names,
    and of won positions in which its move keeps the win.
    """
    for_white = searched(search, net, truth.openings).value  # White is to move in all of them
    right = (for_white < 0) == truth.black_wins
    actions = searched(search, net, truth.positions).action.tolist()
    moves = [
        board.after(action).names[-1]
        for board, action in zip(truth.positions, actions, strict=True)
    ]
    kept = [move in winning for move, winning in zip(moves, truth.winning_moves, strict=True)]
    return float(right.mean()), float(np.mean(kept))


# --- The loop -------------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> tuple[float, float]:
    """Learn, print the progress, and return the two shares of `strength` at the end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=4, help="rows of the board, 3 to 5")
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--games", type=int, default=128, help="games an epoch, all at once")
    parser.add_argument("--simulations", type=int, default=24, help="of the search for each move")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)

    random = np.random.default_rng(chosen.seed)
    torch.manual_seed(chosen.seed)
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-4)
    search = TreeSearch(
        SearchConfig("gumbel", chosen.simulations), size=chosen.size, games=chosen.games
    )
    truth = truth_of(chosen.size, 200, np.random.default_rng(1))
    window: deque[list[Example]] = deque(maxlen=WINDOW_EPOCHS)
    shares = (0.0, 0.0)
    started = time.monotonic()
    for epoch in range(1, chosen.epochs + 1):
        window.append(play_games(search, net, random))
        loss = train(net, optimizer, [example for games in window for example in games], random)
        if epoch % 5 == 0 or epoch in (1, chosen.epochs):
            shares = strength(search, net, truth)
            print(
                f"epoch {epoch:2d}  {time.monotonic() - started:5.1f} s  loss {loss:.3f}  "
                f"openings right {shares[0]:4.0%}  wins kept {shares[1]:4.0%}"
            )
    return shares


if __name__ == "__main__":
    main()
