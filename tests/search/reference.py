"""Both searches in plain Python: every rule written out over all actions, as their papers and
`mctx` have it.

Everything is in the frame of the board; only what the evaluator sees is turned into the mover's
frame and back.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hexlit.search.config import GumbelConfig, PuctConfig, SearchConfig
from hexlit.search.evaluator import Evaluator
from tests.hex.reference import BLACK, Game, transposed

Numbers = NDArray[np.float64]


@dataclass
class Node:
    """A position in the tree; arrays over all actions, `[A]`."""

    game: Game
    lost: bool = False
    """The player to move has lost."""
    prior: Numbers = field(default_factory=lambda: np.zeros(0))
    """0 for illegal actions."""
    network_value: float = 0.0
    visits: int = 0
    value_sum: float = 0.0
    children: dict[int, "Node"] = field(default_factory=dict)

    @property
    def counts(self) -> Numbers:
        return np.array(
            [self.children[a].visits if a in self.children else 0 for a in range(len(self.prior))],
            float,
        )

    @property
    def q(self) -> Numbers:
        """Mean value of each tried action for the player to move; nan where untried."""
        values = np.full(len(self.prior), np.nan)
        for action, child in self.children.items():
            values[action] = -child.value_sum / child.visits
        return values

    def child(self, action: int) -> "Node":
        """The position after `action`, which becomes part of the tree."""
        if action not in self.children:
            after = Game(self.game.size, swap=self.game.swap)
            after.cells, after.moves = self.game.cells.copy(), self.game.moves.copy()
            after.play(action)
            self.children[action] = Node(after, lost=after.winner != 0)
        return self.children[action]


def planes_of(game: Game) -> NDArray[np.int8]:
    """The position in the mover's frame, `[1, 5, size, size]`."""
    size = game.size
    board = np.array(game.cells).reshape(size, size)
    board = board if game.to_move == BLACK else board.T
    planes = np.zeros((1, 5, size, size), np.int8)
    planes[0, 0], planes[0, 1] = board == game.to_move, board == -game.to_move
    planes[0, 2, [0, -1], :] = planes[0, 3, :, [0, -1]] = 1
    planes[0, 4] = game.swap and len(game.moves) == 1
    return planes


def to_board(game: Game, row: Numbers) -> Numbers:
    """A row over the mover's actions as one over the board's."""
    if game.to_move == BLACK:
        return row.copy()
    return row[[transposed(action, game.size) for action in range(len(row))]]


def evaluate(node: Node, evaluator: Evaluator, actions: int) -> float:
    """Give `node` its priors; returns its value."""
    policy, value = np.zeros((1, actions), np.float32), np.zeros(1, np.float32)
    evaluator.evaluate(planes_of(node.game), policy, value)
    prior = to_board(node.game, policy[0].astype(float))
    legal = np.isin(np.arange(actions), node.game.legal_moves())
    prior = np.where(legal, np.maximum(prior, 1e-6), 0)
    node.prior = prior / prior.sum()
    node.network_value = float(value[0])
    return node.network_value


def puct_scores(node: Node, config: PuctConfig) -> Numbers:
    """Q + U of AlphaZero, with an estimate for moves not tried yet."""
    tried = node.counts > 0
    first_play = node.value_sum / node.visits - config.fpu_reduction * math.sqrt(
        node.prior[tried].sum()
    )
    q = np.where(tried, node.q, first_play)
    c = config.c_init + math.log((node.visits + config.c_base + 1) / config.c_base)
    scores = q + c * node.prior * math.sqrt(node.visits) / (1 + node.counts)
    return np.where(node.prior > 0, scores, -np.inf)


def sigma(node: Node, config: GumbelConfig) -> Numbers:
    """Equations 8 and 33 of the paper, and appendix D: the completed Q values on the scale of
    logits.

    Illegal actions are completed like untried ones, as in `mctx`, so v_mix always belongs to the
    stretched range.
    """
    counts, tried = node.counts, node.counts > 0
    mixed = node.network_value
    if tried.any():
        average = (node.prior[tried] * node.q[tried]).sum() / node.prior[tried].sum()
        mixed = (node.network_value + counts.sum() * average) / (1 + counts.sum())
    q = np.where(tried, node.q, mixed)
    if config.rescale:
        low, high = min(q.min(), mixed), max(q.max(), mixed)
        q = (q - low) / max(high - low, 1e-8)
    else:
        q = (q + 1) / 2
    scaled: Numbers = (config.visit_offset + counts.max()) * config.value_scale * q
    return scaled


