"""Games and matches: openings, both colours, the rules watched,
and players of one game among players of many.
"""

from collections.abc import Callable

import numpy as np
import pytest

from hexlit.arena.matches import (
    ArenaGame,
    Pair,
    balanced_openings,
    fair_openings,
    play_match,
    random_openings,
)
from hexlit.arena.players import (
    RESIGN,
    Contestant,
    Forfeit,
    Player,
    PolicyPlayer,
    RandomPlayer,
    SearchPlayer,
)
from hexlit.errors import UsageError
from hexlit.hex.arrays import FloatArray, Int8Array, Int16Array
from hexlit.hex.board import GameBoard
from hexlit.hex.encoding import MAY_SWAP, OPPONENT, OWN
from hexlit.hex.record import Ending
from hexlit.hex.solver import ExactSolver
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import Evaluator, RolloutEvaluator
from tests.arena.stand_ins import (
    AlwaysSwaps,
    Faulty,
    Lowest,
    NeverSwaps,
    Scripted,
    alone,
    lowest_empty,
    named,
    play_pairs,
)
from tests.hex.reference import Game, winner


def distinct_openings(size: int, count: int, plies: int, seed: int) -> Int8Array:
    """The positions that a match begins from, `[count, size*size]`."""
    return np.stack(
        [
            GameBoard(size, moves=opening).cells
            for opening in random_openings(size, count, plies, seed)
        ]
    )


class Perfect(NeverSwaps):
    """Plays the first winning move of the exact solver, and the first legal one when lost."""

    def __init__(self, size: int) -> None:
        self.solver = ExactSolver(size, rows=1 << 14)

    def choose(self, cells: Int8Array, to_move: Int8Array) -> Int16Array:
        moves = []
        for board, colour in zip(cells, to_move.tolist(), strict=True):
            winning = self.solver.solve(board, colour).winning_moves
            moves.append(winning[0] if winning else int(np.flatnonzero(board == 0)[0]))
        return np.array(moves, np.int16)


def referee(first: Player, second: Player, openings: Int8Array, to_move: int) -> int:
    """Wins of the first player: the same match game by game, judged by the reference."""
    wins = 0
    size = round(openings.shape[1] ** 0.5)
    for own in (1, -1):
        for opening in openings:
            cells, colour = opening.copy(), to_move
            while not (won_by := winner(cells.tolist(), size)):
                player = first if colour == own else second
                cells[player.choose(cells[None], np.array([colour], np.int8))[0]] = colour
                colour = -colour
            wins += won_by == own
    return wins


@pytest.mark.parametrize("plies", [1, 2])
def test_wins_are_counted_as_a_referee_counts_them(plies: int) -> None:
    first, second = Perfect(4), Lowest()
    openings = distinct_openings(4, 12, plies, seed=5)
    expected = referee(first, second, openings, 1 if plies == 2 else -1)
    result = play_match(first, second, size=4, pairs=12, seed=5, opening_plies=plies)
    assert result.wins == expected
    turned = play_match(second, first, size=4, pairs=12, seed=5, opening_plies=plies)
    assert turned.wins == result.games - result.wins


def test_a_random_player_repeats_itself_with_its_seed_and_plays_every_cell() -> None:
    """Whatever other games are in the batch,
    so that a match that is resumed ends as it would have.
    """
    cells = distinct_openings(4, 100, 2, seed=0)
    colours = np.ones(100, np.int8)
    moves = RandomPlayer(1).choose(cells, colours)
    alone = [int(RandomPlayer(1).choose(cells[i : i + 1], colours[:1])[0]) for i in range(100)]
    assert moves.tolist() == alone
    assert not np.array_equal(moves, RandomPlayer(2).choose(cells, colours))
    one = np.zeros((1, 9), np.int8)
    one[0, 4] = 1
    drawn = [
        int(RandomPlayer(seed).choose(one, np.array([-1], np.int8))[0]) for seed in range(1600)
    ]
    counts = np.bincount(drawn, minlength=9)
    assert counts[4] == 0
    assert 150 < counts[np.arange(9) != 4].min() <= counts.max() < 250


