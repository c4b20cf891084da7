"""Networks for the players and judges of commands. torch is imported only when one is loaded."""

import logging
import secrets
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.arena.first_stones import FirstStones, MakeEvaluator
from hexlit.arena.player_spec import PlayerSpec
from hexlit.arena.players import PLAYOUTS, Contestant, Network, Player, RandomPlayer
from hexlit.errors import UsageError
from hexlit.hex.jit import use_threads
from hexlit.search.evaluator import RolloutEvaluator
from hexlit.settings import check_numbers
from hexlit.tasks.hex.packaged import fitting_network, known_first_stones, largest_board

if TYPE_CHECKING:
    from hexlit.accelerate.profile import DeviceProfile
    from hexlit.nets.evaluator import NetworkEvaluator
    from hexlit.tasks.hex.checkpoint import LoadedNetwork

log = logging.getLogger(__name__)


def applied_profile(accelerator: AcceleratorConfig) -> "DeviceProfile":
    """The profile of this machine's device, in force from now on."""
    from hexlit.accelerate.profile import build_profile

    profile = build_profile(accelerator)
    use_threads(profile.threads)
    profile.apply()
    return profile


class Evaluators:
    """A network's evaluators on one board, by number of positions a call; each is built once.

    Attributes:
        network: makes its players.
    """

    def __init__(
        self, loaded: "LoadedNetwork", size: int, profile: "DeviceProfile", name: str = ""
    ) -> None:
        """`name` is that of a packaged network."""
        self.loaded = loaded
        self.size = size
        self.profile = profile
        stones = FirstStones(
            lambda rows, swap, batch: self(batch),
            knows_swap=lambda rows: loaded.swap,
            shipped=known_first_stones(name).get,
        )
        self.network = Network(self, size, loaded.swap, stones)
        self._built: dict[int, NetworkEvaluator] = {}

    def __call__(self, batch: int) -> "NetworkEvaluator":
        """The evaluator of `batch` positions a call."""
        from hexlit.nets.evaluator import NetworkEvaluator

        if batch not in self._built:
            net = self.loaded.net
            swap = self.loaded.swap
            self._built[batch] = NetworkEvaluator(
                net, size=self.size, swap=swap, batch=batch, profile=self.profile
            )
        return self._built[batch]


class NetworksByBoard(NamedTuple):
    """The networks that one setting `checkpoint` stands for, one for each board."""

    make_evaluator: MakeEvaluator
    board: int
    """Rows of the board that suits them best."""
    knows_swap: Callable[[int], bool]
    """Rows of a board -> whether the network for it was trained with the swap rule."""
    first_stones: FirstStones


def networks_by_board(
    checkpoint: str | None, board: int, accelerator: AcceleratorConfig, *, warns: bool = True
) -> NetworksByBoard:
    """The network of `checkpoint` for every board; None is the packaged network that fits each,
    `board` rows first.

    Raises:
        UsageError: the checkpoint cannot be read.
    """
    from hexlit.nets.evaluator import NetworkEvaluator
    from hexlit.tasks.hex.checkpoint import load_network

    profile = applied_profile(accelerator)
    loaded = cache(load_network)

    @cache  # so that the warning comes once for a board
    def network_for(rows: int) -> "LoadedNetwork":
        name = checkpoint or fitting_network(rows)
        assert name is not None, "the caller has looked"
        if warns and checkpoint is None and rows > largest_board(name):
            log.warning(
                "%s plays on %d rows; it is meant for boards of up to %d",
                name,
                rows,
                largest_board(name),
            )
        return loaded(name)

    def make(size: int, swap: bool, batch: int) -> NetworkEvaluator:
        return NetworkEvaluator(
            network_for(size).net, size=size, swap=swap, batch=batch, profile=profile
        )

    size = board if checkpoint is None else network_for(board).size
    stones = FirstStones(
        make,
        knows_swap=lambda rows: network_for(rows).swap,
        shipped=lambda rows: known_first_stones(checkpoint or fitting_network(rows) or "").get(
            rows
        ),
    )
    return NetworksByBoard(make, size, lambda rows: network_for(rows).swap, stones)


