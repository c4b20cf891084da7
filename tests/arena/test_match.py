"""Matches: paired openings, right counts, and players that play as well as what they are built on."""

import numpy as np
import pytest
from numpy.typing import NDArray

from hexlit.arena.config import EvaluationConfig
from hexlit.arena.match import MatchResult, Player, play_match
from hexlit.arena.opening_set import positions_after, random_openings
from hexlit.arena.players import PolicyPlayer, RandomPlayer, SearchPlayer
from hexlit.errors import UsageError
from hexlit.hex.encoding import MAY_SWAP, OPPONENT, OWN
from hexlit.hex.solver import Solver
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import RolloutEvaluator
from tests.arena.stand_ins import NeverSwaps
from tests.hex.reference import winner


def distinct_openings(size: int, count: int, plies: int, seed: int) -> NDArray[np.int8]:
    """The positions that a match begins from, `[count, size*size]`."""
    return positions_after(random_openings(size, count, plies, seed), size)[0]


class Perfect(NeverSwaps):
    """Plays the first winning move of the exact solver, and the first legal one when lost."""

    def __init__(self, size: int) -> None:
        self.solver = Solver(size, table_bits=14)

    def choose(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> NDArray[np.int16]:
        moves = []
        for board, colour in zip(cells, to_move.tolist(), strict=True):
            winning = self.solver.solve(board, colour).winning_moves
            moves.append(winning[0] if winning else int(np.flatnonzero(board == 0)[0]))
        return np.array(moves, np.int16)


class Lowest(NeverSwaps):
    """Plays the lowest empty cell, or with `last` the highest."""

    def __init__(self, *, last: bool = False) -> None:
        self.last = last

    def choose(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> NDArray[np.int16]:
        empty = [np.flatnonzero(board == 0) for board in cells]
        return np.array([cell[-1 if self.last else 0] for cell in empty], np.int16)


class Recorder(NeverSwaps):
    """Notes every position that it is asked about."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.seen: list[tuple[bytes, int]] = []

    def choose(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> NDArray[np.int16]:
        assert cells.dtype == to_move.dtype == np.int8
        self.seen += [(board.tobytes(), int(colour)) for board, colour in zip(cells, to_move, strict=True)]
        return self.player.choose(cells, to_move)


@pytest.mark.row("E5")
@pytest.mark.parametrize("plies", [1, 2, 3])
def test_every_opening_is_played_once_with_either_colour(plies: int) -> None:
    """Paired games."""
    first, second = Recorder(Lowest()), Recorder(Lowest(last=True))
    result = play_match(first, second, size=4, pairs=10, seed=3, opening_plies=plies)
    openings = distinct_openings(4, 10, plies, 3)
    to_move = 1 if plies % 2 == 0 else -1
    for player in (first, second):
        at_start = [(cells, colour) for cells, colour in player.seen if np.count_nonzero(bytearray(cells)) == plies]
        assert sorted(at_start) == sorted((opening.tobytes(), to_move) for opening in openings)
        answers = [colour for cells, colour in player.seen if np.count_nonzero(bytearray(cells)) == plies + 1]
        assert answers == [-to_move] * 10
    assert (result.pairs, result.games) == (10, 20)


@pytest.mark.row("E5")
@pytest.mark.parametrize(("size", "count", "plies"), [(3, 9, 1), (4, 100, 2), (5, 300, 3), (2, 4, 1)])
def test_openings_are_different_alternating_and_undecided(size: int, count: int, plies: int) -> None:
    """A repeated opening would count one game twice."""
    openings = distinct_openings(size, count, plies, seed=1)
    assert len({opening.tobytes() for opening in openings}) == count
    assert (np.count_nonzero(openings, axis=1) == plies).all()
    assert (openings.sum(1) == plies % 2).all()
    assert np.array_equal(openings, distinct_openings(size, count, plies, seed=1))
    assert not np.array_equal(openings, distinct_openings(size, count, plies, seed=2))


def test_more_openings_than_there_are_and_decided_ones_are_refused() -> None:
    with pytest.raises(UsageError, match="10 openings"):
        distinct_openings(3, 10, 1, seed=0)
    with pytest.raises(UsageError, match="4 plies"):
        distinct_openings(4, 1, 4, seed=0)


@pytest.mark.row("E5")
@pytest.mark.parametrize("player", [Lowest(), Perfect(4)], ids=["lowest", "perfect"])
def test_a_player_wins_half_of_the_games_against_itself(player: Player) -> None:
    """Colours are exchanged, so whoever an opening favours, it favours both."""
    assert play_match(player, player, size=4, pairs=12, seed=0).share == 0.5


def referee(first: Player, second: Player, openings: NDArray[np.int8], to_move: int) -> tuple[int, int]:
    """Wins of the first player, and those with Black: the same match game by game, judged by the reference."""
    wins, wins_as_black = 0, 0
    size = round(openings.shape[1] ** 0.5)
    for own in (1, -1):
        for opening in openings:
            cells, colour = opening.copy(), to_move
            while not (won_by := winner(cells.tolist(), size)):
                player = first if colour == own else second
                cells[player.choose(cells[None], np.array([colour], np.int8))[0]] = colour
                colour = -colour
            wins += won_by == own
            wins_as_black += won_by == own == 1
    return wins, wins_as_black


@pytest.mark.row("E5")
@pytest.mark.parametrize("plies", [1, 2])
def test_wins_are_counted_as_a_referee_counts_them(plies: int) -> None:
    first, second = Perfect(4), Lowest()
    openings = distinct_openings(4, 12, plies, seed=5)
    expected = referee(first, second, openings, 1 if plies == 2 else -1)
    result = play_match(first, second, size=4, pairs=12, seed=5, opening_plies=plies)
    assert (result.wins, result.wins_as_black) == expected
    turned = play_match(second, first, size=4, pairs=12, seed=5, opening_plies=plies)
    assert turned.wins == result.games - result.wins
    assert turned.wins_as_black == 12 - (result.wins - result.wins_as_black)


def test_a_perfect_player_beats_a_random_one() -> None:
    """And never loses a game that it can win."""
    perfect = Perfect(4)
    openings = distinct_openings(4, 25, 2, seed=1)
    won_for_black = sum(perfect.solver.wins(opening, 1) for opening in openings)
    result = play_match(perfect, RandomPlayer(seed=3), size=4, pairs=25, seed=1)
    assert result.wins_as_black >= won_for_black
    assert result.wins - result.wins_as_black >= 25 - won_for_black
    assert result.share >= 0.8


def test_the_result_knows_its_share() -> None:
    result = MatchResult(pairs=10, wins=13, wins_as_black=7)
    assert (result.games, result.share) == (20, 0.65)


def test_a_player_that_takes_a_taken_cell_ends_the_match() -> None:
    class Cheat(NeverSwaps):
        def choose(self, cells: NDArray[np.int8], to_move: NDArray[np.int8]) -> NDArray[np.int16]:
            taken: NDArray[np.int16] = np.abs(cells).argmax(1).astype(np.int16)
            return taken

    with pytest.raises(RuntimeError, match="Cheat"):
        play_match(Lowest(), Cheat(), size=4, pairs=2, seed=0)


def test_a_random_player_repeats_itself_with_its_seed_and_plays_every_cell() -> None:
    cells = distinct_openings(4, 100, 2, seed=0)
    colours = np.ones(100, np.int8)
    moves = RandomPlayer(1).choose(cells, colours)
    assert np.array_equal(moves, RandomPlayer(1).choose(cells, colours))
    assert not np.array_equal(moves, RandomPlayer(2).choose(cells, colours))
    one = np.zeros((1, 9), np.int8)
    one[0, 4] = 1
    drawn = [int(RandomPlayer(seed).choose(one, np.array([-1], np.int8))[0]) for seed in range(1600)]
    counts = np.bincount(drawn, minlength=9)
    assert counts[4] == 0
    assert 150 < counts[np.arange(9) != 4].min() <= counts.max() < 250


class Marked:
    """Says that a marked cell of the board is best, given in Black's frame, and knows nothing of values."""

    def __init__(self, cell: int, size: int, swap: bool) -> None:
        self.cell, self.size, self.swap = cell, size, swap

    def evaluate(self, planes: NDArray[np.int8], policy: NDArray[np.float32], value: NDArray[np.float32]) -> None:
        row, column = divmod(self.cell, self.size)
        policy.fill(0.001)
        for i, stones in enumerate(planes[:, :2].sum((2, 3))):
            black = stones[0] == stones[1]
            policy[i, row * self.size + column if black else column * self.size + row] = 0.5
        if self.swap:
            policy[:, -1] = 0.9
        value.fill(0.0)


@pytest.mark.row("E5")
@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("kind", ["policy", "search"])
def test_players_play_the_board_and_not_the_movers_frame(kind: str, swap: bool) -> None:
    """White's moves are turned back, more positions than the evaluator's batch are split, there are no swaps."""
    evaluator = Marked(7, 4, swap)
    player: Player = (
        PolicyPlayer(evaluator, size=4, batch=3, swap=swap)
        if kind == "policy"
        else SearchPlayer(SearchConfig(simulations=1), evaluator, size=4, batch=3, swap=swap)
    )
    cells = np.zeros((8, 16), np.int8)
    cells[4:, 2] = 1
    colours = np.array([1] * 4 + [-1] * 4, np.int8)
    assert player.choose(cells, colours).tolist() == [7] * 8


@pytest.mark.row("E6")
def test_a_player_searches_fewer_games_at_once_when_each_has_several_leaves() -> None:
    """The evaluator's batch stays full-sized."""
    config = SearchConfig(simulations=12, leaves=3)
    cells, colours = distinct_openings(4, 11, 2, seed=0), np.ones(11, np.int8)
    evaluator = Marked(7, 4, False)
    found = SearchPlayer(config, evaluator, size=4, batch=8).search(cells, colours)
    alone = SearchPlayer(config, evaluator, size=4, batch=3).search(cells, colours)
    assert np.array_equal(found.visits, alone.visits)
    with pytest.raises(UsageError, match=r"^search.leaves=3: the evaluator's batch has room for 2$"):
        SearchPlayer(config, evaluator, size=4, batch=2)


@pytest.mark.row("E5")
def test_searched_results_do_not_depend_on_the_split_into_batches() -> None:
    cells = distinct_openings(4, 11, 2, seed=0)
    colours = np.ones(11, np.int8)
    results = [
        SearchPlayer(SearchConfig(simulations=12), RolloutEvaluator(4, 1), size=4, batch=batch).search(cells, colours)
        for batch in (4, 11)
    ]
    for name in vars(results[0]):
        assert np.array_equal(getattr(results[0], name), getattr(results[1], name)), name


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("simulations", 0),
        ("positions", 0),
        ("quick_positions", 0),
        ("every_epochs", -1),
        ("match_pairs", 0),
        ("rollouts", 0),
    ],
)
def test_evaluation_settings_out_of_range_are_refused_by_name(key: str, value: int) -> None:
    with pytest.raises(UsageError, match=f"evaluation.{key}={value}"):
        EvaluationConfig(**{key: value})  # type: ignore[arg-type]


class OfWhite:
    """Likes cell 9 of the mover's frame, or the swap by `liking`; White's value is always `value`."""

    def __init__(self, value: float, liking: float = 0.0) -> None:
        self.value, self.liking = value, liking

    def evaluate(self, planes: NDArray[np.int8], policy: NDArray[np.float32], value: NDArray[np.float32]) -> None:
        own, opponent = planes[:, OWN].sum((1, 2)), planes[:, OPPONENT].sum((1, 2))
        policy.fill(0.01)
        policy[:, 9] = 0.5
        if policy.shape[1] == 17:
            policy[:, 16] = self.liking * planes[:, MAY_SWAP, 0, 0]
        value[:] = np.where(opponent > own, self.value, -self.value)


@pytest.mark.row("E5")
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
    player: Player = (
        PolicyPlayer(evaluator, size=4, batch=3, swap=knows_swap)
        if kind == "policy"
        else SearchPlayer(SearchConfig(simulations=1), evaluator, size=4, batch=3, swap=knows_swap)
    )
    replies = player.reply(np.eye(16, dtype=np.int8)[:5])
    assert replies.dtype == np.int16
    assert replies.tolist() == [16 if swaps else 6] * 5, "White's moves are turned back to the board"
