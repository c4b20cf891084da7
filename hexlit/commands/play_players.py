"""The players that `hexlit play` offers, what all browsers share, and a game on the terminal."""

import io
import logging
import secrets
import sys
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.text import Text

from hexlit.arena.first_stones import FirstStones
from hexlit.arena.player_spec import PlayerSpec, level_specs, parse_player
from hexlit.arena.players import Player
from hexlit.commands.player_factory import PlayerFactory, networks_by_board
from hexlit.errors import UsageError
from hexlit.hex.board import GameBoard
from hexlit.hex.geometry import BLACK, WHITE
from hexlit.hex.notation import format_cell, parse_cell
from hexlit.hex.symmetry import stone_cells
from hexlit.reporting.board import BLACK_STYLE, WHITE_STYLE, draw_board
from hexlit.search.evaluator import RolloutEvaluator
from hexlit.tasks.hex.packaged import (
    largest_board,
    packaged_by_board,
    packaged_networks,
)
from hexlit.web.config import MY_LEVEL, NETWORK, WITHOUT_NETWORK, PlayConfig
from hexlit.web.messages import Move, PositionText
from hexlit.web.players import BrowserPlayers, FairLock, Judge, Offer, Roster
from hexlit.web.session import Shared
from hexlit.web.thinking import Thinking, Verdicts

CLASSIC = {
    "two_distance": ("Two-distance", "alpha-beta over the two-distance"),
    "random": ("Random", "any legal move"),
}
"""Players without networks that are always on offer -> their titles and what they are."""


def shared_by_all(settings: PlayConfig) -> Shared:
    """The things that all browsers share: the players, and the locks."""
    board = settings.board or WITHOUT_NETWORK
    offers = []
    if settings.checkpoint is not None or packaged_by_board():
        offer, trained_for = network_offer(settings, NETWORK, settings.checkpoint, board)
        board = board if settings.board or settings.checkpoint is None else trained_for
        offers.append(offer)

    seed = secrets.randbits(31) if settings.seed is None else settings.seed

    def playouts(size: int, swap: bool, batch: int) -> RolloutEvaluator:
        return RolloutEvaluator(settings.rollouts, seed)

    rollouts = Judge(playouts, False, FirstStones(playouts))
    offers.append(
        Offer(
            "rollouts",
            "Playouts",
            f"a search with {settings.rollouts} random playouts for a position",
            lambda rows: rollouts,
        )
    )
    for kind, (title, about) in CLASSIC.items():
        offers.append(one_game_offer(settings, PlayerSpec(kind), title, about))
    for number, spec in enumerate(level_specs(), 1):
        if spec.source in packaged_networks():
            offers.append(one_game_offer(settings, spec, f"Level {number}", about_level(spec)))
    offers += [offer_of(settings, parse_player(given)) for given in settings.players]
    # The chosen level comes first.
    offers.sort(key=lambda offer: offer.name != f"level-{settings.level}")
    names = [offer.name for offer in offers]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"players: two are named {twice[0]}; add name=NAME to one of them")
    unasked = settings.checkpoint is None and settings.level is None
    return Shared(
        settings,
        Roster(offers, settings.search),
        board,
        FairLock(),
        Verdicts(settings.solver_seconds),
        MY_LEVEL if unasked and "level-1" in names else names[0],
    )


def get_ready(shared: Shared) -> None:
    """Load the first player and compile its kernels before the first request."""
    first = next(iter(shared.roster.offers))
    try:
        with shared.lock.held():
            BrowserPlayers(shared.roster, 1 << 20).thinker(first, shared.board, swap=False)
    except Exception:  # the first request reports the error
        logging.getLogger(__name__).debug("not ready", exc_info=True)


def network_offer(
    settings: PlayConfig, name: str, checkpoint: str | None, board: int
) -> tuple[Offer, int]:
    """A searching player with the network of `checkpoint`, and the rows of the board that suit it
    best.

    None stands for the packaged networks: on each board the one that fits it.
    """
    networks = networks_by_board(checkpoint, board, settings.accelerator, warns=False)
    about = checkpoint or ", ".join(
        f"{one} up to {largest_board(one)} rows" for one in packaged_by_board()
    )

    def judge(rows: int) -> Judge:
        return Judge(networks.make_evaluator, networks.knows_swap(rows), networks.first_stones)

    title = "Network" if name == NETWORK else name
    known = [checkpoint] if checkpoint is not None else packaged_by_board()
    largest = max((largest_board(one) for one in known if one in packaged_networks()), default=0)
    offer = Offer(name, title, f"a search with {about}", judge, largest_board=largest)
    return offer, networks.board


def offer_of(settings: PlayConfig, spec: PlayerSpec) -> Offer:
    """A player of the setting `players`; a checkpoint searches, all others only play."""
    if spec.kind != "checkpoint":
        return one_game_offer(settings, spec, spec.label, spec.kind)
    if "simulations" in spec.settings:
        raise UsageError(
            f"players: {spec.label}: the page says how many simulations; leave out simulations="
        )
    offer, _ = network_offer(settings, spec.label, spec.source, WITHOUT_NETWORK)
    return replace(offer, search=replace(settings.search, **spec.settings))  # type: ignore[arg-type]