TIMEOUTS = {"start_timeout": 30.0, "move_timeout": 60.0}
"""Default time limits of a foreign program, in seconds: to start, and for a move."""


class PlayerFactory:
    """Makes players; networks and solvers exist once and are shared.

    Attributes:
        networks: the networks that play, by source.
        size: rows of the board.
    """

    def __init__(
        self,
        specs: Sequence[PlayerSpec],
        settings: Any,
        board: int | None,
    ) -> None:
        """Networks are searched with `settings.search`, unless a player has settings itself.

        They are loaded from the players' sources. `board` None: that of the first one.

        Args:
            specs: the players.
            settings: of the command: `search`, `accelerator` and `seed`; without a seed, players draw
                others each time.
            board: rows of the board.

        Raises:
            UsageError: a checkpoint cannot be read, or the size of the board is not known.
        """
        self._search = settings.search
        self._seed = settings.seed
        self.networks: dict[str, Evaluators] = {}
        sources = dict.fromkeys(spec.source for spec in specs if spec.of_network)
        if board is None and not sources:
            raise UsageError("board has no value: none of the players is a network, so add board=N")
        if sources:
            from hexlit.tasks.hex.checkpoint import load_network

            profile = applied_profile(settings.accelerator)
            loaded = {source: load_network(source) for source in sources}
            board = board or next(iter(loaded.values())).size
            for source, network in loaded.items():
                self.networks[source] = Evaluators(network, board, profile, source)
        assert board is not None
        self.size = board

    def contestant(self, spec: PlayerSpec) -> Contestant:
        """The player that `spec` describes; settings out of range are refused here."""
        # Derived from the name: two players of a kind draw differently, and their order does not
        # matter.
        seed = None if self._seed is None else zlib.crc32(f"{self._seed} {spec.label}".encode())
        if spec.kind == "htp":
            return _engine(spec)
        try:
            return self._built_in(spec, dict(spec.settings), seed)
        except UsageError as error:
            raise UsageError(f"players: {spec.label}: {error}") from None

    def _built_in(self, spec: PlayerSpec, settings: dict[str, Any], seed: int | None) -> Contestant:
        from hexlit.arena.baselines import SolverPlayer, TwoDistancePlayer

        if spec.kind == "checkpoint":
            search = replace(self._search, **settings)
            make = partial(self.networks[spec.source].network.player, search)
            return Contestant(spec.label, cache(make))
        if spec.kind == "policy":
            network = self.networks[spec.source].network
            return Contestant(
                spec.label, cache(partial(network.player, None, **settings, seed=seed))
            )
        if spec.kind == "random":
            player: Player = RandomPlayer(seed)
            return Contestant(spec.label, lambda games: player)
        number = secrets.randbits(31) if seed is None else seed
        if spec.kind == "rollouts":
            playouts = settings.pop("playouts", PLAYOUTS)
            check_numbers("[1, inf)", playouts=playouts)
            evaluator = RolloutEvaluator(playouts, number)
            stones = FirstStones(lambda size, swap, batch: evaluator)
            rollouts = Network(lambda rows: evaluator, self.size, False, stones)
            search = replace(self._search, **settings)
            return Contestant(spec.label, cache(partial(rollouts.player, search)))
        if spec.kind == "solver":
            player = SolverPlayer(self.size, **settings, seed=number)
        else:
            player = TwoDistancePlayer(**settings, seed=number)
        return Contestant(spec.label, lambda games: player)


def _engine(spec: PlayerSpec) -> Contestant:
    """A foreign program."""
    from hexlit.arena.engine import HtpEngine

    limits = {name: float(value) for name, value in (TIMEOUTS | spec.settings).items()}
    engine = HtpEngine(spec.source, name=spec.label, **limits)
    return Contestant(spec.label, lambda games: engine, one_game=True)
