"""The players that a page may choose from, and the players of one browser."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import NamedTuple

from hexlit.arena.engine import HtpEngine
from hexlit.arena.first_stones import FirstStones, MakeEvaluator, Until
from hexlit.arena.players import Player
from hexlit.arena.thinker import Thinker
from hexlit.errors import UsageError
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator

MOST_EVALUATORS = 8
"""Most evaluators kept ready at a time, each for a player and a board."""
MOST_THINKERS = 2
"""Most searchers of a browser, each with a tree: enough for two that play each other."""


class Judge(NamedTuple):
    """A searching player's judgement of positions."""

    make_evaluator: MakeEvaluator
    knows_swap: bool
    """Whether it was trained with the swap rule."""
    first_stones: FirstStones
    """By which it opens and swaps, if it does not know the swap."""


@dataclass(frozen=True)
class Offer:
    """A player that the page may choose."""

    name: str
    title: str
    """Its name for people, in two words."""
    about: str = ""
    """What it is, in a sentence."""
    judge: Callable[[int], Judge] | None = None
    """Rows of the board -> the player's judge; called once per board. Only players with a judge can
    study.
    """
    one_game: Callable[[int], Player] | None = None
    """Rows of the board -> the player, if there is no judge."""
    foreign: bool = False
    """Whether it is a program of its own, which can be ended while it thinks."""
    in_parallel: bool = False
    """Whether it moves without the lock. Its kernels need no thread of others, and release the
    GIL.
    """
    largest_board: int = 0
    """Rows of the largest board that it is meant for; 0 is not known."""
    search: SearchConfig | None = None
    """Search of a player with a judge; None: the common settings."""


class Roster:
    """The players on offer, and their evaluators, which all browsers share.

    The holder of the lock makes all calls here.
    """

    def __init__(self, offers: Sequence[Offer], search: SearchConfig) -> None:
        """Players with a judge search as `search` says."""
        self.offers = {offer.name: offer for offer in offers}
        self.search = search
        self._loaded = cache(self._load)
        self._evaluator = lru_cache(MOST_EVALUATORS)(self._make)

    def offer(self, name: str) -> Offer:
        """The player of that name; raises `UsageError`."""
        if name not in self.offers:
            raise UsageError(f"player: there is no {name!a}; choose from {', '.join(self.offers)}")
        return self.offers[name]

    def judge(self, name: str, size: int) -> Judge:
        """The judge of the player `name` on boards of `size` rows; raises `UsageError` where it has
        none.
        """
        if self.offer(name).judge is None:
            able = ", ".join(
                offer.name for offer in self.offers.values() if offer.judge is not None
            )
            raise UsageError(f"player: {name!a} plays, but shows no analysis; choose from {able}")
        loaded = self._loaded(name, size)
        return loaded._replace(make_evaluator=partial(self._evaluator, name, size))

    def _load(self, name: str, size: int) -> Judge:
        load = self.offer(name).judge
        assert load is not None, f"{name} has no judge"
        return load(size)

    def _make(self, name: str, board: int, size: int, swap: bool, batch: int) -> Evaluator:
        return self._loaded(name, board).make_evaluator(size, swap, batch)


