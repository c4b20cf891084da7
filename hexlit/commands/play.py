"""`hexlit play`: a board to play and study on, in the browser; or a game on the terminal."""

import importlib.util
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.commands.application import register_schema, run, typed
from hexlit.errors import UsageError
from hexlit.extras import install
from hexlit.search.config import BOARDS
from hexlit.settings import number, one_of
from hexlit.tasks.hex.packaged import fitting_network, is_packaged, largest_board, packaged_by_board
from hexlit.web.config import WebSettings

if TYPE_CHECKING:  # loaded only for a real game
    from hexlit.web.roster import Offer
    from hexlit.web.session import Shared

NEEDED = ("fastapi", "pydantic", "uvicorn", "websockets")
"""Packages of the extra `web`."""
WITHOUT_NETWORK = 11
"""Rows of the first board."""
YOU = ("black", "white", "both", "none")
NETWORK = "network"
"""Name of the player of `checkpoint`."""

_YOU = {
    "black": "You play Black (X) against {other}, who plays White (O).",
    "white": "You play White (O) against {other}, who plays Black (X).",
    "both": "You play both sides; hints come from {other}.",
    "none": "{other} plays both sides.",
}


@dataclass
class PlayConfig(WebSettings):
    """Settings of `hexlit play`."""

    checkpoint: str | None = None
    """First player on offer: a checkpoint, the folder of its run, or a packaged network such as `hexlit:small`. Null:
    the packaged network that fits the board.
    """
    players: list[Any] = field(default_factory=list)
    """Further players, in the notation of `hexlit match`."""
    board: int | None = number(None, BOARDS)
    """Rows of the first board. Null: the board of `checkpoint`, or 11."""
    terminal: bool = False
    """Whether to play on the terminal instead of the page; swap, you and against belong to it."""
    swap: bool = False
    """Whether White may swap."""
    you: str = one_of(YOU, "black")
    """Your colour."""
    against: str | None = None
    """Name of the other player. Null: the first on offer."""
    rollouts: int = number(32, "[1, inf)")
    """Random playouts per leaf of the player `rollouts`."""
    seed: int = number(0, "[0, inf)")
    """Seed of the players with random draws."""
    accelerator: AcceleratorConfig = field(default_factory=AcceleratorConfig)


register_schema("play", PlayConfig)


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides; returns the exit code."""
    return run(play, "play", argv)


def play(config: DictConfig) -> None:
    """Serve the page until Ctrl-C, or play on the terminal."""
    settings = typed(config, PlayConfig)
    if settings.terminal:
        check_installed("pydantic")
        greet(settings)
        from hexlit.commands.play_terminal import play_on_terminal

        play_on_terminal(shared_by_all(settings), swap=settings.swap, you=settings.you, against=settings.against)
        return
    check_installed(*NEEDED)
    from hexlit.web.serving import address, listen, serve

    listening = listen(settings)
    shared = shared_by_all(settings)

    def begun() -> None:
        print(f"hexlit play: {address(listening)}  (Ctrl-C ends it)", flush=True)
        get_ready(shared)

    serve(shared, listening, begun)


def greeting(you: str, against: str, network: str | None) -> str:
    """The lines for a game of a person with the colours `you` (see `PlayConfig`).

    Args:
        you: black, white, both or none.
        against: name of the other player.
        network: the checkpoint behind it; None if it is no network, or one from the setting `players`.
    """
    from hexlit.reporting.board import LAST, SIDES

    other = f"{against} ({network})" if network is not None else against
    loading = f"Loading {other} ..."
    return "\n".join([_YOU[you].format(other=other), f"{SIDES}; {LAST}.", loading])


def greet(settings: PlayConfig) -> None:
    """Print who plays and how to read the board, before the players are loaded, which takes seconds."""
    first = NETWORK if settings.checkpoint is not None or packaged_by_board() else "rollouts"
    against = settings.against or first
    network = settings.checkpoint or fitting_network(settings.board or WITHOUT_NETWORK)
    print(greeting(settings.you, against, network if against == NETWORK else None), flush=True)


def check_installed(*packages: str) -> None:
    """Raise `UsageError` if one of the packages is not installed."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(f"play needs {', '.join(missing)}: {install('web')}")