class Marked:
    """Says that a marked cell of the board is best,
    given in Black's frame, and knows nothing of values.
    """

    def __init__(self, cell: int, size: int, swap: bool) -> None:
        self.cell, self.size, self.swap = cell, size, swap

    def evaluate(self, planes: Int8Array, policy: FloatArray, value: FloatArray) -> None:
        row, column = divmod(self.cell, self.size)
        policy.fill(0.001)
        for i, stones in enumerate(planes[:, :2].sum((2, 3))):
            black = stones[0] == stones[1]
            policy[i, row * self.size + column if black else column * self.size + row] = 0.5
        if self.swap:
            policy[:, -1] = 0.9
        value.fill(0.0)


def player_of(kind: str, evaluator: Evaluator, *, swap: bool) -> Player:
    """By the policy or by a search, on 4x4, three positions at once."""
    if kind == "policy":
        return PolicyPlayer(evaluator, size=4, batch=3, swap=swap)
    return SearchPlayer(SearchConfig(simulations=1), evaluator, size=4, batch=3, swap=swap)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("kind", ["policy", "search"])
def test_players_play_the_board_and_not_the_movers_frame(kind: str, swap: bool) -> None:
    """White's moves are turned back,
    more positions than the evaluator's batch are split, there are no swaps.
    """
    player = player_of(kind, Marked(7, 4, swap), swap=swap)
    cells = np.zeros((8, 16), np.int8)
    cells[4:, 2] = 1
    colours = np.array([1] * 4 + [-1] * 4, np.int8)
    assert player.choose(cells, colours).tolist() == [7] * 8


@pytest.mark.parametrize(("leaves", "batches"), [(1, (4, 11)), (3, (8, 3))])
def test_results_do_not_depend_on_the_split_into_batches(
    leaves: int, batches: tuple[int, int]
) -> None:
    """Fewer games are searched at once when each has several leaves:
    the evaluator's batch stays full-sized.
    """
    config, evaluator = SearchConfig(simulations=12, leaves=leaves), RolloutEvaluator(4, 1)
    cells, colours = distinct_openings(4, 11, 2, seed=0), np.ones(11, np.int8)
    one, other = (
        SearchPlayer(config, evaluator, size=4, batch=batch).judge(cells, colours)
        for batch in batches
    )
    assert np.array_equal(one.action, other.action)
    assert np.array_equal(one.value, other.value)


def test_a_batch_without_room_for_the_leaves_of_one_game_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"^search.leaves=3: the evaluator's batch has room for 2$"
    ):
        SearchPlayer(SearchConfig(leaves=3), RolloutEvaluator(4, 1), size=4, batch=2)


class OfWhite:
    """Likes cell 9 of the mover's frame,
    or the swap by `liking`; White's value is always `value`.
    """

    def __init__(self, value: float, liking: float = 0.0) -> None:
        self.value, self.liking = value, liking

    def evaluate(self, planes: Int8Array, policy: FloatArray, value: FloatArray) -> None:
        own, opponent = planes[:, OWN].sum((1, 2)), planes[:, OPPONENT].sum((1, 2))
        policy.fill(0.01)
        policy[:, 9] = 0.5
        if policy.shape[1] == 17:
            policy[:, 16] = self.liking * planes[:, MAY_SWAP, 0, 0]
        value[:] = np.where(opponent > own, self.value, -self.value)


@pytest.mark.parametrize("kind", ["policy", "search"])
@pytest.mark.parametrize(
    ("knows_swap", "evaluator", "swaps"),
    [
        (True, OfWhite(0.0, liking=0.9), True),
        (True, OfWhite(0.0, liking=0.1), False),
        (False, OfWhite(-0.2), True),
        (False, OfWhite(0.2), False),
    ],
    ids=["policy for", "policy against", "value for", "value against"],
)
def test_a_network_swaps_as_it_has_learned_or_else_by_its_value(
    kind: str, knows_swap: bool, evaluator: OfWhite, swaps: bool
) -> None:
    replies = player_of(kind, evaluator, swap=knows_swap).reply(np.eye(16, dtype=np.int8)[:5])
    assert replies.dtype == np.int16
    assert replies.tolist() == [16 if swaps else 6] * 5, (
        "White's moves are turned back to the board"
    )


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
                assert GameBoard(size, moves=game.moves).winner == 0


