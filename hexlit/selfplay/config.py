"""Settings of self-play."""

from dataclasses import dataclass

from hexlit.choices import check_words, one_of
from hexlit.cluster.config import PLACES
from hexlit.errors import UsageError
from hexlit.search.config import SearchConfig

DEVICES = ("learner", "others")


@dataclass
class SelfPlayConfig:
    """Settings of the games that the network learns from."""

    positions: int = 4096
    """Least number of positions searched in full in one epoch."""
    games: int = 256
    """Parallel games, in all processes together, on every device. With `positions` this decides how many epochs, and so
    networks, a game lasts."""
    full_share: float = 0.5
    """Share of moves that are searched in full and become targets (playout cap randomisation, Wu 2019)."""
    fast_simulations: int = 8
    """Simulations for the other moves, which only continue the game."""
    temperature: float = 1.0
    """Temperature of a first move searched in full: 1 plays in proportion to the searched policy, 0 the best move."""
    temperature_final: float = 0.1
    """Final temperature, also used for moves not searched in full."""
    temperature_halflife: float = 6.0
    """Half-life in plies of the difference to the final temperature."""
    opening_share: float = 0.5
    """Share of games that start with uniformly random moves, so that unusual positions are learned too."""
    opening_plies: int = 8
    """Such a game starts with 1 to this many random moves."""
    opening_skew: float = 1.0
    """Preference for short openings: a share x of them has up to x^skew of `opening_plies` moves. With 1 all lengths
    are equally frequent; with 2 a third of the openings up to 8 plies has a single move."""
    resign_threshold: float = 1.0
    """A player resigns when the searched value falls below minus this for `resign_plies` of its moves; 1 = never."""
    resign_plies: int = 2
    """Moves in a row that must look lost to a player before it resigns."""
    resign_off_share: float = 0.1
    """Share of games always played to the end. They measure how often a resignation would have been wrong."""

    gamble_share: float = 0.0
    """Chance at each move that a player who sees itself lost plays at random, once per game. A lost position stays lost
    after any move. A position wrongly believed lost gets the replies that network and search overlook."""
    gamble_value: float = 0.5
    """A player sees itself lost if the searched value falls below minus this."""
    cache: int = 65_536
    """Answers of the network in the cache, which many leaves reuse while it does not change; 0 turns the cache off."""
    batch: int | None = None
    """Most positions in one network call, in all processes together; more `games` are cut into groups. Null chooses by
    the device. It does not change the targets of learning."""
    groups: int | None = None
    """Groups of games that alternate: while one is in the network, the trees of another grow. Null chooses by the
    device."""
    workers: int | None = None
    """Processes that play, each with its share of the games and of the threads; 0 plays in the main process, null
    chooses by the device. On Ray, the actors."""
    devices: str = one_of(DEVICES, "learner")
    """Devices of these processes: that of the `learner`, or this machine's `others` (cuda only). `workers=null` is one
    on each of the others."""
    where: str = one_of(PLACES, "here")
    """`here` (on this machine) or `ray` (on the machines of a Ray cluster, see the section `ray`)."""
    reanalyse_share: float = 0.0
    """Share of `positions` that are not new, but positions of the window's games searched again in full with the newest
    network. Their policies and searched values are renewed, the results stay (MuZero Reanalyze). While the window has
    fewer positions, more are new. Fewer games come in, so the same `data.window` reaches back further."""
    ahead: bool | None = None
    """Whether the games of the next epoch are played while the network trains on this one's, with weights one epoch
    older. Null means yes if other processes play, as they do by default on every device."""
    versions_behind: int = 1
    """Epochs that self-play may be ahead (with `ahead`): its network is as many versions behind. More keep many unequal
    machines busy. The games do not depend on the speed of a machine."""

    def __post_init__(self) -> None:
        check_words(self, "selfplay")
        for name in ("full_share", "opening_share", "resign_off_share", "gamble_share"):
            share = getattr(self, name)
            if not 0 <= share <= 1:
                raise UsageError(f"selfplay.{name}={share}: a share lies between 0 and 1")
        if not 0 <= self.reanalyse_share < 1:
            raise UsageError(
                f"selfplay.reanalyse_share={self.reanalyse_share}: must be at least 0 and below 1, such as 0.25"
            )
        if self.full_share == 0:
            raise UsageError("selfplay.full_share=0: without moves searched in full there is nothing to learn from")
        for name, least in (
            ("positions", 1),
            ("games", 1),
            ("fast_simulations", 1),
            ("opening_plies", 0),
            ("cache", 0),
            ("resign_plies", 1),
            ("batch", 1),
            ("groups", 1),
            ("workers", 0),
            ("versions_behind", 1),
        ):
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(f"selfplay.{name}={getattr(self, name)}: must be {least} or more")
        if self.devices == "others" and (self.where == "ray" or self.workers == 0):
            key = "where" if self.where == "ray" else "workers"
            raise UsageError(
                f"selfplay.devices=others: needs processes on this machine; leave out selfplay.{key}="
                f"{getattr(self, key)}"
            )
        if self.reanalyse_share and (self.where == "ray" or self.versions_behind > 1):
            key = "versions_behind" if self.versions_behind > 1 else "where"
            raise UsageError(
                f"selfplay.{key}={getattr(self, key)}: positions are searched again on this machine alone, one epoch "
                "ahead at most; leave it out, or set selfplay.reanalyse_share=0"
            )
        if self.where == "ray" and self.workers == 0:
            raise UsageError("selfplay.workers=0: Ray plays in actors; set 1 or more, or selfplay.where=here")
        if self.ahead is False and self.versions_behind > 1:
            raise UsageError(
                f"selfplay.versions_behind={self.versions_behind}: has no effect with selfplay.ahead=false; leave one "
                "of them out"
            )
        for name in ("temperature", "temperature_final"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"selfplay.{name}={getattr(self, name)}: a temperature lies between 0 and 1")
        if self.temperature_halflife <= 0:
            raise UsageError(f"selfplay.temperature_halflife={self.temperature_halflife}: must be above 0 plies")
        if not 0 < self.opening_skew <= 10:
            raise UsageError(f"selfplay.opening_skew={self.opening_skew}: must lie above 0 and up to 10, such as 2")
        if not 0 <= self.gamble_value <= 1:
            raise UsageError(f"selfplay.gamble_value={self.gamble_value}: a value lies between 0 and 1")
        if not 0 < self.resign_threshold <= 1:
            raise UsageError(f"selfplay.resign_threshold={self.resign_threshold}: lies above 0 and up to 1 (1 = never)")


def check_search(search: SearchConfig) -> None:
    """Raise `UsageError` for a search that self-play cannot run."""
    if search.leaves > 1:
        raise UsageError(
            f"search.leaves={search.leaves}: self-play fills its batches with many games, each searched leaf by "
            "leaf; search.leaves=1 is needed"
        )