class BrowserPlayers:
    """The players of one browser, with their trees; its own thread calls them, with the lock or
    next to it.
    """

    def __init__(self, roster: Roster, tree_bytes: int) -> None:
        """Each tree may take `tree_bytes`."""
        self._lock = threading.Lock()
        self._closed = False
        self._roster = roster
        self._tree_bytes = tree_bytes
        self._thinker = lru_cache(MOST_THINKERS)(self._make)
        self._players: dict[str, tuple[tuple[int, bool], Player]] = {}

    def offer(self, name: str) -> Offer:
        """The player `name` as it is on offer; raises `UsageError` where there is none of that
        name.
        """
        return self._roster.offer(name)

    def thinker(self, name: str, size: int, *, swap: bool) -> Thinker:
        """The player `name`, ready for a game on a board of `size` rows."""
        thinker = self._thinker(name, size)
        if (thinker.size, thinker.swap) != (size, swap):
            thinker.prepare(size, swap=swap)
        return thinker

    def _make(self, name: str, size: int) -> Thinker:
        judge = self._roster.judge(name, size)
        offer = self._roster.offer(name)
        return Thinker(
            offer.search or self._roster.search,
            judge.make_evaluator,
            knows_swap=lambda rows: judge.knows_swap,
            shared_stones=judge.first_stones,
            tree_bytes=self._tree_bytes,
        )

    def player(self, name: str, size: int, *, swap: bool) -> Player:
        """The player `name`, who has no tree, in a game on a board of `size` rows; may raise
        `Forfeit`.
        """
        made = self._roster.offer(name).one_game
        assert made is not None, f"{name} has a judge"
        kind, player = self._players.get(name, (None, None))
        if player is not None and kind == (size, swap):
            return player
        self.discard(name)
        player = made(size)
        with self._lock:
            if self._closed:  # it would never end
                raise UsageError("the page has gone")
            self._players[name] = (size, swap), player
        player.begin(size, swap=swap)
        return player

    def abort(self, name: str) -> None:
        """End what the foreign player `name` does in another thread."""
        _, player = self._players.get(name, (None, None))
        if isinstance(player, HtpEngine):
            player.abort()

    def discard(self, name: str) -> None:
        """Forget the player `name`: the next game begins with a new one."""
        _, player = self._players.pop(name, (None, None))
        if player is not None:
            player.close()

    def close(self) -> None:
        """Give back what the players hold; none comes after."""
        with self._lock:
            self._closed = True
        self._thinker.cache_clear()
        for _, player in self._players.values():
            with suppress(Exception):  # one that fails to end holds up no other
                player.close()
        self._players.clear()


Work = Callable[[Until], None]
"""A job; it often calls its argument to learn whether to stop."""


class FairLock:
    """A fair lock that its holder can pass on and take again."""

    def __init__(self) -> None:
        self._turns: deque[object] = deque()  # the first one holds it
        self._change = threading.Condition()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Wait for the lock; give it back at the end."""
        self._take()
        try:
            yield
        finally:
            self._give()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Give the lock back for work that need not block others, and wait for it at the end; for
        the holder.
        """
        self._give()
        try:
            yield
        finally:
            self._take()

    def pass_on(self) -> None:
        """Let the waiting ones run, then continue; only the holder may call this."""
        if len(self._turns) > 1:
            self._give()
            self._take()

    def _take(self) -> None:
        turn = object()
        with self._change:
            self._turns.append(turn)
            self._change.wait_for(lambda: self._turns[0] is turn)

    def _give(self) -> None:
        with self._change:
            self._turns.popleft()
            self._change.notify_all()


def passing(lock: FairLock, until: Until) -> Until:
    """`until` for a search of the lock's holder: passes the lock on before each call."""

    def asked() -> bool:
        lock.pass_on()
        return until()

    return asked


class JobQueue:
    """Carries out its newest work in a thread of its own, and stops the previous work."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, name)
        self._stop = threading.Event()
        """Tells the last work to end; each work has its own."""
        self._last: Future[None] = self._pool.submit(lambda: None)

    def begin(self, work: Work, refused: Callable[[], None]) -> None:
        """Carry `work` out once the running work has stopped, unless newer work comes first; does
        not wait.

        `refused` is called for work that never began.
        """
        self.stop()
        self._stop = threading.Event()
        self._last = self._pool.submit(work, self._stop.is_set)
        self._last.add_done_callback(lambda last: refused() if last.cancelled() else None)

    def stop(self) -> None:
        """Stop the running work, and drop the waiting one; does not wait."""
        self._stop.set()
        self._last.cancel()

    def close(self, timeout: float | None = None) -> None:
        """Stop for good, and wait for the end of the work, at most `timeout` seconds; no work comes
        after.
        """
        self.stop()
        wait([self._last], timeout)
        self._pool.shutdown(wait=False)
