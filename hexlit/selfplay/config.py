"""Settings of self-play."""

import re
from dataclasses import dataclass

from hexlit.errors import UsageError
from hexlit.search.config import BOARDS, SearchConfig
from hexlit.settings import Settings, number, one_of


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
    """Share of moves that are searched in full and become targets (playout cap randomisation, Wu
    2019).
    """
    fast_simulations: int = number(8, "[1, inf)")
    """Simulations for the other moves, which only continue the game."""
    temperature: float = number(1.0, "[0, 1]")
    """Temperature of a first move searched in full: 1 plays in proportion to the searched policy, 0
    the best move.
    """
    temperature_halflife: float = number(6.0, "(0, inf)", unit="plies")
    """Half-life in plies of the difference to 0.1, the final temperature, which also holds for
    moves not searched in full.
    """
    opening_share: float = number(0.5, "[0, 1]")
    """Share of games that start with uniformly random moves, so that unusual positions are learned
    too.
    """
    opening_plies: int = number(8, "[0, inf)")
    """Such a game starts with 1 to this many random moves."""
    opening_skew: float = number(1.0, "(0, 10]")
    """Preference for short openings: a share x of them has up to x^skew of `opening_plies` moves.
    With 1 all lengths are equally frequent; with 2 a third of the openings up to 8 plies has a
    single move.
    """
    opening_skew_after: int = number(0, "[0, inf)", unit="epochs")
    """Games begun before this many epochs have openings of all lengths equally often, as with a
    skew of 1.
    """
    resign_threshold: float = number(1.0, "(0, 1]")
    """A player resigns when the searched value falls below minus this for two of its moves in a
    row; 1 = never. A tenth of the games is always played to the end: they measure how often a
    resignation would have been wrong.
    """
    workers: int | None = number(None, "[0, inf)")
    """Processes that play, each with its share of the games and of the threads; 0 plays in the main
    process, null chooses by the device. On Ray, the shares at a time.
    """
    where: str = one_of(("here", "ray"), "here")
    """`here` (on this machine) or `ray` (on the machines of a Ray cluster, see the section
    `ray`).
    """
    smaller_boards: list[int] = number([], BOARDS)
    """Smaller boards to play and learn on first, in this order. The run is measured on `board`
    alone.
    """
    smaller_epochs: int = number(16, "[1, inf)")
    """Most epochs on each of them at the beginning."""
    smaller_share: float = number(0.0, "[0, 1)")
    """Share of the later epochs that belong to them in turn, so that the network keeps playing on
    all.
    """
    ahead: bool | None = None
    """Whether the games of the next epoch are played while the network trains on this one's, with
    weights one epoch older. Null means yes if other processes play, as they do by default on every
    device.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.workers == 0 and self.where == "ray":
            raise UsageError(
                "selfplay.workers=0: Ray plays in shares; set 1 or more, or selfplay.where=here"
            )
        if self.workers == 0 and self.ahead:
            raise UsageError(
                "selfplay.ahead=true: needs processes that play; set selfplay.workers to 1 or more"
            )

    def board_of(self, epoch: int, board: int) -> int:
        """Rows of the board of `epoch` in a run on `board`: the smaller ones first, then their
        share, evenly spread.
        """
        boards = self.smaller_boards
        if not boards:
            return board
        first_epochs = len(boards) * self.smaller_epochs
        if epoch < first_epochs:
            return boards[epoch // self.smaller_epochs]
        later = epoch - first_epochs
        smaller_before = int(later * self.smaller_share)
        is_smaller = int((later + 1) * self.smaller_share) > smaller_before
        return boards[smaller_before % len(boards)] if is_smaller else board


def check_search(search: SearchConfig) -> None:
    """Raise `UsageError` for a search that self-play cannot run."""
    if search.leaves > 1:
        raise UsageError(
            f"search.leaves={search.leaves}: self-play searches its games leaf by leaf; leave it out"
        )


def boards_in_turn(argv: list[str]) -> list[str]:
    """`argv` with `board=[5,6,7]` written out: the last board, after smaller ones."""
    twice = [word for word in argv if word.startswith("selfplay.smaller_boards=")]
    written = []
    for word in argv:
        match = re.fullmatch(r"board=\[([\d, ]+),\s*(\d+)\]", word)
        if match is None:
            written.append(word)
            continue
        if twice:
            rule = "both name the smaller boards; leave one of them out"
            raise UsageError(f"{word} {twice[0]}: {rule}")
        written += [f"board={match[2]}", f"selfplay.smaller_boards=[{match[1]}]"]
    return written