def about_level(spec: PlayerSpec) -> str:
    """How a level plays."""
    if "simulations" in spec.settings:
        return f"{spec.settings['simulations']} simulations of {spec.source}"
    chosen = "moves drawn from" if spec.settings["temperature"] else "the likeliest move by"
    return f"{chosen} the policy of {spec.source}"


def one_game_offer(settings: PlayConfig, spec: PlayerSpec, title: str, about: str) -> Offer:
    """A player of `hexlit match`, for one game."""

    def one_game(size: int) -> Player:
        return PlayerFactory([spec], settings, size).contestant(spec).make(1)

    return Offer(
        spec.label,
        title,
        about,
        one_game=one_game,
        foreign=spec.kind == "htp",
        in_parallel=not spec.of_network,
    )


NAMES = {BLACK: ("Black", BLACK_STYLE), WHITE: ("White", WHITE_STYLE)}
COLOURS = {"black": (BLACK,), "white": (WHITE,), "both": (BLACK, WHITE), "none": ()}
"""Setting `you` -> the colours that a person plays."""
HELP = """a3          play a cell: column letter, then row number
swap        swap pieces, as the answer to the first stone, where the swap rule is on
undo        take back moves up to your last one
resign      give up
quit        leave"""


class TerminalGame:
    """One game between a person, on standard input and output, and a player of the roster.

    Args:
        shared: the players.
        settings: the rules, the person's colours, and the other player.
    """

    def __init__(self, shared: Shared, settings: PlayConfig) -> None:
        self._shared = shared
        self._say = Console(highlight=False, soft_wrap=True).print
        self._players = BrowserPlayers(shared.roster, settings.tree_megabytes << 20)
        self._thinking = Thinking(self._players, shared.lock, shared.verdicts, settings)
        self._board = GameBoard(shared.board, swap=settings.swap)
        self._people = COLOURS[settings.you]
        self._against = settings.against or next(iter(shared.roster.offers))
        shared.roster.offer(self._against)
        self._resigned = 0
        self._how = ""

    def play(self) -> None:
        """Play until the end, or until the person leaves."""
        self.show()
        try:
            while not (self._board.winner or self._resigned):
                if self._board.to_move not in self._people:
                    self._answer()
                elif not self._ask():
                    return
        finally:
            self._players.close()
        self._say(Text.assemble(NAMES[self._board.winner or -self._resigned], f" wins{self._how}"))

    def _resign(self, how: str = " by resignation") -> None:
        self._resigned = self._board.to_move
        self._how = how

    def show(self) -> None:
        """Draw the board with the last move in brackets."""
        last = stone_cells(self._board.moves, self._board.size)[-1] if self._board.moves else None
        self._say(
            Text.assemble("\n", draw_board(self._board.cells, self._board.size, last=last), "\n")
        )

    def _answer(self) -> None:
        """Play the other side's move; a player without a move has lost."""
        try:
            result = self._chosen()
        except UsageError as error:
            self._say(Text(str(error)))
            self._resign(" by forfeit")
            return
        value = (
            "" if result["value"] is None else f"  winning chance {(1 + result['value']) / 2:.0%}"
        )
        self._say(
            Text.assemble(
                NAMES[self._board.to_move], f" ({self._against}): {result['move']}{value}"
            )
        )
        self._obey([result["move"]])  # a cell, swap-pieces or resign

    def _chosen(self) -> dict[str, Any]:
        board = self._board
        moves = [format_cell(move, board.size) for move in board.moves]
        position = PositionText(size=board.size, swap=board.swap, moves=moves)
        request = Move(id=0, do="move", position=position, player=self._against)
        with self._shared.lock.held():
            return next(self._thinking.answers(request, lambda: False))

    def _ask(self) -> bool:
        """Take one line of the person; returns whether the game continues."""
        self._say(Text.assemble(NAMES[self._board.to_move], " to move (a cell, or help): "))
        line = sys.stdin.readline()
        words = line.split()
        if not line or words[:1] == ["quit"]:
            return False
        try:
            self._obey(words)
        except UsageError as error:
            self._say(Text(str(error)))
        return True

    def _obey(self, words: list[str]) -> None:
        match words:
            case []:
                pass
            case ["help"]:
                self._say(Text(HELP))
            case ["undo"]:
                moved = (BLACK, WHITE)[: len(self._board.moves)]
                if not set(moved) & set(self._people):
                    raise UsageError("undo: you have not moved yet")
                while self._board.undo() is not None and self._board.to_move not in self._people:
                    pass
                self.show()
            case ["resign"]:
                self._resign()
            case [move]:
                self._board.play(parse_cell(move, self._board.size))
                self.show()
            case _:
                raise UsageError(f"{' '.join(words)[:60]!a}: a move such as a3 is needed, or help")


def play_on_terminal(settings: PlayConfig) -> None:
    """A game on standard input and output; raises `UsageError` if there is no such player."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    TerminalGame(shared_by_all(settings), settings).play()
