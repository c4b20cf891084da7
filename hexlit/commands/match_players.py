"""The players of a match, made from what the configuration says of them."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from hexlit.accelerate.profile import DeviceProfile
from hexlit.arena.game_player import GamePlayer
from hexlit.arena.match import Player
from hexlit.arena.pairing import Contestant, batched
from hexlit.arena.player_spec import PlayerSpec
from hexlit.arena.players import PolicyPlayer, RandomPlayer, SearchPlayer
from hexlit.errors import UsageError
from hexlit.nets.choice import compile_ahead
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.search.config import SearchConfig
from hexlit.tasks.hex.checkpoint import LoadedNetwork, load_network

START_TIMEOUT = 30.0
MOVE_TIMEOUT = 60.0
"""Seconds that a foreign program has unless its player says otherwise: to start, and for a move."""


class Table:
    """Seats players; what several of them need, networks and solvers, is there once.

    Attributes:
        networks: by the sources of the players.
        size: of the board.
    """

    def __init__(
        self,
        specs: Sequence[PlayerSpec],
        search: SearchConfig,
        profile: DeviceProfile,
        *,
        board: int | None,
        seed: int,
        networks: Mapping[str, LoadedNetwork] | None = None,
    ) -> None:
        """Networks are searched as `search` says unless a player says otherwise; `board` None: that of the first one.

        They are read from the players' sources, unless `networks` gives them by source.

        Raises:
            UsageError: a checkpoint cannot be read, or nothing says how large the board is.
        """
        self._search = search
        self._profile = profile
        self._seed = seed
        sources = [spec.source for spec in specs if spec.kind in ("checkpoint", "policy")]
        if networks is None:
            networks = {source: load_network(Path(source)) for source in dict.fromkeys(sources)}
        self.networks = networks
        if board is None and not sources:
            raise UsageError("board has no value: none of the players is a network, so add board=N")
        self.size = self.networks[sources[0]].size if board is None else board
        self._evaluator = cache(self._make_evaluator)

    def compile_ahead(self, games: int) -> None:
        """Compile the networks' own kernels for moves in `games` games at once, while others are compiled elsewhere."""
        for network in self.networks.values():
            compile_ahead(network.net, self.size, max(games, self._search.leaves), self._profile)

    def contestant(self, spec: PlayerSpec) -> Contestant:
        """The player that `spec` describes; settings out of range are refused here."""
        if spec.kind == "htp":
            engine = self._foreign(spec)
            return Contestant(spec.label, lambda: engine)
        if spec.kind in ("checkpoint", "policy"):
            make = cache(self._searching(spec) if spec.kind == "checkpoint" else self._judging(spec))
            return batched(spec.label, make)
        player = self._fixed(spec)
        return batched(spec.label, lambda games: player)

    def _searching(self, spec: PlayerSpec) -> Callable[[int], Player]:
        network = self.networks[spec.source]
        try:
            search = replace(self._search, **spec.settings)  # type: ignore[arg-type]
        except UsageError as error:
            raise UsageError(f"players: {spec.label}: {error}") from None

        def make(games: int) -> Player:
            batch = max(games, search.leaves)
            evaluator = self._evaluator(spec.source, batch)
            return SearchPlayer(search, evaluator, size=self.size, batch=batch, swap=network.swap)

        return make

    def _judging(self, spec: PlayerSpec) -> Callable[[int], Player]:
        network = self.networks[spec.source]

        def make(games: int) -> Player:
            evaluator = self._evaluator(spec.source, games)
            return PolicyPlayer(evaluator, size=self.size, batch=games, swap=network.swap)

        return make

    def _make_evaluator(self, source: str, batch: int) -> NetworkEvaluator:
        network: LoadedNetwork = self.networks[source]
        return NetworkEvaluator(network.net, size=self.size, swap=network.swap, batch=batch, profile=self._profile)

    def _fixed(self, spec: PlayerSpec) -> Player:
        settings: dict[str, Any] = dict(spec.settings)
        # Of the name, so that two players of a kind do not draw alike, and their order does not matter.
        seed = zlib.crc32(f"{self._seed} {spec.label}".encode())
        try:
            if spec.kind == "random":
                return RandomPlayer(seed)
            if spec.kind == "rollouts":
                from hexlit.arena.baselines.rollout import RolloutPlayer

                playouts = settings.pop("playouts", 1)
                return RolloutPlayer(**settings, rollouts=playouts, seed=seed)
            if spec.kind == "solver":
                from hexlit.arena.baselines.solver import SolverPlayer

                return SolverPlayer(self.size, **settings, seed=seed)
            from hexlit.arena.baselines.alpha_beta import ResistancePlayer, TwoDistancePlayer

            classic = TwoDistancePlayer if spec.kind == "two_distance" else ResistancePlayer
            return classic(**settings, seed=seed)
        except UsageError as error:
            raise UsageError(f"players: {spec.label}: {error}") from None

    def _foreign(self, spec: PlayerSpec) -> GamePlayer:
        from hexlit.arena.htp_engine import HtpEngine

        start_timeout = float(spec.settings.get("start_timeout", START_TIMEOUT))
        move_timeout = float(spec.settings.get("move_timeout", MOVE_TIMEOUT))
        return HtpEngine(spec.source, name=spec.label, start_timeout=start_timeout, move_timeout=move_timeout)
