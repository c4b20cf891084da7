"""Many games at once, from the first move to the record."""

import itertools
import json
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.engine import Stones, empty_stones, play_sequence
from hexlit.hex.geometry import geometry
from hexlit.hex.jit import over_slices
from hexlit.hex.record import Ending, GameRecord
from hexlit.search.algorithm import compiled_params
from hexlit.search.cache import AnswerCache, empty_cache, remember
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Batch, Evaluator, empty_batch
from hexlit.search.search import check_answers
from hexlit.search.tree import Tree, empty_tree
from hexlit.selfplay.config import SelfPlayConfig, check_search
from hexlit.selfplay.play import (
    CONNECTED,
    PLAYING,
    SLOT,
    Games,
    advance_games,
    compiled_rules,
    empty_games,
    restart_searches,
    start_game,
)
from hexlit.selfplay.reanalysis import NewTargets, PastPositions, PastSearch

Snapshot = dict[str, NDArray[np.generic]]
"""The games in progress as plain arrays."""

_DONE: Future[None] = Future()
_DONE.set_result(None)


def slots_of(games: int, part: int, parts: int) -> range:
    """The slots of part number `part` of `parts` out of `games`; the parts differ by one slot at most."""
    return range(games * part // parts, games * (part + 1) // parts)


def share_of(positions: int, games: int, part: int, parts: int) -> int:
    """Positions that part number `part` of `parts` collects of `positions`, by its share of `games` slots."""
    return math.ceil(positions * len(slots_of(games, part, parts)) / games)


def part_of(snapshots: Sequence[Snapshot], games: int, part: int, parts: int) -> Snapshot:
    """The games in progress of part number `part` of `parts`, out of those of all parts of an earlier self-play.

    Raises:
        UsageError: those were not `games` games.
    """
    whole = {name: np.concatenate([snapshot[name] for snapshot in snapshots]) for name in snapshots[0]}
    found = len(whole["moves"])
    if found != games:
        raise UsageError(f"selfplay.games={games}: the run was started with selfplay.games={found}; keep it to resume")
    return {name: array[_slice(slots_of(games, part, parts))] for name, array in whole.items()}


def rows_of(games: int, parts: int, groups: int) -> int:
    """Rows of a call: most games in a group, if `parts` processes with `groups` groups each play `games`."""
    return -(-games // (parts * groups))


def _slice(slots: range) -> slice:
    return slice(slots.start, slots.stop)


@dataclass
class SelfPlayCounts:
    """Counts of a stretch of self-play."""

    games: int = 0
    """Games that ended."""
    positions: int = 0
    """Positions of those games that were searched in full."""
    moves: int = 0
    """Moves of those games, the random openings left out."""
    evaluations: int = 0
    """Rows that the evaluator filled."""
    recalled: int = 0
    """Leaves whose answer was known from an earlier row."""
    seconds: float = 0.0
    """Wall time."""
    network_seconds: float = 0.0
    """Part of it spent inside the evaluator."""
    unresigned: int = 0
    """Games that were continued although a player would have resigned."""
    false_resigns: int = 0
    """Those of them that this player won after all."""
    renewed: int = 0
    """Positions of earlier games that were searched again."""


class _Group(NamedTuple):
    """Games that go into one call of the evaluator: views of the arrays of all games, and the batch."""

    state: Games
    stones: Stones
    tree: Tree
    walk: Stones
    batch: Batch


class SelfPlay:
    """Self-play games in lock step through one evaluator.

    When its game ends, a slot starts another at once: of S slots, slot `s` plays the games s, s + S, s + 2S ... Every
    random draw is keyed by (seed, game, ply), so a game depends neither on the others nor on the number of threads.
    Each of several processes has some of the S slots: see `slots_of`.
    """

    def __init__(
        self,
        config: SelfPlayConfig,
        search: SearchConfig,
        *,
        size: int,
        games: int,
        seed: int,
        swap: bool = False,
        groups: int = 1,
        part: int = 0,
        parts: int = 1,
    ) -> None:
        """Part number `part` of `games` parallel games on boards of `size`, with the searches of `search`.

        A call of the evaluator takes one of `groups` groups, of `rows_of` games at most. With two or more groups the
        trees of one advance while the evaluator, in its own thread, works for another. That helps if the evaluator
        leaves the processor idle.
        """
        slots = slots_of(games, part, parts)
        if not 1 <= groups <= len(slots):
            raise UsageError(
                f"selfplay.games={games}: {parts} processes with {groups} groups each need {parts * groups} or more"
            )
        check_search(search)
        self.size = size
        self.swap = swap
        self.seed = seed
        self.games = len(slots)
        self._stride = games
        actions, plies = size * size + swap, size * size + swap
        self._geometry = geometry(size)
        self._rules = compiled_rules(config, search, seed)
        self._search_settings = json.dumps(asdict(search), sort_keys=True)
        budgets = (self._rules.full_simulations, self._rules.fast_simulations)
        self._params = compiled_params(search, budgets=budgets, swap=swap)
        self._state = empty_games(self.games, plies, actions)
        self._stones = empty_stones(self.games, size)
        self._tree = empty_tree(self.games, search.simulations, actions)
        self._cache: AnswerCache = empty_cache(config.cache, actions)
        rows = rows_of(games, parts, groups)
        self._make_past = partial(PastSearch, search, self._rules, size=size, swap=swap, rows=rows, cache=self._cache)
        self._groups = [
            _Group(
                state=Games._make(array[own] for array in self._state),
                stones=Stones._make(array[own] for array in self._stones),
                tree=Tree._make(array[own] for array in self._tree),
                walk=empty_stones(len(slots_of(self.games, group, groups)), size),
                batch=empty_batch(rows, size, actions),
            )
            for group, own in enumerate(_slice(slots_of(self.games, group, groups)) for group in range(groups))
        ]
        for slot, game_id in enumerate(slots):
            self._start(slot, game_id, 0)

    def play(
        self,
        evaluator: Evaluator,
        *,
        positions: int,
        network_version: int = 0,
        on_games: Callable[[list[GameRecord], SelfPlayCounts], None] | None = None,
        deadline: float | None = None,
    ) -> SelfPlayCounts:
        """Play until the games that ended hold `positions` fully searched positions.

        The searches under way start again, because `evaluator` may have other weights. `on_games` gets each batch of
        games as soon as it ends. After `deadline` (on `time.monotonic()`) play stops early, once there is at least one
        position.
        """
        counts = SelfPlayCounts()
        start = time.perf_counter()
        restart_searches(self._state, self._tree, self._rules)
        self._cache.keys[:] = 0
        evaluations: list[Future[None]] = [_DONE] * len(self._groups)
        with ThreadPoolExecutor(1, "evaluator") as pool:
            for turn in itertools.count():
                late = deadline is not None and time.monotonic() > deadline
                if counts.positions >= positions or (late and counts.positions > 0):
                    break
                index = turn % len(self._groups)
                group = self._groups[index]
                before = time.perf_counter()
                evaluations[index].result()
                counts.network_seconds += time.perf_counter() - before
                if turn >= len(self._groups):
                    remember(self._cache, *group.batch)
                over, recalled = self._advance(group)
                check_answers(group.tree)
                if over:
                    records = self._harvest(network_version)
                    for record in records:
                        count_game(counts, record)
                    counts.seconds = time.perf_counter() - start
                    if on_games is not None:
                        on_games(records, counts)
                counts.evaluations += len(group.tree.game) - over
                counts.recalled += recalled
                if len(self._groups) > 1:
                    evaluations[index] = pool.submit(evaluator.evaluate, *group.batch)
                else:
                    before = time.perf_counter()
                    evaluator.evaluate(*group.batch)
                    counts.network_seconds += time.perf_counter() - before
            for evaluation in evaluations:
                evaluation.result()
        counts.seconds = time.perf_counter() - start
        return counts

    def search_again(self, evaluator: Evaluator, past: PastPositions, counts: SelfPlayCounts) -> NewTargets:
        """New targets for `past`, counted in `counts`; right after `play`, by the same `evaluator`."""
        start = time.perf_counter()
        targets, evaluations, network_seconds = self._past_search.run(evaluator, past)
        counts.renewed += len(targets.ply)
        counts.evaluations += evaluations
        counts.network_seconds += network_seconds
        counts.seconds += time.perf_counter() - start
        return targets

    def snapshot(self) -> Snapshot:
        """The games in progress as arrays for `restore`, without the searches under way."""
        state = self._state
        slots = {f"slot.{name}": state.slot[name].copy() for name in SLOT.names or ()}
        return slots | {
            "moves": state.moves.copy(),
            "values": state.values.copy(),
            "simulations": state.simulations.copy(),
            "policies": state.policies.astype(np.float16),
            "surprises": state.surprises.copy(),
        }

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a `snapshot` of a self-play with the same settings."""
        state = self._state
        if snapshot["policies"].shape != state.policies.shape:
            raise UsageError(
                f"the saved games have the shape {snapshot['policies'].shape}, this run {state.policies.shape}: "
                "resume with the board and the number of games that the run was started with"
            )
        for name in SLOT.names or ():
            state.slot[name] = snapshot[f"slot.{name}"]
        for name in ("moves", "values", "simulations", "policies"):
            getattr(state, name)[:] = snapshot[name]
        # Snapshots from before surprises were recorded have none: those of these moves are unknown.
        state.surprises[:] = snapshot.get("surprises", np.float32(0))
        for g in range(self.games):
            play_sequence(self._stones, g, state.moves[g, : state.slot["ply"][g]], self._geometry)

    @cached_property
    def _past_search(self) -> PastSearch:
        """The search of past positions, made on first use: its trees take the memory of a group of games."""
        return self._make_past()

    def _advance(self, group: _Group) -> tuple[int, int]:
        arguments = (
            group.state,
            group.stones,
            group.tree,
            group.walk,
            *group.batch,
            self._cache,
            self._rules,
            self._params,
            self._geometry,
        )
        slices = over_slices(lambda first, last: advance_games(first, last, *arguments), len(group.tree.game))
        over, recalled = (sum(counts) for counts in zip(*slices, strict=True))
        return over, recalled

    def _start(self, slot: int, game_id: int, network_version: int) -> None:
        start_game(self._state, self._stones, self._tree, slot, game_id, network_version, self._rules, self._geometry)

    def _harvest(self, network_version: int) -> list[GameRecord]:
        """Records of the finished games; their slots start the next ones."""
        records = []
        for g in np.flatnonzero(self._state.slot["state"] != PLAYING):
            records.append(self._record(int(g)))
            self._start(int(g), int(self._state.slot["game_id"][g]) + self._stride, network_version)
        return records

    def _record(self, g: int) -> GameRecord:
        state, slot = self._state, self._state.slot[g]
        plies = int(slot["ply"])
        simulations = state.simulations[g, :plies].copy()
        full = np.flatnonzero(simulations == self._rules.full_simulations)
        return GameRecord(
            game_id=int(slot["game_id"]),
            size=self.size,
            swap=self.swap,
            moves=state.moves[g, :plies].copy(),
            winner=int(slot["winner"]),
            ending=Ending.CONNECTED if slot["state"] == CONNECTED else Ending.RESIGNED,
            opening=int(slot["opening"]),
            values=state.values[g, :plies].copy(),
            simulations=simulations,
            policy_plies=full.astype(np.int16),
            policies=state.policies[g, full].astype(np.float16),
            surprises=state.surprises[g, full],
            network_version=int(slot["network_version"]),
            seed=self.seed,
            search=self._search_settings,
            would_resign=int(slot["would_resign"]),
            may_resign=bool(slot["may_resign"]),
        )


def count_game(counts: SelfPlayCounts, record: GameRecord) -> None:
    """Add the game of `record` to `counts`."""
    counts.games += 1
    counts.positions += len(record.policy_plies)
    counts.moves += len(record.moves) - record.opening
    if record.would_resign:
        counts.unresigned += 1
        counts.false_resigns += record.would_resign == record.winner
