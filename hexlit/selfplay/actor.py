"""Many games at once, from the first move to the record."""

import itertools
import json
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.hex.arrays import BoolArray
from hexlit.hex.engine import Stones, empty_stones, play_sequence
from hexlit.hex.geometry import geometry
from hexlit.hex.jit import over_slices
from hexlit.hex.record import Ending, GameRecord
from hexlit.locks import Guarded, by_one_thread
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Batch, Evaluator, empty_batch, empty_cache, remember
from hexlit.search.rule import compiled_params
from hexlit.search.search import GAMES_A_THREAD, check_answers
from hexlit.search.tree import Tree, empty_tree
from hexlit.selfplay.config import SelfPlayConfig, check_search
from hexlit.selfplay.play import (
    CONNECTED,
    PLAYING,
    SLOT,
    GameArrays,
    advance_games,
    compiled_rules,
    empty_games,
    restart_searches,
    start_game,
)

CACHED_ANSWERS = 65_536
"""Answers of the network in the cache, which many leaves reuse while it does not change.

Where the network needs less than about 4 µs a position, the cache costs more than it saves.
"""

Snapshot = dict[str, NDArray[np.generic]]
"""The games in progress as plain arrays."""

_ARRAYS = ("moves", "values", "simulations", "full")
"""Arrays of `GameArrays` in a snapshot, in addition to the policies, of which it has only those of
full searches.
"""

_DONE: Future[None] = Future()
_DONE.set_result(None)


