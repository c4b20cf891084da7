"""Pairs of games: both colours, the rules watched, and players of one game among players of many."""

import numpy as np
import pytest

from hexlit.arena.arena_game import ArenaGame
from hexlit.arena.game_player import RESIGN, Forfeit
from hexlit.arena.pairing import Contestant, Pair, batched, play_pairs
from hexlit.arena.players import RandomPlayer
from hexlit.hex.board import Board
from hexlit.hex.record import Ending
from tests.arena.stand_ins import AlwaysSwaps, Faulty, Lowest, Scripted, alone, lowest_empty, named
from tests.hex.reference import Game

OPENINGS = {3: (0, 5), 7: (6, 1), 8: (10, 11), 12: (15, 2), 20: (9, 4)}


def assert_played_by_the_rules(pairs: list[Pair], names: tuple[str, str], size: int = 4) -> None:
    """Every opening twice, colours exchanged; winners as an independent referee sees them."""
    assert sorted(pair[0].pair for pair in pairs) == sorted(OPENINGS)
    for pair in pairs:
        assert [(game.black, game.white) for game in pair] == [names, names[::-1]]
        for game in pair:
            assert game.pair == pair[0].pair
            assert game.moves[: game.opening] == OPENINGS[game.pair]
            if game.ending is Ending.CONNECTED:
                assert Game(size, moves=list(game.moves)).winner == game.winner
            else:
                assert Board(size, moves=game.moves).winner == 0


@pytest.mark.row("E5")
@pytest.mark.parametrize("at_once", [1, 2, 5, 100])
def test_every_opening_is_played_with_both_colours_however_many_at_once(at_once: int) -> None:
    first, second = Lowest(), Lowest(last=True)
    pairs = list(play_pairs(named("low", first), named("high", second), OPENINGS, 4, at_once=at_once))
    assert_played_by_the_rules(pairs, ("low", "high"))
    assert max(first.calls) == max(second.calls) == min(at_once, 5)
    for game in (game for pair in pairs for game in pair):
        for ply in range(2, len(game.moves)):
            before = game.moves[:ply]
            empty = [cell for cell in range(16) if cell not in before]
            mover = game.black if ply % 2 == 0 else game.white
            assert game.moves[ply] == (empty[0] if mover == "low" else empty[-1])


def test_games_one_after_another_are_those_played_side_by_side() -> None:
    random = batched("random", lambda games: RandomPlayer(7))
    side_by_side = {pair[0].pair: pair for pair in play_pairs(random, named("low", Lowest()), OPENINGS, 4, at_once=3)}
    player = Scripted(lowest_empty)
    in_turn = {pair[0].pair: pair for pair in play_pairs(random, alone("low", player), OPENINGS, 4, at_once=3)}
    assert side_by_side == in_turn
    assert (player.begun, player.closed) == (10, 1)
    assert all(len(moves) >= 2 for moves in player.seen), "the opening belongs to the moves"


@pytest.mark.parametrize(
    ("answer", "note"),
    [(99, "99 is no cell"), (-5, "-5 is no cell"), (16, "without the swap rule"), (5, "b2 is taken")],
)
def test_an_illegal_move_loses_that_game_with_a_note_and_the_others_go_on(answer: int, note: str) -> None:
    """For players of many games and of one alike."""
    openings = {number: (5, cell) for number, cell in enumerate((0, 1, 2))}
    faulty = Scripted(lambda moves: answer if len(moves) % 2 == 0 and len(moves) >= 4 else lowest_empty(moves))
    for player in (named("faulty", Faulty(answer)), alone("faulty", faulty)):
        pairs = list(play_pairs(player, named("low", Lowest()), openings, 4, at_once=3))
        assert len(pairs) == 3
        for with_black, with_white in pairs:
            assert (with_black.winner, with_black.ending) == (-1, Ending.FORFEITED)
            assert note in with_black.note
            assert len(with_black.moves) == 4
            assert with_white.ending is Ending.CONNECTED


def ending_of(player: Scripted, *, as_black: bool) -> ArenaGame:
    pairs = list(play_pairs(alone("odd", player), named("low", Lowest(last=True)), {0: (5, 6)}, 4, at_once=1))
    return pairs[0][0 if as_black else 1]


@pytest.mark.parametrize("as_black", [True, False])
def test_who_resigns_has_lost(as_black: bool) -> None:
    game = ending_of(Scripted(lambda moves: RESIGN), as_black=as_black)
    assert (game.won_by, game.ending, game.note) == ("low", Ending.RESIGNED, "")


