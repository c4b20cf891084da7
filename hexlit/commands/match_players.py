"""The players of a match, made from their configuration."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.arena.player_spec import PlayerSpec
from hexlit.arena.players import Contestant, Player, PolicyPlayer, RandomPlayer, SearchPlayer
from hexlit.commands.networks import Evaluators, load_evaluators
from hexlit.errors import UsageError
from hexlit.search.config import SearchConfig

START_TIMEOUT = 30.0
MOVE_TIMEOUT = 60.0
"""Default time limit of a foreign program, in seconds: to start, and for a move."""


class PlayerFactory:
    """Makes players; networks and solvers exist once and are shared.

    Attributes:
        networks: the networks that play, by source.
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
        networks: Mapping[str, Evaluators] | None = None,
    ) -> None:
        """Networks are searched with `search`, unless a player has its own settings.

        They are loaded from the players' sources, or given as `networks`. `board` None: that of the first one.

        Raises:
            UsageError: a checkpoint cannot be read, or the size of the board is not known.
        """
        self._search, self._seed = search, seed
        sources = [spec.source for spec in specs if spec.of_network]
        if networks is None:
            networks = load_evaluators(sources, accelerator, board=board) if sources else {}
        self.networks = networks
        if board is None and not networks:
            raise UsageError("board has no value: none of the players is a network, so add board=N")
        self.size = board or next(iter(networks.values())).size

    def contestant(self, spec: PlayerSpec) -> Contestant:
        """The player that `spec` describes; settings out of range are refused here."""
        if spec.kind == "htp":
            engine = self._foreign(spec)
            return Contestant(spec.label, lambda games: engine, one_game=True)
        try:
            if spec.of_network:
                return Contestant(spec.label, cache(self._of_network(spec)))
            player = self._fixed(spec)
        except UsageError as error:
            raise UsageError(f"players: {spec.label}: {error}") from None
        return Contestant(spec.label, lambda games: player)

    def _of_network(self, spec: PlayerSpec) -> Callable[[int], Player]:
        """A maker, by number of games at once, of the player that searches, or takes the network's best move."""
        evaluators = self.networks[spec.source]
        swap = evaluators.loaded.swap
        search = replace(self._search, **spec.settings)  # type: ignore[arg-type]

        def make(games: int) -> Player:
            if spec.kind == "policy":
                return PolicyPlayer(evaluators(games), size=self.size, batch=games, swap=swap)
            batch = max(games, search.leaves)
            return SearchPlayer(search, evaluators(batch), size=self.size, batch=batch, swap=swap)

        return make

    def _fixed(self, spec: PlayerSpec) -> Player:
        settings: dict[str, Any] = dict(spec.settings)
        # Derived from the name: two players of a kind draw differently, and their order does not matter.
        seed = zlib.crc32(f"{self._seed} {spec.label}".encode())
        if spec.kind == "random":
            return RandomPlayer(seed)
        from hexlit.arena.baselines import RolloutPlayer, SolverPlayer, TwoDistancePlayer

        if spec.kind == "rollouts":
            return RolloutPlayer(rollouts=settings.pop("playouts", 1), **settings, seed=seed)
        if spec.kind == "solver":
            return SolverPlayer(self.size, **settings, seed=seed)
        return TwoDistancePlayer(**settings, seed=seed)

    def _foreign(self, spec: PlayerSpec) -> Player:
        from hexlit.arena.engine import HtpEngine

        limits = {"start_timeout": START_TIMEOUT, "move_timeout": MOVE_TIMEOUT, **spec.settings}
        return HtpEngine(spec.source, name=spec.label, **{name: float(value) for name, value in limits.items()})