def slots_of(games: int, part: int, parts: int) -> range:
    """The slots of part number `part` of `parts` out of `games`; the parts differ by one slot at
    most.
    """
    return range(games * part // parts, games * (part + 1) // parts)


def share_of(positions: int, games: int, part: int, parts: int) -> int:
    """Positions that part number `part` of `parts` collects of `positions`, by its share of `games`
    slots.
    """
    return math.ceil(positions * len(slots_of(games, part, parts)) / games)


def rows_of(games: int, parts: int, groups: int) -> int:
    """Rows of a call: most games in a group, if `parts` processes with `groups` groups each play
    `games`.
    """
    return -(-games // (parts * groups))


def _slice(slots: range) -> slice:
    return slice(slots.start, slots.stop)


@dataclass(frozen=True)
class GamesSettings:
    """Settings of parallel games, or of one part of them; they can be sent to another process."""

    config: SelfPlayConfig
    search: SearchConfig
    size: int
    """Rows of the board."""
    games: int
    """Parallel games of all parts together."""
    seed: int
    swap: bool = False
    first_game: int = 0
    """Number of the first game; games of several boards have different numbers."""
    groups: int = 1
    """Groups of the part's games that alternate: a call of the evaluator takes one of them, of
    `rows_of` games.
    """
    part: int = 0
    parts: int = 1
    cached_answers: int = CACHED_ANSWERS
    """Answers of the network that are kept for further leaves; 0: none."""

    def of_part(self, snapshots: Sequence[Snapshot]) -> Snapshot:
        """The games in progress of this part, out of those of all parts of an earlier self-play.

        Raises:
            UsageError: they were another number of games.
        """
        whole: Snapshot = {}
        for name in snapshots[0]:
            whole[name] = np.concatenate([snapshot[name] for snapshot in snapshots])
        count = len(whole["moves"])
        if count != self.games:
            raise UsageError(
                f"selfplay.games={self.games}: the run was started with {count}; keep it to resume"
            )
        slots = slots_of(count, self.part, self.parts)
        part = {name: array[slots.start : slots.stop] for name, array in whole.items()}
        targets = _targets(whole["full"], whole["slot.ply"]).sum(1)
        first = np.cumsum([0, *targets])
        part["policies"] = whole["policies"][first[slots.start] : first[slots.stop]]
        return part


def _targets(full: NDArray[Any], ply: NDArray[Any]) -> BoolArray:
    """The moves that are targets, `[G, T]`: those searched in `full`, of the first `ply` `[G]` of
    each game.
    """
    made = np.arange(full.shape[1]) < ply[:, None]
    targets: BoolArray = made & full
    return targets


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

    def add(self, record: GameRecord) -> None:
        """Count the game of `record`."""
        self.games += 1
        self.positions += len(record.policy_plies)
        self.moves += len(record.moves) - record.opening
        if record.would_resign:
            self.unresigned += 1
            self.false_resigns += record.would_resign == record.winner

    @classmethod
    def total(cls, counts: Sequence["SelfPlayCounts"], seconds: float) -> "SelfPlayCounts":
        """Sum of the counts of several processes over `seconds`; the time inside the network is
        their mean.
        """
        total = cls()
        for field in fields(cls):
            values = [getattr(count, field.name) for count in counts]
            setattr(total, field.name, sum(values))
        total.network_seconds /= len(counts)
        total.seconds = seconds
        return total


class _Group(NamedTuple):
    """Games that go into one call of the evaluator: views of the arrays of all games, and the
    batch.
    """

    state: GameArrays
    stones: Stones
    tree: Tree
    walk: Stones
    batch: Batch


class SelfPlay(Guarded):
    """Self-play games in lock step through one evaluator.

    When its game ends, a slot starts another at once: of S slots, slot `s` plays the games s, s +
    S, s + 2S ... Every random draw is keyed by (seed, game, ply), so a game depends neither on the
    others nor on the number of threads. Each of several processes has some of the S slots: see
    `slots_of`.
    """

    def __init__(self, settings: GamesSettings) -> None:
        """The part of the games that `settings` describes.

        With two or more groups the trees of one advance while the evaluator, in another
        thread, works for another. That helps if the evaluator leaves the processor idle.
        """
        super().__init__()
        size = settings.size
        groups = settings.groups
        parts = settings.parts
        slots = slots_of(settings.games, settings.part, parts)
        check_search(settings.search)
        self.settings = settings
        self.games = len(slots)
        self._search_text = json.dumps(asdict(settings.search), sort_keys=True)
        plies = actions = size * size + settings.swap
        self._geometry = geometry(size)
        self._rules = compiled_rules(settings.config, settings.search, settings.seed)
        budgets = self._rules.full_simulations, self._rules.fast_simulations
        self._params = compiled_params(settings.search, budgets=budgets, swap=settings.swap)
        self._state = empty_games(self.games, plies, actions)
        self._stones = empty_stones(self.games, size)
        self._tree = empty_tree(self.games, settings.search.simulations, actions)
        self._cache = empty_cache(settings.cached_answers, actions)
        self._rows = rows_of(settings.games, parts, groups)
        self._groups = [
            self._group(_slice(slots_of(self.games, group, groups))) for group in range(groups)
        ]
        for slot, game_id in enumerate(slots):
            self._start(slot, settings.first_game + game_id, 0)

    @by_one_thread
    def play(
        self,
        evaluator: Evaluator,
        *,
        positions: int,
        network_version: int = 0,
        on_games: Callable[[list[GameRecord], SelfPlayCounts], None] = lambda records, counts: None,
        deadline: float | None = None,
    ) -> SelfPlayCounts:
        """Play until the games that ended hold `positions` fully searched positions.

        The searches under way start again, because `evaluator` may have other weights. `on_games`
        gets each batch of games as soon as it ends. After `deadline` (on `time.monotonic()`) play
        stops early, once there is at least one position.
        """
        counts = SelfPlayCounts()
        start = time.perf_counter()
        settings = self.settings
        self._rules = compiled_rules(
            settings.config, settings.search, settings.seed, network_version
        )
        restart_searches(self._state, self._tree, self._rules)
        self._cache.keys[:] = 0
        evaluations: list[Future[None]] = [_DONE] * len(self._groups)
        with ThreadPoolExecutor(1, "evaluator") as pool:
            for call in itertools.count():
                late = deadline is not None and time.monotonic() > deadline
                if counts.positions >= positions or (late and counts.positions > 0):
                    break
                index = call % len(self._groups)
                group = self._groups[index]
                before = time.perf_counter()
                evaluations[index].result()
                counts.network_seconds += time.perf_counter() - before
                if call >= len(self._groups):
                    keys = group.tree.game["leaf_key"]
                    remember(self._cache, keys, group.batch.policy, group.batch.value)
                over, recalled = self._advance(group)
                check_answers(group.tree)
                if over:
                    records = self._harvest(network_version)
                    for record in records:
                        counts.add(record)
                    counts.seconds = time.perf_counter() - start
                    on_games(records, counts)
                counts.evaluations += len(group.tree.game) - over
                counts.recalled += recalled
                before = time.perf_counter()
                if len(self._groups) > 1:
                    evaluations[index] = pool.submit(evaluator.evaluate, *group.batch)
                else:
                    evaluator.evaluate(*group.batch)
                counts.network_seconds += time.perf_counter() - before
            for evaluation in evaluations:
                evaluation.result()
        counts.seconds = time.perf_counter() - start
        return counts

    @by_one_thread
    def snapshot(self) -> Snapshot:
        """The games in progress as arrays for `restore`, without the searches under way."""
        state = self._state
        snapshot: Snapshot = {}
        for name in SLOT.names or ():
            snapshot[f"slot.{name}"] = state.slot[name].copy()
        for name in _ARRAYS:
            snapshot[name] = getattr(state, name).copy()
        snapshot["policies"] = state.policies[self._full].astype(np.float16)
        return snapshot

    @by_one_thread
    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a `snapshot` of as many games; the search may have other settings from now
        on.
        """
        state = self._state
        for name in SLOT.names or ():
            state.slot[name] = snapshot[f"slot.{name}"]
        for name in _ARRAYS:
            getattr(state, name)[:] = snapshot[name]
        state.policies[self._full] = snapshot["policies"]
        for g in range(self.games):
            play_sequence(self._stones, g, state.moves[g, : state.slot["ply"][g]], self._geometry)

    @property
    def _full(self) -> BoolArray:
        """The moves of the games in progress that were searched in full, `[G, T]`."""
        return _targets(self._state.full, self._state.slot["ply"])

    def _group(self, slots: slice) -> _Group:
        return _Group(
            state=GameArrays._make(array[slots] for array in self._state),
            stones=Stones._make(array[slots] for array in self._stones),
            tree=Tree._make(array[slots] for array in self._tree),
            walk=empty_stones(slots.stop - slots.start, self.settings.size),
            batch=empty_batch(self._rows, self.settings.size, self._tree.policy.shape[2]),
        )

    def _advance(self, group: _Group) -> tuple[int, int]:
        arguments = *group, self._cache, self._rules, self._params, self._geometry
        slices = over_slices(
            lambda first, last: advance_games(first, last, *arguments),
            len(group.tree.game),
            least=GAMES_A_THREAD,
        )
        over, recalled = (sum(counts) for counts in zip(*slices, strict=True))
        return over, recalled

    def _start(self, g: int, game_id: int, network_version: int) -> None:
        state = self._state
        state.slot[g] = np.zeros((), SLOT)
        state.slot[g]["game_id"] = game_id
        state.slot[g]["network_version"] = network_version
        start_game(state, self._stones, self._tree, g, self._rules, self._geometry)

    def _harvest(self, network_version: int) -> list[GameRecord]:
        """Records of the finished games; their slots start the next ones."""
        records = []
        for g in np.flatnonzero(self._state.slot["state"] != PLAYING).tolist():
            records.append(self._record(g))
            self._start(g, records[-1].game_id + self.settings.games, network_version)
        return records

    def _record(self, g: int) -> GameRecord:
        state = self._state
        slot = self._state.slot[g]
        settings = self.settings
        plies = slot["ply"]
        full = np.flatnonzero(state.full[g, :plies])
        return GameRecord(
            game_id=slot["game_id"].item(),
            size=settings.size,
            swap=settings.swap,
            moves=state.moves[g, :plies].copy(),
            winner=slot["winner"].item(),
            ending=Ending.CONNECTED if slot["state"] == CONNECTED else Ending.RESIGNED,
            opening=slot["opening"].item(),
            values=state.values[g, :plies].copy(),
            simulations=state.simulations[g, :plies].copy(),
            policy_plies=full.astype(np.int16),
            policies=state.policies[g, full].astype(np.float16),
            network_version=slot["network_version"].item(),
            seed=settings.seed,
            search=self._search_text,
            would_resign=slot["would_resign"].item(),
            may_resign=slot["may_resign"].item(),
        )