def give_up(moves: object) -> int:
    raise Forfeit("crashed:\n  exit\x1b code 1")


@pytest.mark.parametrize("as_black", [True, False])
def test_a_program_that_crashes_has_lost_with_a_note_of_one_line(as_black: bool) -> None:
    game = ending_of(Scripted(give_up), as_black=as_black)
    assert (game.won_by, game.ending, game.note) == ("low", Ending.FORFEITED, "crashed: exit code 1")


def test_a_program_that_does_not_start_loses_and_is_started_again_for_the_next_game() -> None:
    player = Scripted(lowest_empty, fails_at=(1, 4))
    pairs = list(play_pairs(alone("odd", player), named("low", Lowest()), OPENINGS, 4, at_once=9))
    endings = [game.ending for pair in pairs for game in pair]
    assert [index for index, ending in enumerate(endings) if ending is Ending.FORFEITED] == [0, 3]
    assert pairs[0][0].won_by == pairs[1][1].won_by == "low"
    assert pairs[0][0].note == "did not start within 30 seconds"
    assert pairs[0][0].moves == OPENINGS[3]
    assert player.begun == 10


def test_what_a_player_holds_is_given_back_when_a_match_is_broken_off() -> None:
    player = Scripted(lowest_empty)
    games = play_pairs(alone("odd", player), named("low", Lowest()), OPENINGS, 4, at_once=1)
    next(games)
    games.close()  # type: ignore[attr-defined]
    assert player.closed == 1


def test_random_moves_do_not_depend_on_the_other_games_of_a_batch() -> None:
    """So that a match that is resumed ends as it would have."""
    cells = np.zeros((6, 16), np.int8)
    cells[np.arange(6), np.arange(6)] = 1
    colours = np.full(6, -1, np.int8)
    player = RandomPlayer(3)
    whole = player.choose(cells, colours)
    assert whole.tolist() == [int(player.choose(cells[i : i + 1], colours[i : i + 1])[0]) for i in range(6)]


FIRST_MOVES = {0: (1,), 4: (5,), 6: (14,)}


@pytest.mark.row("E5")
def test_by_the_swap_rule_the_second_player_may_take_the_first_stone_with_either_colour() -> None:
    """Side by side and one after another; an independent board referees, and the mirrored cell is taken."""
    swapper, lowest = named("swaps", AlwaysSwaps(last=True)), named("low", Lowest())
    pairs = list(play_pairs(swapper, lowest, FIRST_MOVES, 4, at_once=2, swap=True))
    assert {pair[0].pair for pair in pairs} == set(FIRST_MOVES)
    for as_black, as_white in pairs:
        assert 16 not in as_black.moves, "the other one does not swap"
        assert (as_white.moves[1], as_white.moves.count(16), as_white.opening) == (16, 1, 1)
        for game in (as_black, as_white):
            assert (game.ending, Board(4, swap=True, moves=game.moves).winner) == (Ending.CONNECTED, game.winner)
        assert as_white.moves[2] == 0, "the lowest cell: Black moves after the swap"
    one_by_one = Contestant("low", lowest.one_game)
    in_turn = play_pairs(swapper, one_by_one, FIRST_MOVES, 4, at_once=2, swap=True)
    assert {pair[0].pair: pair for pair in in_turn} == {pair[0].pair: pair for pair in pairs}


@pytest.mark.parametrize(
    ("opening", "swap", "note"),
    [
        ((1,), False, "illegal move: swap-pieces, but the match is played without the swap rule"),
        ((1, 6), True, "illegal move: swap-pieces, but only the answer to the first stone may swap"),
        ((1, 6, 2), True, "illegal move: swap-pieces, but only the answer to the first stone may swap"),
    ],
)
def test_a_swap_out_of_turn_forfeits_the_game(opening: tuple[int, ...], swap: bool, note: str) -> None:
    player = alone("odd", Scripted(lambda moves: 16))
    pairs = list(play_pairs(player, named("low", Lowest()), {0: opening}, 4, at_once=1, swap=swap))
    lost = pairs[0][len(opening) % 2]
    assert (lost.won_by, lost.ending, lost.note) == ("low", Ending.FORFEITED, note)


def test_players_of_one_game_hear_of_the_swap_rule() -> None:
    player = Scripted(lowest_empty)
    for swap in (True, False):
        list(play_pairs(alone("odd", player), named("low", Lowest()), {0: (5,)}, 4, at_once=1, swap=swap))
        assert player.swap is swap
