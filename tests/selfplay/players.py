"""What every player of self-play keeps, on any machine: the base class of its tests."""

from collections import Counter
from typing import Any

import numpy as np

from hexlit.hex.board import GameBoard
from hexlit.hex.record import Ending, GameRecord
from hexlit.search.config import SearchConfig
from hexlit.selfplay.actor import GamesSettings, SelfPlayCounts
from hexlit.selfplay.config import SelfPlayConfig
from hexlit.selfplay.workers import LocalPlayer, PlayerSettings, RoundRequest, SelfPlayer
from tests.selfplay.hosts import KeyedHost

Games = dict[int, GameRecord]


def workplace() -> PlayerSettings:
    """Eight games at once on 3x3 with cheap searches; weights are bytes, see `KeyedHost`."""
    config = SelfPlayConfig(fast_simulations=2, opening_plies=4)
    return PlayerSettings(
        GamesSettings(config, SearchConfig(simulations=6), size=3, games=8, seed=4), KeyedHost
    )


class SelfPlayerTests:
    """The tests may share a player: each restores the games that it began with."""

    def make(self, place: PlayerSettings) -> SelfPlayer:
        """A player that plays the whole of `place`."""
        raise NotImplementedError

    def test_each_game_is_played_once_legally_and_to_its_result(self) -> None:
        """And `positions` counts those that were searched in full."""
        _, found, counts = self._played()
        assert counts.games == len(found)
        assert counts.positions == sum(len(game.policy_plies) for game in found.values()) >= 60
        for game in found.values():
            board = GameBoard(game.size, swap=game.swap, moves=game.moves.tolist())
            if game.ending == Ending.CONNECTED:
                assert board.winner == game.winner, (
                    f"game {game.game_id}: the board has another winner"
                )
            assert np.allclose(game.policies.astype(np.float32).sum(1), 1, atol=1e-2), (
                "a policy does not sum to 1"
            )

    def test_the_games_are_those_of_one_process(self) -> None:
        """The place of play changes nothing but the speed."""
        _, found, _ = self._played()
        alone = played(LocalPlayer(workplace()), 60)[0]
        common = found.keys() & alone.keys()
        assert len(common) > 15, f"only {len(common)} games in common with one process"
        for game in common:
            assert np.array_equal(found[game].moves, alone[game].moves), (
                f"game {game} is another one"
            )
            assert np.array_equal(found[game].policies, alone[game].policies), (
                f"game {game}: another policy"
            )

    def test_a_snapshot_repeats_what_followed_it(self) -> None:
        """Games, positions and evaluations, whatever the timing."""
        player, found, counts = self._played()
        player.restore(LocalPlayer(workplace()).snapshot())
        again, counts_again = played(player, 60)
        assert _moves(again) == _moves(found)
        for name in ("games", "positions", "evaluations"):
            assert getattr(counts, name) == getattr(counts_again, name), f"another number of {name}"

    def test_preparing_touches_no_game(self) -> None:
        """It may take long, and may play games of its own."""
        player = self.make(workplace())
        before = player.snapshot()
        player.prepare()
        for old, new in zip(before, player.snapshot(), strict=True):
            changed = [name for name in old if not np.array_equal(old[name], new[name])]
            assert not changed, f"{changed} of the games in progress changed"

    def test_it_plays_with_the_weights_that_it_is_sent(self) -> None:
        """Each game also says the network version of its beginning."""
        _, first, _ = self._played(b"a")
        _, other, _ = self._played(b"b")
        common = first.keys() & other.keys()
        assert any(_moves(first)[game] != _moves(other)[game] for game in common), (
            "other weights play the same games"
        )
        versions = Counter(game.network_version for game in first.values())
        assert set(versions) == {0, 1}, f"network versions {versions}: 0 before the round, 1 in it"
        assert versions[0] <= workplace().games.games

    def test_a_deadline_that_is_over_ends_the_round_at_the_first_position(self) -> None:
        """So that every round has something to learn from."""
        player = self.make(workplace())
        counts = player.play(RoundRequest(b"a", 10**9, 0, on_games=lambda *_: None, deadline=0.0))
        assert 0 < counts.positions < 1000, f"{counts.positions} positions"

    def _played(self, weights: bytes = b"a") -> tuple[SelfPlayer, Games, SelfPlayCounts]:
        """A round of 60 positions from the first games on."""
        player = self.make(workplace())
        player.restore(LocalPlayer(workplace()).snapshot())
        return player, *played(player, 60, weights)


def played(player: SelfPlayer, positions: int, weights: Any = b"a") -> tuple[Games, SelfPlayCounts]:
    """The games, by number, of a round of `positions` positions, and its counts."""
    games: list[GameRecord] = []
    counts = player.play(
        RoundRequest(weights, positions, 1, on_games=lambda records, _: games.extend(records))
    )
    found = {game.game_id: game for game in games}
    assert len(found) == len(games), "one game was played twice"
    return found, counts


def _moves(games: Games) -> dict[int, list[int]]:
    return {number: game.moves.tolist() for number, game in games.items()}