def shared_by_all(settings: PlayConfig) -> "Shared":
    """The things that all browsers share: the players, and the locks."""
    from hexlit.web.roster import Roster
    from hexlit.web.scheduling import FairLock
    from hexlit.web.session import Shared
    from hexlit.web.verdict import Verdicts

    board = settings.board or WITHOUT_NETWORK
    result: list[Offer] = []
    if settings.checkpoint is not None:
        offer, trained_for = network_offer(settings, NETWORK, settings.checkpoint)
        board = settings.board or trained_for
        result.append(offer)
    elif packaged_by_board():
        result.append(packaged_offer(settings, board))
    result += [rollouts_offer(settings), *classic_offers(settings), *further_offers(settings)]
    names = [offer.name for offer in result]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"players: two are named {name}; add name=NAME to one of them")
    return Shared(settings, Roster(result, settings.search), board, FairLock(), Verdicts(settings.solver_seconds))


def get_ready(shared: "Shared") -> None:
    """Load the first player and compile its kernels before the first request."""
    import logging

    from hexlit.web.roster import BrowserPlayers

    first = next(iter(shared.roster.offers))
    try:
        with shared.lock.held():
            BrowserPlayers(shared.roster, 1 << 20).thinker(first, shared.board, swap=False)
    except Exception:  # the first request reports the error
        logging.getLogger(__name__).debug("not ready", exc_info=True)


def network_offer(settings: PlayConfig, name: str, checkpoint: str) -> "tuple[Offer, int]":
    """The network of a checkpoint as a searching player, and the rows of the board that suit it best."""
    from hexlit.commands.networks import network_judge
    from hexlit.web.roster import Judge, Offer

    make_evaluator, size, knows_swap = network_judge(checkpoint, WITHOUT_NETWORK, settings.accelerator)
    title = checkpoint if is_packaged(checkpoint) else f"network of {checkpoint}"
    return Offer(name, title, lambda rows: Judge(make_evaluator, knows_swap(rows))), size


def packaged_offer(settings: PlayConfig, board: int) -> "Offer":
    """The packaged networks as one player who searches: on each board the network that fits it."""
    from hexlit.commands.networks import network_judge
    from hexlit.web.roster import Judge, Offer

    make_evaluator, _, knows_swap = network_judge(None, board, settings.accelerator)
    networks = [f"{name} to {largest_board(name)} rows" for name in packaged_by_board()]
    title = f"network {', '.join(networks)} and above"
    return Offer(NETWORK, title, lambda rows: Judge(make_evaluator, knows_swap(rows)))


def rollouts_offer(settings: PlayConfig) -> "Offer":
    """A search with random playouts as judge."""
    from hexlit.search.evaluator import Evaluator, RolloutEvaluator
    from hexlit.web.roster import Judge, Offer

    def make(size: int, swap: bool, batch: int) -> Evaluator:
        del size, swap, batch
        return RolloutEvaluator(settings.rollouts, settings.seed)

    return Offer("rollouts", f"search with {settings.rollouts} random playouts a leaf", lambda rows: Judge(make, False))


def classic_offers(settings: PlayConfig) -> "list[Offer]":
    """Classic players without networks, and one with random moves."""
    titles = {
        "two_distance": "alpha-beta over the two-distance",
        "random": "any legal move",
    }
    from hexlit.arena.player_spec import PlayerSpec

    return [spec_offer(settings, PlayerSpec(kind), title) for kind, title in titles.items()]


def further_offers(settings: PlayConfig) -> "list[Offer]":
    """The players of the setting `players`; a checkpoint searches, all others only play."""
    from hexlit.arena.player_spec import parse_player

    result = []
    for given in settings.players:
        spec = parse_player(given)
        if spec.kind == "checkpoint":
            if "simulations" in spec.settings:
                raise UsageError(f"players: {spec.label}: the page says how many simulations; leave out simulations=")
            offer, _ = network_offer(settings, spec.label, spec.source)
            result.append(replace(offer, search=replace(settings.search, **spec.settings)))  # type: ignore[arg-type]
        else:
            result.append(spec_offer(settings, spec, spec.kind))
    return result


def spec_offer(settings: PlayConfig, spec: Any, title: str) -> "Offer":
    """A player of `hexlit match`, for one game."""
    from hexlit.arena.players import Player
    from hexlit.web.roster import Offer

    def one_game(size: int) -> Player:
        from hexlit.commands.match_players import PlayerFactory

        factory = PlayerFactory([spec], settings.search, settings.accelerator, board=size, seed=settings.seed)
        return factory.contestant(spec).make(1)

    return Offer(spec.label, title, one_game=one_game, foreign=spec.kind == "htp", beside=not spec.of_network)
