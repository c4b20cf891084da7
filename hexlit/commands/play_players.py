"""The players that `hexlit play` offers, and what all browsers share."""

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from hexlit.arena.player_spec import PlayerSpec, parse_player
from hexlit.arena.players import Player
from hexlit.commands.players import PlayerFactory, network_judge
from hexlit.errors import UsageError
from hexlit.search.evaluator import Evaluator, RolloutEvaluator
from hexlit.tasks.hex.packaged import is_packaged, largest_board, packaged_by_board
from hexlit.web.config import NETWORK, WITHOUT_NETWORK
from hexlit.web.players import BrowserPlayers, FairLock, Judge, Offer, Roster
from hexlit.web.session import Shared
from hexlit.web.thinking import Verdicts

if TYPE_CHECKING:
    from hexlit.commands.play import PlayConfig

TITLES = {"two_distance": "alpha-beta over the two-distance", "random": "any legal move"}
"""Classic players without networks that are always on offer -> their descriptions."""


def shared_by_all(settings: "PlayConfig") -> Shared:
    """The things that all browsers share: the players, and the locks."""
    board, offers = settings.board or WITHOUT_NETWORK, []
    if settings.checkpoint is not None or packaged_by_board():
        offer, trained_for = network_offer(settings, NETWORK, settings.checkpoint, board)
        board = board if settings.board or settings.checkpoint is None else trained_for
        offers.append(offer)

    def rollouts(size: int, swap: bool, batch: int) -> Evaluator:
        return RolloutEvaluator(settings.rollouts, settings.seed)

    title = f"search with {settings.rollouts} random playouts a leaf"
    offers.append(Offer("rollouts", title, lambda rows: Judge(rollouts, False)))
    offers += [one_game_offer(settings, PlayerSpec(kind), title) for kind, title in TITLES.items()]
    offers += [offer_of(settings, parse_player(given)) for given in settings.players]
    names = [offer.name for offer in offers]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"players: two are named {name}; add name=NAME to one of them")
    return Shared(settings, Roster(offers, settings.search), board, FairLock(), Verdicts(settings.solver_seconds))


def get_ready(shared: Shared) -> None:
    """Load the first player and compile its kernels before the first request."""
    first = next(iter(shared.roster.offers))
    try:
        with shared.lock.held():
            BrowserPlayers(shared.roster, 1 << 20).thinker(first, shared.board, swap=False)
    except Exception:  # the first request reports the error
        logging.getLogger(__name__).debug("not ready", exc_info=True)


def network_offer(settings: "PlayConfig", name: str, checkpoint: str | None, board: int) -> tuple[Offer, int]:
    """A searching player with the network of `checkpoint`, and the rows of the board that suit it best.

    None stands for the packaged networks: on each board the one that fits it.
    """
    make_evaluator, size, knows_swap = network_judge(checkpoint, board, settings.accelerator)
    if checkpoint is None:
        networks = [f"{one} to {largest_board(one)} rows" for one in packaged_by_board()]
        title = f"network {', '.join(networks)} and above"
    else:
        title = checkpoint if is_packaged(checkpoint) else f"network of {checkpoint}"
    return Offer(name, title, lambda rows: Judge(make_evaluator, knows_swap(rows))), size


def offer_of(settings: "PlayConfig", spec: PlayerSpec) -> Offer:
    """A player of the setting `players`; a checkpoint searches, all others only play."""
    if spec.kind != "checkpoint":
        return one_game_offer(settings, spec, spec.kind)
    if "simulations" in spec.settings:
        raise UsageError(f"players: {spec.label}: the page says how many simulations; leave out simulations=")
    offer, _ = network_offer(settings, spec.label, spec.source, WITHOUT_NETWORK)
    return replace(offer, search=replace(settings.search, **spec.settings))  # type: ignore[arg-type]


def one_game_offer(settings: "PlayConfig", spec: PlayerSpec, title: str) -> Offer:
    """A player of `hexlit match`, for one game."""

    def one_game(size: int) -> Player:
        factory = PlayerFactory([spec], settings.search, settings.accelerator, board=size, seed=settings.seed)
        return factory.contestant(spec).make(1)

    return Offer(spec.label, title, one_game=one_game, foreign=spec.kind == "htp", beside=not spec.of_network)
