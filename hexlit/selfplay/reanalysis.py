"""Reanalysis: positions of earlier games are searched again with the newest network.

Source: Schrittwieser et al. 2020 (MuZero, appendix H, "Reanalyze") and 2021. A game stays in the replay window for many
epochs, while its policies and values are those of the network that played it. A new search renews both; the result of
the game stays.
"""

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.engine import empty_stones, play_sequence
from hexlit.hex.frame import frame_maps
from hexlit.hex.geometry import geometry
from hexlit.hex.jit import kernel
from hexlit.hex.record import GameRecord
from hexlit.hex.rng import REANALYSIS, draw, key
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import AnswerCache, Evaluator
from hexlit.search.search import TreeSearch
from hexlit.selfplay.play import Rules, temperature
from hexlit.selfplay.rebuild import Floats, Ints


class PastPositions(NamedTuple):
    """R positions of games that have ended, to be searched again."""

    game_id: NDArray[np.int64]
    """`[R]`."""
    ply: NDArray[np.int16]
    """Moves before the position, `[R]`."""
    cells: NDArray[np.int8]
    """+1 black stone, -1 white stone, 0 empty, `[R, size*size]`."""
    round: int
    """Keys the noise of the searches, so that a position gets new noise in each round."""

    def between(self, start: int, stop: int) -> "PastPositions":
        """The positions `start` to `stop` - 1."""
        rows = slice(start, stop)
        return PastPositions(self.game_id[rows], self.ply[rows], self.cells[rows], self.round)

    def part(self, part: int, parts: int) -> "PastPositions":
        """Part number `part` of `parts` of equal size, up to one position."""
        return self.between(len(self.ply) * part // parts, len(self.ply) * (part + 1) // parts)


class NewTargets(NamedTuple):
    """Targets of R positions by their latest search."""

    game_id: NDArray[np.int64]
    """`[R]`."""
    ply: NDArray[np.int16]
    """`[R]`."""
    policy: NDArray[np.float16]
    """Searched policy over the board's actions, `[R, A]`."""
    value: NDArray[np.float32]
    """Searched value for the player to move, `[R]`."""
    surprise: NDArray[np.float32]
    """Divergence of the policy from the prior, `[R]`; see `GameRecord.surprises`."""

    @classmethod
    def joined(cls, parts: Iterable["NewTargets"]) -> "NewTargets":
        """All targets of `parts`, one or more, by game and ply."""
        whole = cls._make(map(np.concatenate, zip(*parts, strict=True)))
        return whole.rows(np.lexsort((whole.ply, whole.game_id)))

    def rows(self, rows: NDArray[np.int64]) -> "NewTargets":
        """The targets number `rows`."""
        return NewTargets._make(column[rows] for column in self)


def chosen_positions(records: Iterable[GameRecord], most: int, *, seed: int, round: int) -> PastPositions | None:
    """Up to `most` different positions with a policy target, drawn uniformly by `seed` and `round`; None without any.

    `records` are games on one board.
    """
    kept = [record for record in records if len(record.policy_plies)]
    total = sum(len(record.policy_plies) for record in kept)
    if not min(most, total):
        return None
    game = np.repeat(np.arange(len(kept)), [len(record.policy_plies) for record in kept])
    ply = np.concatenate([record.policy_plies for record in kept])
    # The window draws its batches by (seed, epoch).
    rows = np.sort(np.random.default_rng([seed, round, REANALYSIS]).permutation(total)[:most])
    size = kept[0].size
    stones = empty_stones(len(rows), size)
    for g, row in enumerate(rows):
        play_sequence(stones, g, kept[game[row]].moves[: ply[row]], geometry(size))
    ids = np.array([record.game_id for record in kept], np.int64)[game[rows]]
    return PastPositions(ids, ply[rows], stones.cells[:, : size**2].copy(), round)


def with_targets(record: GameRecord, targets: NewTargets) -> GameRecord:
    """A copy of `record` with `targets`, all of this game, in place of its own."""
    rows = np.searchsorted(record.policy_plies, targets.ply)
    policies, values, surprises = record.policies.copy(), record.values.copy(), record.surprises.copy()
    policies[rows] = targets.policy
    values[targets.ply] = targets.value
    if len(surprises):  # games from before surprises were recorded have none
        surprises[rows] = targets.surprise
    return replace(record, policies=policies, values=values, surprises=surprises)


def targets_of(record: GameRecord, plies: Iterable[int]) -> NewTargets:
    """The targets of `record` at `plies`, all with a policy."""
    ply = np.array(sorted(plies), np.int16)
    rows = np.searchsorted(record.policy_plies, ply)
    surprise = record.surprises[rows] if len(record.surprises) else np.zeros(len(rows), np.float32)
    ids = np.full(len(rows), record.game_id, np.int64)
    return NewTargets(ids, ply, record.policies[rows], record.values[ply], surprise)


class PastSearch:
    """Searches past positions in full, with the noise that self-play has at their plies."""

    def __init__(self, search: SearchConfig, rules: Rules, *, size: int, swap: bool, rows: int, cache: AnswerCache):
        """Search `rows` positions at once, the batch of the evaluator; other searches may share its `cache`."""
        self._search = TreeSearch(search, size=size, games=rows, swap=swap, cache=cache)
        self._rules = rules

    def run(self, evaluator: Evaluator, past: PastPositions) -> tuple[NewTargets, int, float]:
        """The new targets, the rows that the evaluator filled, and the seconds spent inside it."""
        search, found, before, seconds = self._search, [], self._search.rows_used, 0.0
        for start in range(0, len(past.ply), search.games):
            some = past.between(start, start + search.games)
            to_move = np.where(some.ply % 2 == 0, 1, -1).astype(np.int8)
            keys, noise = np.zeros(len(to_move), np.uint64), np.zeros(len(to_move), np.float32)
            _draws(some.game_id, some.ply, past.round, self._rules, keys, noise)
            search.place(some.cells, to_move)
            search.begin(to_move, some.ply, noise, keys)
            while search.advance():
                called = time.perf_counter()
                search.evaluate(evaluator)
                seconds += time.perf_counter() - called
            result = search.read(len(to_move))
            priors = frame_maps(search.tree.root_policy[: len(to_move)], to_move, search.size)
            surprise = _divergence(result.policy, priors)
            found.append(NewTargets(some.game_id, some.ply, result.policy.astype(np.float16), result.value, surprise))
        return NewTargets.joined(found), search.rows_used - before, seconds


def _divergence(policy: NDArray[np.float32], prior: NDArray[np.float32]) -> NDArray[np.float32]:
    """As `hexlit.selfplay.play.divergence`, for each row of `[B, A]`."""
    both = (policy > 0) & (prior > 0)
    ratio = np.divide(policy, prior, out=np.ones_like(policy), where=both)
    found: NDArray[np.float32] = np.maximum(0, (policy * np.log(ratio)).sum(1)).astype(np.float32)
    return found


@kernel
def _draws(
    game_id: Ints, ply: NDArray[np.int16], round: int, rules: Rules, keys: NDArray[np.uint64], noise: Floats
) -> None:
    """Write the key of the draws of each search, and the scale of its noise."""
    for g in range(keys.size):
        keys[g] = draw(key(rules.seed, game_id[g], ply[g], REANALYSIS), round)
        noise[g] = temperature(ply[g], rules)
