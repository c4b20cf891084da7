"""An actor of the cluster; it plays shares, and answers within a second even while it plays.

This module imports no Ray: Ray makes an actor of its plain class.
"""

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

from hexlit.cluster.versions import greeting
from hexlit.files import cache_folder
from hexlit.hex.jit import is_compiled, mark_compiled
from hexlit.hex.record import GameRecord
from hexlit.locks import alone
from hexlit.search.evaluator import UniformEvaluator
from hexlit.selfplay.actor import SelfPlay, SelfPlayCounts, Snapshot
from hexlit.selfplay.cluster.shares import GameNews
from hexlit.selfplay.player import PlayerSettings

_SECONDS_TO_ANSWER = 1.0
_KERNELS = "selfplay-actor"


class GameActor:
    """Plays one share at a time, its games batched into the calls of one evaluator."""

    def hello(self) -> dict[str, str]:
        """See `greeting`."""
        return greeting()

    def set_up(self, workplace: PlayerSettings, parts: int) -> None:
        """Make the evaluator of `workplace`, with its games cut into `parts` parts, and compile the kernels of play.

        One actor of a host compiles, the others wait and load.
        """
        self._settings = workplace.settings | {"parts": parts}
        # One thread calls compiled code and the network: the number of threads that a host sets is the thread's own.
        self._thread = ThreadPoolExecutor(1, "self-play")
        self._host = self._thread.submit(workplace.make_host).result()
        self._lock = threading.Lock()
        self._part: int | None = None
        if is_compiled(_KERNELS):
            self._compile()
        else:
            with alone(cache_folder() / "actors.lock"):
                self._compile()
                mark_compiled(_KERNELS)

    def play(
        self, weights: Any, part: int, start: Snapshot, positions: int, network_version: int, seconds: float | None
    ) -> None:
        """Continue the games of `part` from `start`, for `seconds` at most; `more` tells of them."""
        self._records: list[GameRecord] = []
        self._counts = SelfPlayCounts()
        self._playing: Future[Snapshot] = self._thread.submit(
            self._play, weights, part, start, positions, network_version, seconds
        )

    def more(self) -> GameNews:
        """News of the share that is played: at once when it is done, else after a second.

        An exception of play is raised here.
        """
        done = bool(wait([self._playing], _SECONDS_TO_ANSWER).done)
        after = self._playing.result() if done else None
        with self._lock:
            records, self._records = self._records, []
            counts = self._counts
        return GameNews(records, counts, time.process_time(), after)

    def _compile(self) -> None:
        one = {"games": 1, "groups": 1, "part": 0, "parts": 1}
        self._thread.submit(lambda: SelfPlay(**self._settings | one).play(UniformEvaluator(), positions=1)).result()

    def _play(
        self, weights: Any, part: int, start: Snapshot, positions: int, network_version: int, seconds: float | None
    ) -> Snapshot:
        if part != self._part:
            self._games = SelfPlay(**self._settings | {"part": part})
            self._part = part
        self._games.restore(start)

        def on_games(records: list[GameRecord], counts: SelfPlayCounts) -> None:
            with self._lock:
                self._records.extend(records)
                self._counts = replace(counts)

        counts = self._games.play(
            self._host.refreshed(weights),
            positions=positions,
            network_version=network_version,
            on_games=on_games,
            deadline=None if seconds is None else time.monotonic() + seconds,
        )
        with self._lock:
            self._counts = counts
        return self._games.snapshot()
