"""Several leaves of one tree a call, in plain Python: `reference.search` with virtual losses."""

from dataclasses import dataclass, field

import numpy as np

from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator
from tests.hex.reference import Game
from tests.search.reference import (
    Found,
    Node,
    back_up,
    considered_visits,
    evaluate,
    found_at,
    halving_scores,
    inner_scores,
    puct_scores,
)


@dataclass
class BatchedSearch:
    """One position, searched with up to `config.leaves` leaves a call; without noise."""

    game: Game
    config: SearchConfig
    batches: list[int] = field(default_factory=list)
    """Leaves of each call."""

    def run(self, evaluator: Evaluator) -> Found:
        actions = self.game.size**2 + self.game.swap
        self.root = Node(self.game)
        back_up([self.root], evaluate(self.root, evaluator, actions))
        self.batches.append(1)
        self.noise = np.zeros(actions)
        moves = min(self.config.gumbel.considered, int((self.root.prior > 0).sum()))
        self.schedule = considered_visits(moves, self.config.simulations)
        while self.root.visits <= self.config.simulations:
            batch = self.collect()
            if batch:
                self.batches.append(len(batch))
            for path in batch:
                back_up(path, evaluate(path[-1], evaluator, actions))
        return found_at(self.root, self.noise, self.config)

    def collect(self) -> list[list[Node]]:
        """Paths to the leaves of the next call;
        the tree is as it was before, but for games decided on the way.
        """
        batch: list[list[Node]] = []
        real: dict[int, tuple[int, float]] = {}
        """Visits and sums of the nodes on these paths without virtual losses."""
        nodes: dict[int, Node] = {}
        while len(batch) < self.config.leaves and self.root.visits <= self.config.simulations:
            if batch and self.config.algorithm == "gumbel" and self.drops():
                break
            waiting = {id(taken[-1]) for taken in batch}
            if self.config.root_batch:
                waiting |= {id(taken[1]) for taken in batch}
            path = [self.root]
            while path[-1].visits > 0 and not path[-1].lost and id(path[-1]) not in waiting:
                path.append(self.choose(path[-1]))
            if id(path[-1]) in waiting:
                break
            if path[-1].lost:
                back_up(path, -1.0)
                for depth, node in enumerate(reversed(path)):
                    if id(node) in real:
                        visits, total = real[id(node)]
                        real[id(node)] = visits + 1, total + (-1.0 if depth % 2 == 0 else 1.0)
                continue
            batch.append(path)
            for node in path:
                real.setdefault(id(node), (node.visits, node.value_sum))
                nodes[id(node)] = node
                node.value_sum += node.value_sum / node.visits if node is self.root else 1.0
                node.visits += 1
        for key, node in nodes.items():
            node.visits, node.value_sum = real[key]
        return batch

    def choose(self, node: Node) -> Node:
        if self.config.algorithm == "puct":
            scores = puct_scores(node, self.config.puct)
        elif node is self.root:
            wanted = self.schedule[node.visits - 1]
            scores = halving_scores(node, self.noise, wanted, self.config.gumbel)
        else:
            scores = inner_scores(node, self.config.gumbel)
        return node.child(int(scores.argmax()))

    def drops(self) -> bool:
        """Whether the next visits are for fewer moves than are ready for them."""
        simulation = self.root.visits - 1
        wanted = self.schedule[simulation]
        if wanted == self.schedule[simulation - 1]:
            return False
        return self.schedule[simulation:].count(wanted) < int((self.root.counts == wanted).sum())