@pytest.mark.parametrize("at_once", [1, 2, 5, 100])
def test_every_opening_is_played_with_both_colours_however_many_at_once(at_once: int) -> None:
    first, second = Lowest(), Lowest(last=True)
    pairs = list(
        play_pairs(named("low", first), named("high", second), OPENINGS, 4, at_once=at_once)
    )
    assert_played_by_the_rules(pairs, ("low", "high"))
    assert max(first.calls) == max(second.calls) == min(at_once, 5)
    for game in (game for pair in pairs for game in pair):
        for ply in range(2, len(game.moves)):
            before = game.moves[:ply]
            empty = [cell for cell in range(16) if cell not in before]
            mover = game.black if ply % 2 == 0 else game.white
            assert game.moves[ply] == (empty[0] if mover == "low" else empty[-1])


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        (99, "illegal move: 99"),
        (-5, "illegal move: -5"),
        (16, "illegal move: swap-pieces"),
        (5, "illegal move: b2"),
    ],
)
def test_an_illegal_move_loses_that_game_with_a_note_and_the_others_go_on(
    answer: int, note: str
) -> None:
    """For players of many games and of one alike."""
    openings = {number: (5, cell) for number, cell in enumerate((0, 1, 2))}
    faulty = Scripted(
        lambda moves: answer if len(moves) % 2 == 0 and len(moves) >= 4 else lowest_empty(moves)
    )
    for player in (named("faulty", Faulty(answer)), alone("faulty", faulty)):
        pairs = list(play_pairs(player, named("low", Lowest()), openings, 4, at_once=3))
        assert len(pairs) == 3
        for with_black, with_white in pairs:
            assert (with_black.winner, with_black.ending) == (-1, Ending.FORFEITED)
            assert note in with_black.note
            assert len(with_black.moves) == 4
            assert with_white.ending is Ending.CONNECTED


def ending_of(player: Scripted, *, as_black: bool) -> ArenaGame:
    pairs = list(
        play_pairs(alone("odd", player), named("low", Lowest(last=True)), {0: (5, 6)}, 4, at_once=1)
    )
    return pairs[0][0 if as_black else 1]


def give_up(moves: object) -> int:
    raise Forfeit("crashed:\n  exit\x1b code 1")


@pytest.mark.parametrize("as_black", [True, False])
@pytest.mark.parametrize(
    ("answer", "ending", "note"),
    [
        (lambda moves: RESIGN, Ending.RESIGNED, ""),
        (give_up, Ending.FORFEITED, "crashed: exit code 1"),
    ],
    ids=["resigns", "crashes"],
)
def test_who_resigns_or_crashes_has_lost(
    answer: Callable[[object], int], ending: Ending, note: str, as_black: bool
) -> None:
    game = ending_of(Scripted(answer), as_black=as_black)
    assert (game.won_by, game.ending, game.note) == ("low", ending, note)


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


FIRST_MOVES = {0: (1,), 4: (5,), 6: (14,)}