def logits(node: Node) -> Numbers:
    with np.errstate(divide="ignore"):
        return np.log(node.prior)


def improved_policy(node: Node, config: GumbelConfig) -> Numbers:
    """Softmax(logits + sigma(completed Q)), equation 11."""
    scores = logits(node) + sigma(node, config)
    weights = np.exp(scores - scores.max())
    policy: Numbers = weights / weights.sum()
    return policy


def inner_scores(node: Node, config: GumbelConfig) -> Numbers:
    """How far the visits of each action lag behind the improved policy, equation 14."""
    scores = improved_policy(node, config) - node.counts / (1 + node.counts.sum())
    return np.where(node.prior > 0, scores, -np.inf)


def considered_visits(considered: int, simulations: int) -> list[int]:
    """Sequential halving: the visits that the action to be visited next has, simulation by
    simulation.

    Each of log2(considered) rounds has an equal share of the simulations, spread evenly over the
    actions left, at least one for each. Every round keeps half of them, and the last two stay to
    the end.
    """
    if considered <= 1:
        return list(range(simulations))
    sequence: list[int] = []
    left, done = considered, 0
    while len(sequence) < simulations:
        share = max(1, int(simulations / (math.ceil(math.log2(considered)) * left)))
        for visit in range(done, done + share):
            sequence += [visit] * left
        left, done = max(2, left // 2), done + share
    return sequence[:simulations]


def halving_scores(node: Node, gumbels: Numbers, wanted: int, config: GumbelConfig) -> Numbers:
    """Noise + logit + sigma(Q) of the actions with the wanted number of visits."""
    eligible = (node.counts == wanted) & (node.prior > 0)
    return np.where(eligible, gumbels + logits(node) + sigma(node, config), -np.inf)


@dataclass(frozen=True)
class Found:
    """As `SearchResult`, of one position."""

    visits: list[int]
    action: int
    policy: Numbers
    value: float


def back_up(path: list[Node], value: float) -> None:
    for node in reversed(path):
        node.visits += 1
        node.value_sum += value
        value = -value


def found_at(root: Node, noise: Numbers, config: SearchConfig) -> Found:
    """The result of the tree below `root`."""
    counts = root.counts
    if config.algorithm == "puct":
        policy = counts / counts.sum()
        chosen = max(root.children, key=lambda action: root.children[action].visits)
    else:
        policy = improved_policy(root, config.gumbel)
        chosen = int(halving_scores(root, noise, int(counts.max()), config.gumbel).argmax())
    return Found([int(n) for n in counts], chosen, policy, float(root.q[chosen]))


def search(
    game: Game, config: SearchConfig, evaluator: Evaluator, gumbels: Numbers | None = None
) -> Found:
    """Search one position;
    `gumbels` `[A]` is the noise on the actions of the mover's frame, none unless given.
    """
    actions = game.size**2 + game.swap
    root = Node(game)
    noise = np.zeros(actions) if gumbels is None else to_board(game, gumbels)
    schedule: list[int] = []
    for simulation in range(-1, config.simulations):
        path = [root]
        while path[-1].visits and not path[-1].lost:
            node = path[-1]
            if config.algorithm == "puct":
                scores = puct_scores(node, config.puct)
            elif node is root:
                scores = halving_scores(root, noise, schedule[simulation], config.gumbel)
            else:
                scores = inner_scores(node, config.gumbel)
            action = int(scores.argmax())
            path.append(node.child(action))
        value = -1.0 if path[-1].lost else evaluate(path[-1], evaluator, actions)
        back_up(path, value)
        if simulation < 0:
            considered = min(config.gumbel.considered, int((root.prior > 0).sum()))
            schedule = considered_visits(considered, config.simulations)
    return found_at(root, noise, config)
