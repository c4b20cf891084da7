"""The networks of a match: each is loaded once, and evaluated with the accelerator's settings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import DeviceProfile, build_profile
from hexlit.arena.player_spec import PlayerSpec
from hexlit.arena.players import Player, PolicyPlayer, SearchPlayer
from hexlit.errors import UsageError
from hexlit.nets.choice import compile_ahead
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.search.config import SearchConfig
from hexlit.tasks.hex.checkpoint import LoadedNetwork, load_network


def load_networks(
    sources: Sequence[str], search: SearchConfig, accelerator: AcceleratorConfig, *, board: int | None
) -> "Networks":
    """The networks of `sources`, loaded once each; `board` None is the board of the first one.

    Raises:
        UsageError: the accelerator does not support its settings, or a checkpoint cannot be read.
    """
    profile = build_profile(accelerator)
    profile.apply()
    loaded = {source: load_network(source) for source in dict.fromkeys(sources)}
    return Networks(loaded, search, profile, board=board)


class Networks:
    """The networks of the players, by source.

    Attributes:
        loaded: by source.
        board: rows of their board.
    """

    def __init__(
        self, loaded: Mapping[str, LoadedNetwork], search: SearchConfig, profile: DeviceProfile, *, board: int | None
    ) -> None:
        """Networks by source, on a `profile` that is applied; `board` None is the board of the first one."""
        self.loaded = loaded
        self._search = search
        self._profile = profile
        self.board = next(iter(loaded.values())).size if board is None else board
        self._evaluator = cache(self._make_evaluator)

    def compile_ahead(self, games: int) -> None:
        """Compile the networks' own kernels for moves in `games` games at once."""
        for network in self.loaded.values():
            compile_ahead(network.net, self.board, max(games, self._search.leaves), self._profile)

    def searching(self, spec: PlayerSpec) -> Callable[[int], Player]:
        """A maker, by number of games at once, of the player that searches with the network of `spec`.

        Raises:
            UsageError: a setting of `spec` is out of range.
        """
        network = self.loaded[spec.source]
        try:
            search = replace(self._search, **spec.settings)  # type: ignore[arg-type]
        except UsageError as error:
            raise UsageError(f"players: {spec.label}: {error}") from None

        def make(games: int) -> Player:
            batch = max(games, search.leaves)
            evaluator = self._evaluator(spec.source, batch)
            return SearchPlayer(search, evaluator, size=self.board, batch=batch, swap=network.swap)

        return make

    def judging(self, spec: PlayerSpec) -> Callable[[int], Player]:
        """As `searching`, for the player that takes the network's best move without search."""
        network = self.loaded[spec.source]

        def make(games: int) -> Player:
            evaluator = self._evaluator(spec.source, games)
            return PolicyPlayer(evaluator, size=self.board, batch=games, swap=network.swap)

        return make

    def _make_evaluator(self, source: str, batch: int) -> NetworkEvaluator:
        network = self.loaded[source]
        return NetworkEvaluator(network.net, size=self.board, swap=network.swap, batch=batch, profile=self._profile)