def test_by_the_swap_rule_the_second_player_may_take_the_first_stone_with_either_colour() -> None:
    """Side by side and one after another;
    an independent board referees, and the mirrored cell is taken.
    """
    swapper, lowest = named("swaps", AlwaysSwaps(last=True)), named("low", Lowest())
    pairs = list(play_pairs(swapper, lowest, FIRST_MOVES, 4, at_once=2, swap=True))
    assert {pair[0].pair for pair in pairs} == set(FIRST_MOVES)
    for as_black, as_white in pairs:
        assert 16 not in as_black.moves, "the other one does not swap"
        assert (as_white.moves[1], as_white.moves.count(16), as_white.opening) == (16, 1, 1)
        for game in (as_black, as_white):
            assert (game.ending, GameBoard(4, swap=True, moves=game.moves).winner) == (
                Ending.CONNECTED,
                game.winner,
            )
        assert as_white.moves[2] == 0, "the lowest cell: Black moves after the swap"
    one_by_one = Contestant("low", lowest.make, one_game=True)
    in_turn = play_pairs(swapper, one_by_one, FIRST_MOVES, 4, at_once=2, swap=True)
    assert {pair[0].pair: pair for pair in in_turn} == {pair[0].pair: pair for pair in pairs}


@pytest.mark.parametrize(("opening", "swap"), [((1,), False), ((1, 6), True), ((1, 6, 2), True)])
def test_a_swap_out_of_turn_forfeits_the_game(opening: tuple[int, ...], swap: bool) -> None:
    player = alone("odd", Scripted(lambda moves: 16))
    pairs = list(play_pairs(player, named("low", Lowest()), {0: opening}, 4, at_once=1, swap=swap))
    lost = pairs[0][len(opening) % 2]
    assert (lost.won_by, lost.ending, lost.note) == (
        "low",
        Ending.FORFEITED,
        "illegal move: swap-pieces",
    )


def test_players_of_one_game_hear_of_the_swap_rule() -> None:
    player = Scripted(lowest_empty)
    for swap in (True, False):
        list(
            play_pairs(
                alone("odd", player), named("low", Lowest()), {0: (5,)}, 4, at_once=1, swap=swap
            )
        )
        assert player.swap is swap


@pytest.mark.parametrize(
    ("size", "count", "plies"),
    [(2, 2, 1), (3, 5, 1), (3, 36, 2), (4, 40, 3), (7, 60, 4), (8, 200, 2), (13, 201, 2)],
)
@pytest.mark.parametrize("balanced", [True, False])
def test_openings_are_legal_and_no_two_the_same_even_turned(
    size: int, count: int, plies: int, balanced: bool
) -> None:
    openings = balanced_openings(size, count, plies, 5, balanced=balanced)
    assert {len(opening) for opening in openings} == {plies}
    assert len(openings) == count
    keys = set()
    for opening in openings:
        board = GameBoard(size, moves=opening)
        assert board.winner == 0
        cells = board.cells
        keys.add(min(cells.tobytes(), cells[::-1].tobytes()))
    assert len(keys) == count
    assert openings == balanced_openings(size, count, plies, 5, balanced=balanced)
    assert size < 4 or openings != balanced_openings(size, count, plies, 6, balanced=balanced)


@pytest.mark.parametrize("plies", [0, 4])
def test_openings_that_are_none_or_may_win_are_refused(plies: int) -> None:
    with pytest.raises(
        UsageError, match=f"openings.plies={plies}: on a 4x4 board an opening has 1 to 3 plies"
    ):
        balanced_openings(4, 1, plies, 0)


def test_fair_openings_are_the_lists_while_it_has_as_many() -> None:
    listed = fair_openings()
    assert {size: len(openings) for size, openings in listed.items()} == dict.fromkeys(
        range(8, 14), 200
    )
    assert set(balanced_openings(11, 200, 2, 1)) == set(listed[11])
    assert not set(balanced_openings(11, 20, 2, 1, balanced=False)) <= set(listed[11])


def test_balanced_openings_are_harder_to_win_than_random_ones() -> None:
    """The side that wins has to find one of fewer moves; judged by the exact solver."""
    solver = ExactSolver(4, rows=1 << 14)
    shares = []
    for balanced in (True, False):
        boards = [
            GameBoard(4, moves=opening)
            for opening in balanced_openings(4, 25, 2, 1, balanced=balanced)
        ]
        winning = [len(solver.solve(board.cells, board.to_move).winning_moves) for board in boards]
        shares.append(np.mean([count / 14 for count in winning if count]))
    assert shares[0] < 0.8 * shares[1]
