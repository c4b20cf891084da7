"""Settings of self-play."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from hexlit.cluster.config import PLACES
from hexlit.errors import UsageError
from hexlit.search.config import BOARDS, SearchConfig
from hexlit.settings import Settings, number, one_of

DEVICES = ("learner", "others")


@dataclass
class SelfPlayConfig(Settings, section="selfplay"):
    """Settings of the games that the network learns from."""

    positions: int = number(4096, "[1, inf)")
    """Least number of positions searched in full in one epoch."""
    games: int = number(256, "[1, inf)")
    """Parallel games, in all processes together, on every device. With `positions` this decides how
    many epochs, and so networks, a game lasts.
    """
    full_share: float = number(0.5, "(0, 1]")
    """Share of moves that are searched in full and
    become targets (playout cap randomisation, Wu 2019).
    """
    fast_simulations: int = number(8, "[1, inf)")
    """Simulations for the other moves, which only continue the game."""
    temperature: float = number(1.0, "[0, 1]")
    """Temperature of a first move searched in full:
    1 plays in proportion to the searched policy, 0 the best move.
    """
    temperature_final: float = number(0.1, "[0, 1]")
    """Final temperature, also used for moves not searched in full."""
    temperature_halflife: float = number(6.0, "(0, inf)", unit="plies")
    """Half-life in plies of the difference to the final temperature."""
    opening_share: float = number(0.5, "[0, 1]")
    """Share of games that start with uniformly random moves,
    so that unusual positions are learned too.
    """
    opening_plies: int = number(8, "[0, inf)")
    """Such a game starts with 1 to this many random moves."""
    opening_skew: float = number(1.0, "(0, 10]")
    """Preference for short openings: a share x of them has up to x^skew of `opening_plies` moves.
    With 1 all lengths are equally frequent; with 2 a third of the openings up to 8 plies has a
    single move.
    """
    opening_skew_after: int = number(0, "[0, inf)", unit="epochs")
    """Games begun before this many epochs have openings of all lengths equally often,
    as with a skew of 1.
    """
    resign_threshold: float = number(1.0, "(0, 1]")
    """A player resigns when the searched value falls below
    minus this for `resign_plies` of its moves; 1 = never.
    """
    resign_plies: int = number(2, "[1, inf)")
    """Moves in a row that must look lost to a player before it resigns."""
    resign_off_share: float = number(0.1, "[0, 1]")
    """Share of games always played to the end.
    They measure how often a resignation would have been wrong.
    """
    cache: int = number(65_536, "[0, inf)")
    """Answers of the network in the cache,
    which many leaves reuse while it does not change; 0 turns the cache off.
    """
    batch: int | None = number(None, "[1, inf)")
    """Most positions in one network call, in all processes together; more `games` are cut into
    groups. Null chooses by the device. It does not change the targets of learning.
    """
    groups: int | None = number(None, "[1, inf)")
    """Groups of games that alternate: while one is in the network, the trees of another grow. Null
    chooses by the device.
    """
    workers: int | None = number(None, "[0, inf)")
    """Processes that play, each with its share of the games and of the threads; 0 plays in the main
    process, null chooses by the device. On Ray, the shares at a time.
    """
    devices: str = one_of(DEVICES, "learner")
    """Devices of these processes: that of the `learner`, or this machine's `others` (cuda only).
    `workers=null` is one on each of the others.
    """
    where: str = one_of(PLACES, "here")
    """`here` (on this machine) or `ray` (on the machines of a Ray cluster,
    see the section `ray`).
    """
    smaller_boards: list[int] = number([], BOARDS)
    """Smaller boards to play and learn on first,
    in this order. The run is measured on `board` alone.
    """
    smaller_epochs: int = number(16, "[1, inf)")
    """Most epochs on each of them at the beginning."""
    smaller_mark: float = number(0.0, "[0, 1]")
    """The next board comes earlier, once the searched values of an epoch's games foretell their
    results with a Brier score of at most this. 0: never.
    """
    smaller_share: float = number(0.0, "[0, 1)")
    """Share of the later epochs that belong to them in turn,
    so that the network keeps playing on all.
    """
    ahead: bool | None = None
    """Whether the games of the next epoch are played while the network trains on this one's, with
    weights one epoch older. Null means yes if other processes play, as they do by default on every
    device.
    """
    versions_behind: int = number(1, "[1, inf)")
    """Epochs that self-play may be ahead (with `ahead`): its network is as many versions behind.
    More keep many unequal machines busy. The games do not depend on the speed of a machine.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        ray, none, versions = (
            self.where == "ray",
            self.workers == 0,
            f"versions_behind={self.versions_behind}",
        )
        rules = {
            "workers=0: Ray plays in shares; set 1 or more, or selfplay.where=here": ray and none,
            "ahead=true: needs processes that play; set selfplay.workers to 1 or more": self.ahead
            and none,
            "devices=others: needs processes on this machine": self.devices == "others"
            and (ray or none),
            f"{versions}: no effect with selfplay.ahead=false": self.versions_behind > 1
            and self.ahead is False,
        }
        for rule, broken in rules.items():
            if broken:
                raise UsageError(f"selfplay.{rule}")

    def board_of(self, epoch: int, board: int, left: Sequence[int] = ()) -> int:
        """Rows of the board of `epoch` in a run on `board`: the smaller ones first, then their
        share, evenly spread.

        `left` are the epochs at whose beginning the first of them were left, if not all by
        `smaller_epochs`.
        """
        boards, share = self.smaller_boards, self.smaller_share if self.smaller_boards else 0.0
        ends = [0, *left]
        while len(ends) <= len(boards):
            ends.append(ends[-1] + self.smaller_epochs)
        if epoch < ends[-1]:
            return boards[bisect_right(ends, epoch) - 1]
        later = epoch - ends[-1]
        before = int(later * share)
        return boards[before % len(boards)] if int((later + 1) * share) > before else board


def check_search(search: SearchConfig) -> None:
    """Raise `UsageError` for a search that self-play cannot run."""
    if search.leaves > 1:
        raise UsageError(
            f"search.leaves={search.leaves}: self-play searches its games leaf by leaf; leave it out"
        )


def boards_in_turn(argv: list[str]) -> list[str]:
    """`argv` with `board=[5,6,7]` written out: the last board, after smaller ones."""
    found = [(one, re.fullmatch(r"board=\[([\d, ]+),\s*(\d+)\]", one)) for one in argv]
    twice = [one for one in argv if one.startswith("selfplay.smaller_boards=")]
    if twice and (lists := [one for one, match in found if match]):
        raise UsageError(
            f"{lists[0]} {twice[0]}: both name the smaller boards; leave one of them out"
        )
    written = [
        (f"board={match[2]}", f"selfplay.smaller_boards=[{match[1]}]") if match else (one,)
        for one, match in found
    ]
    return [word for words in written for word in words]
