"""How strong a network is: against exact ground truth on small boards, against fixed opponents on larger ones.

The truth used here (solved openings, solved positions) only ever measures; nothing is trained on it.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from hexlit.arena.config import EvaluationConfig
from hexlit.arena.match import most_openings, play_match
from hexlit.arena.players import PolicyPlayer, SearchPlayer
from hexlit.hex.openings import solved_openings
from hexlit.hex.truth import WonPositions, won_positions
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator, RolloutEvaluator, UniformEvaluator

SOLVED_SIZES = range(3, 8)
"""Boards whose openings are solved."""

FEWEST_STONES = {3: 0, 4: 0, 5: 0, 6: 8, 7: 12}
"""Stones from which on the positions of these boards are solved within moments."""

NODE_LIMIT = {6: 100_000, 7: 100_000}
"""Nodes of the solver after which a random position is passed over; smaller boards need no limit."""

Figures = dict[str, float | int | list[float] | list[bool]]


def evaluation_batch(config: EvaluationConfig, size: int, most: int) -> int:
    """Positions that an evaluator should take a call to measure strength on boards of `size`, `most` at most.

    Hundreds of solved positions are searched side by side, but of a match each player has only half of the games to
    move in: a larger batch would mostly be padding.
    """
    return most if size in SOLVED_SIZES else min(most, config.match_pairs)


class Strength:
    """Measures networks of one board size, always with the same positions."""

    def __init__(
        self,
        config: EvaluationConfig,
        search: SearchConfig,
        *,
        size: int,
        swap: bool,
        batch: int,
        cache: Path | None = None,
    ) -> None:
        """Search as `search` says, with the evaluation's simulations; `batch` is that of the evaluators to come.

        Solved positions are kept in the folder `cache` between runs.
        """
        self.config = config
        self.size = size
        self._swap = swap
        self._batch = batch
        self._search = replace(search, simulations=config.simulations)
        self._cache = cache
        self._positions: WonPositions | None = None

    def prepare(self) -> None:
        """Compile what `measure` needs; without this the first measurement does."""
        searcher = SearchPlayer(self._search, UniformEvaluator(), size=self.size, batch=1, swap=self._swap)
        searcher.search(np.zeros((1, self.size**2), np.int8), np.ones(1, np.int8))
        if self.size in SOLVED_SIZES:
            won_positions(3, 9, 0)  # the same code solves every size

    def measure(self, evaluator: Evaluator, *, final: bool) -> Figures:
        """Figures of the network behind `evaluator`; with all positions when they are the `final` ones.

        `openings` and `openings_right`: one-stone positions, and how many of them the search judges right, with
        `opening_map` (value of each opening for Black, `size*size` numbers) and `opening_truth`. `search_optimality`,
        `policy_optimality`: share of won positions in which the searched move, or the most likely move of the policy,
        keeps the win. `rollouts_share`: share of games won against a search with random playouts. `score`: the one
        of these figures that the best checkpoint is chosen by.
        """
        searcher = SearchPlayer(self._search, evaluator, size=self.size, batch=self._batch, swap=self._swap)
        policy = PolicyPlayer(evaluator, size=self.size, batch=self._batch, swap=self._swap)
        if self.size not in SOLVED_SIZES:
            share = self._share_against_rollouts(searcher, final)
            return {"rollouts_share": share, "score": share}
        figures = self._judge_openings(searcher)
        positions = self._solved_positions()
        count = len(positions.cells) if final else min(self.config.quick_positions, len(positions.cells))
        for name, player in (("search_optimality", searcher), ("policy_optimality", policy)):
            moves = player.choose(positions.cells[:count], positions.to_move[:count])
            figures[name] = float(positions.winning_moves[np.arange(count), moves].mean())
        figures["positions"] = count
        figures["score"] = figures["search_optimality"]
        return figures

    def _judge_openings(self, searcher: SearchPlayer) -> Figures:
        truth = solved_openings(self.size).ravel()
        cells = np.eye(self.size**2, dtype=np.int8)
        # White is to move: what the search finds good for White is bad for the opening.
        values = -searcher.search(cells, np.full(self.size**2, -1, np.int8)).value
        return {
            "openings": len(truth),
            "openings_right": int(((values > 0) == truth).sum()),
            "opening_map": [round(float(value), 4) for value in values],
            "opening_truth": [bool(wins) for wins in truth],
        }

    def _solved_positions(self) -> WonPositions:
        if self._positions is None:
            self._positions = won_positions(
                self.size,
                self.config.positions,
                self.config.seed,
                min_stones=FEWEST_STONES[self.size],
                node_limit=NODE_LIMIT.get(self.size),
                cache=self._cache,
            )
        return self._positions

    def _share_against_rollouts(self, searcher: SearchPlayer, final: bool) -> float:
        rollouts = RolloutEvaluator(self.config.rollouts, self.config.seed)
        opponent = SearchPlayer(self._search, rollouts, size=self.size, batch=self._batch)
        pairs = self.config.match_pairs * (4 if final else 1)
        plies = min(2, self.size - 1)
        pairs = min(pairs, most_openings(self.size, plies))
        return play_match(
            searcher, opponent, size=self.size, pairs=pairs, seed=self.config.seed, opening_plies=plies
        ).share
