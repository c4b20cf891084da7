"""The players that a page may choose from, and the players of one browser."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
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

    def searches(self, name: str) -> bool:
        """Whether the player `name` has a tree; raises `UsageError` where there is none of that name."""
        return self._roster.offer(name).judge is not None

    def is_foreign(self, name: str) -> bool:
        """Whether the player `name` is a program of its own; raises `UsageError` where there is none of that name."""
        return self._roster.offer(name).foreign

    def runs_beside(self, name: str) -> bool:
        """Whether the player `name` moves without the lock; raises `UsageError` where there is none of that name."""
        return self._roster.offer(name).beside

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
