"""Strength of a network: against exact ground truth on small boards, against fixed opponents on
larger ones.

The truth used here (solved openings, solved positions) only ever measures; nothing is trained on
it.
"""

import functools
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hexlit.arena.config import EvaluationConfig
from hexlit.arena.matches import most_openings, play_match
from hexlit.arena.players import PLAYOUTS, Judging, Player, PolicyPlayer, SearchPlayer
from hexlit.arena.positions import game_positions, random_positions
from hexlit.arena.ratings import rate_against_perfect
from hexlit.hex.arrays import BoolArray, FloatArray, Int8Array, Int16Array
from hexlit.hex.judging import openings_right
from hexlit.hex.openings import SOLVED, solved_openings
from hexlit.hex.truth import SolvedPositions
from hexlit.nets.calibration import calibrate
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator, RolloutEvaluator

SOLVED_SIZES = tuple(SOLVED)
"""Boards whose openings are solved."""

MATCH_PAIRS = 16
"""Openings of the match against rollouts on boards without solved positions, each played twice."""

FIRST_SHARE = 5
"""A measurement that may reach the target begins with a fifth of its positions."""

NEAR = 0.05
"""It goes on with all of them where the figures of the fifth are this near to the target."""

CALIBRATION = ("brier", "log_loss", "calibration_error", "sign_accuracy")
"""Figures of a `Calibration`."""

Figures = dict[str, Any]
"""Numbers by name, and maps of openings and positions, in plain values."""


def target_of(config: EvaluationConfig, size: int) -> dict[str, float] | None:
    """The least figures of `Strength.measure` that end a run on boards of `size`; None without a
    target.

    There is none if it is not asked for, if strength is not measured, or if the openings are not
    solved.
    """
    target = config.target
    if not target.enabled or not config.every_epochs or size not in SOLVED_SIZES:
        return None
    least = {
        "search_optimality": target.search_optimality,
        "policy_optimality": target.policy_optimality,
    }
    return {"openings_right": float(size**2)} | least


def evaluation_batch(config: EvaluationConfig, size: int, most: int) -> int:
    """Batch of an evaluator that measures strength on boards of `size`, at most `most` positions.

    Hundreds of solved positions are searched in parallel, but in a match each player has to move in
    only half of the games: a larger batch would mostly be padding.
    """
    return most if size in SOLVED_SIZES else min(most, MATCH_PAIRS)


def opening_values(judge: Judging, size: int) -> FloatArray:
    """Value for Black of the first stone on each cell, `[size*size]`: above 0 it wins in the
    judge's opinion.
    """
    cells, to_move = _openings(size)
    # White is to move: a value that is good for White is bad for the opening.
    return -judge(cells, to_move).value


def _openings(size: int) -> tuple[Int8Array, Int8Array]:
    """The positions after Black's first stone, one for each cell, and the colours to move:
    White.
    """
    return np.eye(size**2, dtype=np.int8), np.full(size**2, -1, np.int8)


def keeps_the_win(
    positions: SolvedPositions, moves: Int16Array, among: BoolArray | None = None
) -> BoolArray:
    """Whether each of `moves` wins, in all `positions` or in those selected by `among`."""
    wins = positions.winning_moves if among is None else positions.winning_moves[among]
    return wins[np.arange(len(moves)), moves]


