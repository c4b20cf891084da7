"""The choice of moves in one game: how a search sees a position,
and the same moves over HTP as within this process.
"""

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.arena.engine import HtpEngine
from hexlit.arena.first_stones import MakeEvaluator
from hexlit.arena.players import Player, SearchPlayer
from hexlit.arena.position import empty_position, may_swap
from hexlit.arena.thinker import Thinker, plies_before
from hexlit.hex.board import GameBoard
from hexlit.hex.jit import restored_threads, use_threads
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.search.config import GumbelConfig, SearchConfig
from hexlit.search.evaluator import Evaluator, RolloutEvaluator
from hexlit.tasks.hex.checkpoint import load_network
from tests.commands.tiny import save_untrained


@given(st.permutations(range(16)), st.integers(0, 8), st.booleans())
def test_plies_are_those_of_the_game_with_or_without_a_swap(
    cells: list[int], count: int, swap: bool
) -> None:
    board = GameBoard(4, swap=True)
    for cell in cells[:count]:
        board.play(16 if swap and board.may_swap else cell) if board.cells[
            cell
        ] == 0 and not board.winner else None
    assert plies_before(board.cells, board.to_move) == len(board.moves)


@given(
    st.lists(st.tuples(st.sampled_from([1, -1]), st.integers(0, 8)), max_size=9),
    st.sampled_from([1, -1]),
)
def test_only_white_after_blacks_one_stone_is_where_the_search_sees_a_swap(
    stones: list[tuple[int, int]], colour: int
) -> None:
    position = empty_position(3)
    for owner, cell in stones:
        position = position if position.cells[cell] else position.place(owner, cell)
    plies = plies_before(position.cells, colour)
    assert (plies == 1) == may_swap(position.cells, colour)
    assert (plies == 0) == (position.stones == 0 and colour == 1)


@pytest.mark.parametrize("knows_swap", [False, True])
def test_the_swap_is_a_matter_of_the_game_not_of_the_evaluator(knows_swap: bool) -> None:
    thinker = Thinker(SearchConfig(simulations=64), rollouts(1), knows_swap=lambda size: knows_swap)
    position = empty_position(3).place(1, 4)
    for swap in (True, False, True):
        thinker.prepare(3, swap=swap)
        assert (thinker.choose(position.cells, -1, simulations=64).action == 9) is swap
        policy, _ = thinker.look(position.cells, -1)
        assert len(policy) == 9 + knows_swap
        assert (policy[9:].sum() > 0) == (swap and knows_swap)


CONFIG = SearchConfig(simulations=24, gumbel=GumbelConfig(value_scale=0.2))
"""As the command line below says."""

OPENINGS = ["", "a1 c3", "b2 d4", "e1"]


class LivePlayer(Player):
    """Plays as `hexlit htp` does with the same settings and evaluator, without another process."""

    def __init__(
        self,
        config: SearchConfig,
        make_evaluator: MakeEvaluator,
        *,
        knows_swap: bool = False,
        reuse: bool = True,
    ) -> None:
        self.thinker = Thinker(
            config, make_evaluator, knows_swap=lambda size: knows_swap, reuse=reuse
        )

    def begin(self, size: int, *, swap: bool = False) -> None:
        self.thinker.prepare(size, swap=swap)

    def answer(self, boards: Sequence[GameBoard]) -> list[int]:
        (board,) = boards
        thinker = self.thinker
        return [
            thinker.choose(
                board.cells, board.to_move, simulations=thinker.config.simulations
            ).action
        ]


def rollouts(seed: int) -> MakeEvaluator:
    def make(size: int, swap: bool, batch: int) -> Evaluator:
        del size, swap, batch
        return RolloutEvaluator(8, seed)

    return make


def network(path: Path) -> MakeEvaluator:
    net = load_network(path).net
    profile = build_profile(AcceleratorConfig(device="cpu", threads=1, inference_precision="fp32"))

    def make(size: int, swap: bool, batch: int) -> Evaluator:
        return NetworkEvaluator(net, size=size, swap=swap, batch=batch, profile=profile)

    return make


def over_pipes(*overrides: str) -> HtpEngine:
    command = shlex.join(
        [sys.executable, "-m", "hexlit", "htp", "search.simulations=24", *overrides]
    )
    return HtpEngine(command, name="over pipes", start_timeout=300, move_timeout=300)


def games_of(black: Player, white: Player, openings: list[str]) -> list[tuple[int, ...]]:
    """The moves of a game on 5x5 from each opening."""
    games = []
    for opening in openings:
        board = GameBoard(5, moves=opening)
        for player in (black, white):
            player.begin(5)
        while not board.winner:
            board.play((black if board.to_move > 0 else white).answer([board])[0])
        games.append(board.moves)
    return games


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """As in `hexlit htp`: more would not change a move, only wait for one another."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with restored_threads():
        use_threads(1)
        yield
    torch.set_num_threads(threads)


def same_games(inside: list[LivePlayer], outside: list[HtpEngine]) -> None:
    """Both players play both colours, here and over pipes."""
    try:
        for first, second in ((0, 1), (1, 0)):
            expected = games_of(inside[first], inside[second], OPENINGS)
            assert games_of(outside[first], outside[second], OPENINGS) == expected
            assert len(set(expected)) == len(OPENINGS)
    finally:
        for player in outside:
            player.close()


# The slow one takes as long as the other, and differs from it only in what `hexlit htp` is told.
@pytest.mark.parametrize("reuse", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_match_over_pipes_has_the_moves_of_the_match_in_process(reuse: bool) -> None:
    same_games(
        [LivePlayer(CONFIG, rollouts(seed), reuse=reuse) for seed in (1, 2)],
        [
            over_pipes("player=rollouts", "rollouts=8", f"seed={seed}", f"reuse={reuse}")
            for seed in (1, 2)
        ],
    )


@pytest.mark.slow  # two processes that import torch take a dozen seconds
@pytest.mark.parametrize("reuse", [False, True])
def test_so_it_is_with_networks(reuse: bool, tmp_path: Path) -> None:
    paths = [save_untrained(tmp_path / f"{seed}.ckpt", size=5, seed=seed) for seed in (1, 2)]
    settings = [
        "search=gumbel",
        "accelerator=cpu",
        "accelerator.threads=1",
        "accelerator.inference_precision=fp32",
    ]
    same_games(
        [LivePlayer(CONFIG, network(path), reuse=reuse) for path in paths],
        [over_pipes(f"checkpoint={path}", f"reuse={reuse}", *settings) for path in paths],
    )


@pytest.mark.parametrize("knows_swap", [False, True])
def test_without_reuse_it_plays_as_the_player_of_many_games(knows_swap: bool) -> None:
    many = SearchPlayer(CONFIG, RolloutEvaluator(8, 1), size=5, batch=1, swap=knows_swap)
    one = LivePlayer(CONFIG, rollouts(1), knows_swap=knows_swap, reuse=False)
    for moves in games_of(one, LivePlayer(CONFIG, rollouts(2)), OPENINGS):
        for ply in range(0, len(moves), 2):
            board = GameBoard(5, moves=moves[:ply])
            assert many.choose(board.cells[None], np.ones(1, np.int8))[0] == one.answer([board])[0]


def test_games_are_independent_of_those_before() -> None:
    fresh = [
        games_of(LivePlayer(CONFIG, rollouts(1)), LivePlayer(CONFIG, rollouts(2)), [opening])
        for opening in OPENINGS
    ]
    players = [LivePlayer(CONFIG, rollouts(seed)) for seed in (1, 2)]
    assert [games_of(players[0], players[1], [opening]) for opening in OPENINGS] == fresh
