"""One code path chooses the moves: over HTP and its pipes a program plays as it does within this one."""

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import numba
import numpy as np
import pytest
import torch

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import build_profile
from hexlit.arena.game_player import GamePlayer
from hexlit.arena.htp_engine import HtpEngine
from hexlit.arena.live_player import LivePlayer
from hexlit.arena.players import SearchPlayer
from hexlit.arena.thinker import MakeEvaluator
from hexlit.hex.board import Board
from hexlit.hex.notation import parse_moves
from hexlit.nets.evaluator import NetworkEvaluator
from hexlit.search.config import GumbelConfig, SearchConfig
from hexlit.search.evaluator import Evaluator, RolloutEvaluator
from hexlit.tasks.hex.checkpoint import load_network
from tests.arena.networks import write_checkpoint

CONFIG = SearchConfig(simulations=24, gumbel=GumbelConfig(value_scale=0.2))
"""As the command line below says, and `conf/search/gumbel.yaml`."""

OPENINGS = ["", "a1 c3", "b2 d4", "e1"]


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
    command = shlex.join([sys.executable, "-m", "hexlit", "htp", "search.simulations=24", *overrides])
    return HtpEngine(command, name="over pipes", start_timeout=300, move_timeout=300)


def games_of(black: GamePlayer, white: GamePlayer, openings: list[str]) -> list[tuple[int, ...]]:
    """The moves of a game on 5x5 from each opening."""
    games = []
    for opening in openings:
        board = Board(5, moves=opening)
        for player in (black, white):
            player.begin(5)
        while not board.winner:
            board.play((black if board.to_move > 0 else white).answer(board.moves))
        games.append(board.moves)
    return games


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """As in `hexlit htp`: more would not change a move, only wait for one another."""
    threads, kernel_threads = torch.get_num_threads(), numba.get_num_threads()
    torch.set_num_threads(1)
    numba.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    numba.set_num_threads(kernel_threads)


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
        [over_pipes("player=rollouts", "rollouts=8", f"seed={seed}", f"reuse={reuse}") for seed in (1, 2)],
    )


@pytest.mark.slow  # two processes that import torch take a dozen seconds
@pytest.mark.parametrize("reuse", [False, True])
def test_so_it_is_with_networks(reuse: bool, tmp_path: Path) -> None:
    paths = [write_checkpoint(tmp_path / f"{seed}.ckpt", seed=seed) for seed in (1, 2)]
    settings = ["search=gumbel", "accelerator=cpu", "accelerator.threads=1", "accelerator.inference_precision=fp32"]
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
            cells = Board(5, moves=moves[:ply]).cells
            assert many.choose(cells[None], np.ones(1, np.int8))[0] == one.answer(moves[:ply])


def test_games_are_independent_of_those_before() -> None:
    fresh = [
        games_of(LivePlayer(CONFIG, rollouts(1)), LivePlayer(CONFIG, rollouts(2)), [opening]) for opening in OPENINGS
    ]
    players = [LivePlayer(CONFIG, rollouts(seed)) for seed in (1, 2)]
    assert [games_of(players[0], players[1], [opening]) for opening in OPENINGS] == fresh


def test_an_opening_over_the_whole_game_is_followed_to_its_end() -> None:
    player = LivePlayer(SearchConfig(simulations=8), rollouts(1))
    player.begin(3)
    assert player.answer(parse_moves("b2 a1 b3 c3", 3)) in (1, 2)