@dataclass
class Strength:
    """Measures networks of one board size, always with the same positions."""

    config: EvaluationConfig
    search: SearchConfig
    """Its simulations are those of `config`."""
    _: KW_ONLY
    size: int
    swap: bool
    batch: int
    """Positions per call of the later evaluators."""
    cache: Path | None = None
    """Folder where solved positions are kept between runs."""

    def __post_init__(self) -> None:
        self.search = replace(self.search, simulations=self.config.simulations)
        self._random_positions = functools.cache(self._draw_positions)

    def measure(self, evaluator: Evaluator, *, final: bool) -> Figures:
        """Figures of the network behind `evaluator`.

        The `final` ones use separate positions. Those of a run's earlier measurements, for its
        best checkpoint and its end, are drawn with another seed, so that nothing is chosen by the
        final figures.

        `openings` and `openings_right`: one-stone positions, and the number that the search judges
        right, with `opening_map` (value of each opening for Black, `size*size` numbers) and
        `opening_truth`. `search_optimality`, `policy_optimality`: share of won positions that the
        searched move, or the most likely move of the policy, keeps won. `rollouts_share`: share of
        games won against a search with random playouts. `score`: chooses the best checkpoint; it is
        `rollouts_share`, or of n openings and won positions, k of them judged right and kept won,
        (k + 1) / (n + 2), Laplace's rule of succession, so that few positions do not win by luck.

        Where a target is set, a measurement that is not final takes a fifth of its positions until
        its figures come near the target. `positions` is their number.

        With `config.perfect_pairs`: `elo_to_perfect`, the rating of the search by games against
        perfect play, which has 0, and `elo_interval`, the ends of its 95% interval.

        Without any search: `value_openings_right` and `value_opening_map`; over `game_positions`
        positions from games `value_brier`, `value_log_loss`, `value_calibration_error`,
        `value_sign_accuracy` (see `Calibration`) and `games_policy_optimality`. Only the end
        measures `games_search_optimality`.
        """
        searcher = SearchPlayer(
            self.search, evaluator, size=self.size, batch=self.batch, swap=self.swap
        )
        policy = PolicyPlayer(evaluator, size=self.size, batch=self.batch, swap=self.swap)
        if self.size not in SOLVED_SIZES:
            share = self._share_against_rollouts(searcher, final)
            return {"rollouts_share": share, "score": share}
        figures: Figures = {}
        pairs = self.config.perfect_pairs
        if pairs:
            _, rating = rate_against_perfect(
                {"search": searcher}, self._perfect, self.size, pairs, self.config.seed
            )
            figures = {"elo_to_perfect": rating.elo, "elo_interval": [rating.low, rating.high]}
        whole = self._random_positions(final)
        least = target_of(self.config, self.size)
        if least is not None and not final:
            first = whole.only(slice(len(whole) // FIRST_SHARE))
            figures |= self._judge(searcher, policy, first, final)
            if any(figures[name] < bound - NEAR for name, bound in least.items()):
                return figures
        return figures | self._judge(searcher, policy, whole, final)

    def _judge(
        self, searcher: SearchPlayer, policy: PolicyPlayer, positions: SolvedPositions, final: bool
    ) -> Figures:
        truth = solved_openings(self.size)
        from_games = self._game_positions
        # Openings and positions share batches: a search of 25 openings takes as long as one of a
        # whole batch.
        openings, to_move = _openings(self.size)
        cells = np.concatenate([openings, positions.cells])
        movers = np.concatenate([to_move, positions.to_move])
        searched = searcher.judge(cells, movers)
        opening_map = -searched.value[: len(openings)]
        moves = searched.action[len(openings) :]
        kept = keeps_the_win(positions, moves)
        right = openings_right(opening_map.tolist(), truth)
        likeliest = policy.judge(positions.cells, positions.to_move).action
        figures: Figures = {
            "openings": len(truth),
            "openings_right": right,
            "opening_map": opening_map.tolist(),
            "opening_truth": [bool(wins) for wins in truth],
            "search_optimality": float(kept.mean()),
            "policy_optimality": float(keeps_the_win(positions, likeliest).mean()),
            "positions": len(positions),
            "score": (int(kept.sum()) + right + 1) / (len(positions) + len(truth) + 2),
        }
        figures |= self._judge_by_value(policy, from_games)
        if final:
            won = from_games.only(from_games.won)
            judged = searcher.judge(won.cells, won.to_move)
            figures["games_search_optimality"] = float(keeps_the_win(won, judged.action).mean())
        return figures

    def _judge_by_value(self, policy: PolicyPlayer, positions: SolvedPositions) -> Figures:
        values = opening_values(policy.judge, self.size)
        judged = policy.judge(positions.cells, positions.to_move)
        calibration = calibrate(judged.value, positions.won)
        won = positions.won
        return {
            "value_openings_right": openings_right(values.tolist(), solved_openings(self.size)),
            "value_opening_map": values.tolist(),
            "game_positions": len(positions),
            **{f"value_{name}": getattr(calibration, name) for name in CALIBRATION},
            "games_policy_optimality": float(
                keeps_the_win(positions, judged.action[won], won).mean()
            ),
        }

    def _draw_positions(self, final: bool) -> SolvedPositions:
        config = self.config
        count = config.positions if final else config.quick_positions
        seed = config.seed if final else config.seed + 1
        return random_positions(self.size, count, seed, self.cache)

    @functools.cached_property
    def _game_positions(self) -> SolvedPositions:
        return game_positions(self.size, self.config.game_positions, self.config.seed, self.cache)

    @functools.cached_property
    def _perfect(self) -> Player:
        from hexlit.arena.baselines import SolverPlayer  # most runs do without its kernels

        return SolverPlayer(self.size, seed=self.config.seed)

    def _share_against_rollouts(self, searcher: SearchPlayer, final: bool) -> float:
        rollouts = RolloutEvaluator(PLAYOUTS, self.config.seed)
        opponent = SearchPlayer(self.search, rollouts, size=self.size, batch=self.batch)
        plies = min(2, self.size - 1)
        asked = 4 * MATCH_PAIRS if final else MATCH_PAIRS
        pairs = min(asked, most_openings(self.size, plies))
        result = play_match(
            searcher,
            opponent,
            size=self.size,
            pairs=pairs,
            seed=self.config.seed,
            opening_plies=plies,
        )
        return result.share
