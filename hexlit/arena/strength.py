"""How strong a network is: against exact ground truth on small boards, against fixed opponents on larger ones.

The truth used here (solved openings, solved positions) only ever measures; nothing is trained on it.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hexlit.arena.config import EvaluationConfig
from hexlit.arena.match import most_openings, play_match
from hexlit.arena.players import Judge, PolicyPlayer, SearchPlayer
from hexlit.arena.positions import game_positions, random_positions
from hexlit.hex.openings import SOLVED, solved_openings
from hexlit.hex.truth import SolvedPositions
from hexlit.nets.calibration import calibrate
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator, RolloutEvaluator

SOLVED_SIZES = tuple(SOLVED)
"""Boards whose openings are solved."""

Figures = dict[str, float | int | list[float] | list[bool]]


def evaluation_batch(config: EvaluationConfig, size: int, most: int) -> int:
    """Positions that an evaluator should take a call to measure strength on boards of `size`, `most` at most.

    Hundreds of solved positions are searched side by side, but of a match each player has only half of the games to
    move in: a larger batch would mostly be padding.
    """
    return most if size in SOLVED_SIZES else min(most, config.match_pairs)


def opening_values(judge: Judge, size: int) -> NDArray[np.float32]:
    """Value for Black of his first stone on each cell, `[size*size]`: above 0 the judge thinks that it wins."""
    cells = np.eye(size**2, dtype=np.int8)
    # White is to move: what is good for White is bad for the opening.
    return -judge.judge(cells, np.full(size**2, -1, np.int8)).value


def keeps_the_win(
    positions: SolvedPositions, moves: NDArray[np.int16], among: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """Whether each of `moves` wins, in all `positions` or in those that `among` picks out."""
    wins = positions.winning_moves if among is None else positions.winning_moves[among]
    return wins[np.arange(len(moves)), moves]


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
        self._positions: tuple[SolvedPositions, SolvedPositions] | None = None

    def measure(self, evaluator: Evaluator, *, final: bool) -> Figures:
        """Figures of the network behind `evaluator`; with all positions when they are the `final` ones.

        `openings` and `openings_right`: one-stone positions, and how many of them the search judges right, with
        `opening_map` (value of each opening for Black, `size*size` numbers) and `opening_truth`. `search_optimality`,
        `policy_optimality`: share of won positions in which the searched move, or the most likely move of the policy,
        keeps the win. `rollouts_share`: share of games won against a search with random playouts. `score`: the one
        of these figures that the best checkpoint is chosen by.

        Without any search: `value_openings_right` and `value_opening_map`; over `game_positions` positions out of games
        `value_brier`, `value_log_loss`, `value_calibration_error`, `value_sign_accuracy` (see `Calibration`) and
        `games_policy_optimality`. `games_search_optimality` is measured at the end only.
        """
        searcher = SearchPlayer(self._search, evaluator, size=self.size, batch=self._batch, swap=self._swap)
        policy = PolicyPlayer(evaluator, size=self.size, batch=self._batch, swap=self._swap)
        if self.size not in SOLVED_SIZES:
            share = self._share_against_rollouts(searcher, final)
            return {"rollouts_share": share, "score": share}
        truth = solved_openings(self.size)
        searched = opening_values(searcher, self.size)
        figures: Figures = {
            "openings": len(truth),
            "openings_right": int(((searched > 0) == truth).sum()),
            "opening_map": [round(float(value), 4) for value in searched],
            "opening_truth": [bool(wins) for wins in truth],
        }
        all_positions, from_games = self._solved_positions()
        positions = all_positions if final else all_positions.first(self.config.quick_positions)
        for name, judge in (("search_optimality", searcher), ("policy_optimality", policy)):
            found = judge.judge(positions.cells, positions.to_move)
            figures[name] = float(keeps_the_win(positions, found.action).mean())
        figures["positions"] = len(positions)
        figures["score"] = figures["search_optimality"]
        figures |= self._judge_by_value(policy, from_games)
        if final:
            won = from_games.won
            found = searcher.judge(from_games.cells[won], from_games.to_move[won])
            figures["games_search_optimality"] = float(keeps_the_win(from_games, found.action, won).mean())
        return figures

    def _judge_by_value(self, policy: PolicyPlayer, positions: SolvedPositions) -> Figures:
        values = opening_values(policy, self.size)
        found = policy.judge(positions.cells, positions.to_move)
        calibration = calibrate(found.value, positions.won)
        won = positions.won
        return {
            "value_openings_right": int(((values > 0) == solved_openings(self.size)).sum()),
            "value_opening_map": [round(float(value), 4) for value in values],
            "game_positions": len(positions),
            "value_brier": calibration.brier,
            "value_log_loss": calibration.log_loss,
            "value_calibration_error": calibration.calibration_error,
            "value_sign_accuracy": calibration.sign_accuracy,
            "games_policy_optimality": float(keeps_the_win(positions, found.action[won], won).mean()),
        }

    def _solved_positions(self) -> tuple[SolvedPositions, SolvedPositions]:
        if self._positions is None:
            config = self.config
            self._positions = (
                random_positions(self.size, config.positions, config.seed, self._cache),
                game_positions(self.size, config.game_positions, config.seed, self._cache),
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
