"""The players of a match, made from their configuration."""

import zlib
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.arena.player_spec import PlayerSpec
from hexlit.arena.players import Contestant, Player, RandomPlayer
from hexlit.errors import UsageError
from hexlit.search.config import SearchConfig

if TYPE_CHECKING:
    from hexlit.commands.match_networks import Networks

START_TIMEOUT = 30.0
MOVE_TIMEOUT = 60.0
"""Default time limit of a foreign program, in seconds: to start, and for a move."""


class PlayerFactory:
    """Makes players; networks and solvers exist once and are shared.

    Attributes:
        networks: the networks that play; None without any.
        size: rows of the board.
    """

    def __init__(
        self,
        specs: Sequence[PlayerSpec],
        search: SearchConfig,
        accelerator: AcceleratorConfig,
        *,
        board: int | None,
        seed: int,
        networks: "Networks | None" = None,
    ) -> None:
        """Networks are searched with `search`, unless a player has its own settings. `board` None: that of the first
        one.

        They are loaded from the players' sources, or given as `networks`.

        Raises:
            UsageError: a checkpoint cannot be read, or the size of the board is not known.
        """
        self._seed = seed
        if networks is None and any(spec.of_network for spec in specs):
            from hexlit.commands.match_networks import load_networks  # imports torch, which no other player needs

            sources = [spec.source for spec in specs if spec.of_network]
            networks = load_networks(sources, search, accelerator, board=board)
        self.networks = networks
        if board is None:
            if networks is None:
                raise UsageError("board has no value: none of the players is a network, so add board=N")
            board = networks.board
        self.size = board

    def compile_ahead(self, games: int) -> None:
        """Compile the networks' own kernels for moves in `games` games at once, while others are compiled elsewhere."""
        if self.networks is not None:
            self.networks.compile_ahead(games)

    def contestant(self, spec: PlayerSpec) -> Contestant:
        """The player that `spec` describes; settings out of range are refused here."""
        if spec.kind == "htp":
            engine = self._foreign(spec)
            return Contestant(spec.label, lambda games: engine, one_game=True)
        if self.networks is not None and spec.of_network:
            make = cache(self.networks.searching(spec) if spec.kind == "checkpoint" else self.networks.judging(spec))
            return Contestant(spec.label, make)
        player = self._fixed(spec)
        return Contestant(spec.label, lambda games: player)

    def _fixed(self, spec: PlayerSpec) -> Player:
        settings: dict[str, Any] = dict(spec.settings)
        # Derived from the name: two players of a kind draw differently, and their order does not matter.
        seed = zlib.crc32(f"{self._seed} {spec.label}".encode())
        try:
            if spec.kind == "random":
                return RandomPlayer(seed)
            from hexlit.arena.baselines import RolloutPlayer, SolverPlayer, TwoDistancePlayer

            if spec.kind == "rollouts":
                playouts = settings.pop("playouts", 1)
                return RolloutPlayer(**settings, rollouts=playouts, seed=seed)
            if spec.kind == "solver":
                return SolverPlayer(self.size, **settings, seed=seed)
            return TwoDistancePlayer(**settings, seed=seed)
        except UsageError as error:
            raise UsageError(f"players: {spec.label}: {error}") from None

    def _foreign(self, spec: PlayerSpec) -> Player:
        from hexlit.arena.engine import HtpEngine

        start_timeout = float(spec.settings.get("start_timeout", START_TIMEOUT))
        move_timeout = float(spec.settings.get("move_timeout", MOVE_TIMEOUT))
        return HtpEngine(spec.source, name=spec.label, start_timeout=start_timeout, move_timeout=move_timeout)
