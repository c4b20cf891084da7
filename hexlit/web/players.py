"""The players that a page may choose from, and the players of one browser."""

import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple

from hexlit.arena.engine import HtpEngine
from hexlit.arena.players import Player
from hexlit.arena.thinker import MakeEvaluator, Thinker
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


@dataclass(frozen=True)
class Offer:
    """A player that the page may choose."""

    name: str
    title: str
    """Description for people, in a few words."""
    judge: Callable[[int], Judge] | None = None
    """Rows of the board -> the player's judge; called once per board. Only players with a judge can study."""
    one_game: Callable[[int], Player] | None = None
    """Rows of the board -> the player, if there is no judge."""
    foreign: bool = False
    """Whether it is a program of its own, which can be ended while it thinks."""
    beside: bool = False
    """Whether it moves without the lock. Its kernels need no thread of others, and release the GIL."""
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
        self._judges: dict[tuple[str, int], Judge] = {}
        self._evaluators: OrderedDict[tuple[str, int, bool, int], Evaluator] = OrderedDict()

    def offer(self, name: str) -> Offer:
        """The player of that name; raises `UsageError`."""
        if name not in self.offers:
            raise UsageError(f"player: there is no {name!a}; choose from {', '.join(self.offers)}")
        return self.offers[name]

    def judge(self, name: str, size: int) -> Judge:
        """The judge of the player `name` on boards of `size` rows; raises `UsageError` where it has none."""
        load = self.offer(name).judge
        if load is None:
            able = ", ".join(offer.name for offer in self.offers.values() if offer.judge is not None)
            raise UsageError(f"player: {name!a} plays, but shows no analysis; choose from {able}")
        if (name, size) not in self._judges:
            made, knows_swap = load(size)

            def shared(size: int, swap: bool, batch: int) -> Evaluator:
                key = name, size, swap, batch
                if key not in self._evaluators:
                    self._evaluators[key] = made(size, swap, batch)
                self._evaluators.move_to_end(key)
                while len(self._evaluators) > MOST_EVALUATORS:
                    self._evaluators.popitem(last=False)
                return self._evaluators[key]

            self._judges[name, size] = Judge(shared, knows_swap)
        return self._judges[name, size]


class BrowserPlayers:
    """The players of one browser, with their trees; its own thread calls them, with the lock or beside it."""

    def __init__(self, roster: Roster, tree_bytes: int) -> None:
        """Each tree may take `tree_bytes`."""
        self._lock = threading.Lock()
        self._closed = False
        self._roster = roster
        self._tree_bytes = tree_bytes
        self._thinkers: OrderedDict[str, Thinker] = OrderedDict()
        self._players: dict[str, tuple[tuple[int, bool], Player]] = {}

    def offer(self, name: str) -> Offer:
        """The player `name` as it is on offer; raises `UsageError` where there is none of that name."""
        return self._roster.offer(name)

    def knows_swap(self, name: str, size: int) -> bool:
        """Whether the player `name`, who searches, was trained with the swap rule for boards of `size` rows."""
        return self._roster.judge(name, size).knows_swap

    def thinker(self, name: str, size: int, *, swap: bool) -> Thinker:
        """The player `name`, ready for a game on a board of `size` rows."""
        judge = self._roster.judge(name, size)
        before = self._thinkers.get(name)
        if before is None or before.size != size:
            search = self._roster.offer(name).search or self._roster.search
            self._thinkers[name] = Thinker(
                search, judge.make_evaluator, knows_swap=judge.knows_swap, tree_bytes=self._tree_bytes
            )
        self._thinkers.move_to_end(name)
        while len(self._thinkers) > MOST_THINKERS:
            self._thinkers.popitem(last=False)
        thinker = self._thinkers[name]
        if (thinker.size, thinker.swap) != (size, swap):
            thinker.prepare(size, swap=swap)
        return thinker

    def player(self, name: str, size: int, *, swap: bool) -> Player:
        """The player `name`, who has no tree, in a game on a board of `size` rows; may raise `Forfeit`."""
        made = self._roster.offer(name).one_game
        assert made is not None, f"{name} has a judge"
        before = self._players.get(name)
        if before is not None and before[0] == (size, swap):
            return before[1]
        if before is not None:
            before[1].close()
            del self._players[name]
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
        """Forget the player `name`, who has forfeited: the next game begins with a new one."""
        _, player = self._players.pop(name, (None, None))
        if player is not None:
            player.close()

    def close(self) -> None:
        """Give back what the players hold; none comes after."""
        with self._lock:
            self._closed = True
        self._thinkers.clear()
        for _, player in self._players.values():
            with suppress(Exception):  # one that fails to end holds up no other
                player.close()
        self._players.clear()


log = logging.getLogger(__name__)

Work = Callable[[Callable[[], bool]], None]
"""A job; it often calls its argument to learn whether to stop."""


class FairLock:
    """A fair lock that its holder can pass on and take again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held = False
        self._waiting: deque[threading.Event] = deque()

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
        """Give the lock back for work that need not block others, and wait for it at the end; for the holder."""
        self._give()
        try:
            yield
        finally:
            self._take()

    def pass_on(self) -> None:
        """Let the waiting ones run, then continue; only the holder may call this."""
        with self._lock:
            if not self._waiting:
                return
        self._give()
        self._take()

    def _take(self) -> None:
        with self._lock:
            if not self._held:
                self._held = True
                return
            turn = threading.Event()
            self._waiting.append(turn)
        turn.wait()

    def _give(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()  # it stays held: by the next one
            else:
                self._held = False


def passing(lock: FairLock, until: Callable[[], bool]) -> Callable[[], bool]:
    """`until` for a search of the lock's holder: passes the lock on before each call."""

    def asked() -> bool:
        lock.pass_on()
        return until()

    return asked


class JobQueue:
    """Carries out its newest work, and stops the previous work.

    The thread starts with the first work, and ends with `close`.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._change = threading.Condition()
        self._next: Work | None = None
        self._refused: Callable[[], None] = lambda: None
        """Called if the work in `_next` never begins."""
        self._stop = threading.Event()
        """Tells the running work to end; each work has its own."""
        self._closed = False
        self._thread: threading.Thread | None = None

    def begin(self, work: Work, refused: Callable[[], None]) -> None:
        """Carry `work` out once the running work has stopped, unless newer work comes first; does not wait.

        `refused` is called for work that never began.
        """
        with self._change:
            self._drop(None if self._closed else (work, refused))

    def stop(self) -> None:
        """Stop the running work, and drop the waiting one; does not wait."""
        with self._change:
            self._drop(None)

    def close(self, timeout: float | None = None) -> None:
        """Stop for good, and wait for the thread, at most `timeout` seconds."""
        with self._change:
            self._closed = True
            self._drop(None)
        if self._thread is not None:
            self._thread.join(timeout)

    def _drop(self, following: tuple[Work, Callable[[], None]] | None) -> None:
        """Replace the waiting work by `following`."""
        self._stop.set()
        if self._next is not None:
            self._refused()
        self._next = None
        if following is not None:
            self._next, self._refused = following
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        self._change.notify()

    def _run(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._next is not None or self._closed)
                if self._next is None:
                    return
                work, self._next = self._next, None
                stop = self._stop = threading.Event()
            try:
                work(stop.is_set)
            except Exception:
                log.exception("%s: work failed", self._name)
