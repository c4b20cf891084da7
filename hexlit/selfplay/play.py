"""Self-play, compiled: the step of one game when its search has ended.

Every game runs its searches at its pace. When a search has used its budget, the move is
made and the next search begins at once. So no row of the evaluator's batch waits for the other
games.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexlit.hex.arrays import BoolArray, FloatArray, Int16Array
from hexlit.hex.engine import Stones, clear, colour_at, place, play_action
from hexlit.hex.frame import framed
from hexlit.hex.geometry import Geometry
from hexlit.hex.jit import inline, kernel, uncounted_device_function, uncounted_kernel
from hexlit.hex.playout import shuffle
from hexlit.hex.rng import BUDGET, MOVE, NOISE, OPENING, RESIGN, key, uniform
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import AnswerCache, Batch
from hexlit.search.rule import root_result
from hexlit.search.simulate import begin, finished, receive, simulate
from hexlit.search.tree import NONE, Params, Tree, root_value
from hexlit.selfplay.config import SelfPlayConfig

PLAYING, CONNECTED, RESIGNED = 0, 1, 2
"""State of a game."""


TEMPERATURE_FINAL = 0.1
"""Final temperature, also used for moves not searched in full."""
RESIGN_PLIES = 2
"""Moves in a row that must look lost to a player before it resigns."""
RESIGN_OFF_SHARE = 0.1
"""Share of games always played to the end. They measure how often a resignation would have been
wrong.
"""


class Rules(NamedTuple):
    """Settings of self-play for compiled code; see `SelfPlayConfig`."""

    seed: int
    full_simulations: int
    fast_simulations: int
    full_share: float
    temperature: float
    temperature_final: float
    temperature_halflife: float
    opening_share: float
    opening_plies: int
    opening_skew: float
    resign_threshold: float
    resign_plies: int
    resign_off_share: float


SLOT = np.dtype(
    [
        # Number of the game that is played here: the key of its random draws.
        ("game_id", np.int64),
        # Epochs the network had been trained when the game started.
        ("network_version", np.int32),
        # Moves played.
        ("ply", np.int16),
        # Random moves at the start.
        ("opening", np.int16),
        # PLAYING, CONNECTED or RESIGNED.
        ("state", np.int8),
        # +1 or -1 once the game is over.
        ("winner", np.int8),
        # Whether a player may resign in this game.
        ("may_resign", np.bool_),
        # Player who would have resigned first, if that was not allowed.
        ("would_resign", np.int8),
        # Moves in a row at which Black, White saw itself lost.
        ("black_lost", np.int16),
        ("white_lost", np.int16),
    ],
    align=True,
)
"""State of one of the parallel games."""


class GameArrays(NamedTuple):
    """G games in progress, with room for T moves each; policies are over the board's actions."""

    slot: NDArray[np.void]
    """SLOT `[G]`."""
    moves: Int16Array
    """Moves so far, `[G, T]`."""
    values: FloatArray
    """Searched value before each move, for the player who made it, `[G, T]`."""
    simulations: Int16Array
    """Simulations spent on each move; 0 for the random opening, `[G, T]`."""
    full: BoolArray
    """Whether each move was searched in full, so that it is a target, `[G, T]`."""
    policies: FloatArray
    """Searched policy before each move, `[G, T, A]`."""
    row: FloatArray
    """Room for the policy of one search in the mover's frame, `[G, A]`."""


def compiled_rules(
    config: SelfPlayConfig, search: SearchConfig, seed: int, epoch: int = 0
) -> Rules:
    """The settings of `config` for games searched by `search` and begun after `epoch` epochs."""
    return Rules(
        seed=seed,
        full_simulations=search.simulations,
        fast_simulations=min(config.fast_simulations, search.simulations),
        full_share=float(config.full_share),
        temperature=float(config.temperature),
        temperature_final=TEMPERATURE_FINAL,
        temperature_halflife=float(config.temperature_halflife),
        opening_share=float(config.opening_share),
        opening_plies=config.opening_plies,
        opening_skew=1.0 if epoch < config.opening_skew_after else float(config.opening_skew),
        resign_threshold=float(config.resign_threshold),
        resign_plies=RESIGN_PLIES,
        resign_off_share=RESIGN_OFF_SHARE,
    )


def empty_games(games: int, plies: int, actions: int) -> GameArrays:
    """Room for `games` games of up to `plies` moves."""
    return GameArrays(
        slot=np.zeros(games, SLOT),
        moves=np.zeros((games, plies), np.int16),
        values=np.zeros((games, plies), np.float32),
        simulations=np.zeros((games, plies), np.int16),
        full=np.zeros((games, plies), np.bool_),
        policies=np.zeros((games, plies, actions), np.float32),
        row=np.zeros((games, actions), np.float32),
    )


FULL, FAST = 0, 1
"""Budgets of a search: of moves searched in full, and of the others."""


@inline
def temperature(ply: int, rules: Rules) -> float:
    """Temperature of the move after `ply` moves."""
    share = 0.5 ** (ply / rules.temperature_halflife)
    return float(rules.temperature_final + (rules.temperature - rules.temperature_final) * share)


@uncounted_device_function
def begin_search(games: GameArrays, tree: Tree, g: int, rules: Rules) -> None:
    """Start the search for the next move of game `g`, with its draw of a full or a fast budget.

    A fast move (Wu 2019) teaches no policy. It is played at the final temperature, which also
    scales its noise: exploring there would only blur the results that values are learned from.
    """
    slot = games.slot[g]
    ply = int(slot.ply)
    full = uniform(key(rules.seed, slot.game_id, ply, BUDGET), 0) < rules.full_share
    budget, kind = (rules.full_simulations, FULL) if full else (rules.fast_simulations, FAST)
    noise = temperature(ply, rules) if full else rules.temperature_final
    begin(
        tree, g, colour_at(ply), ply, budget, kind, noise, key(rules.seed, slot.game_id, ply, NOISE)
    )


@kernel
def start_game(
    games: GameArrays, stones: Stones, tree: Tree, g: int, rules: Rules, table: Geometry
) -> None:
    """Begin the game of slot `g`, in which only its number is set: its random opening, if any, and
    its first search.
    """
    slot = games.slot[g]
    game_id = int(slot.game_id)
    slot.may_resign = uniform(key(rules.seed, game_id, 0, RESIGN), 0) >= rules.resign_off_share
    k = key(rules.seed, game_id, 0, OPENING)
    plies = 0
    if rules.opening_plies > 0 and uniform(k, 0) < rules.opening_share:
        plies = 1 + int(uniform(k, 1) ** rules.opening_skew * rules.opening_plies)
    cells = table.size * table.size
    order = np.arange(cells).astype(np.int16)
    shuffle(order, cells, key(rules.seed, game_id, 1, OPENING))
    plies = min(plies, undecided_plies(stones, g, order[: min(plies, cells)], table))
    clear(stones, g)
    for ply in range(plies):
        place(stones, g, order[ply], colour_at(ply), table)
        games.moves[g, ply] = order[ply]
        games.values[g, ply] = 0.0
        games.simulations[g, ply] = 0
        games.full[g, ply] = False
    slot.ply = plies
    slot.opening = plies
    begin_search(games, tree, g, rules)


@inline
def undecided_plies(stones: Stones, g: int, order: Int16Array, table: Geometry) -> int:
    """Number of moves of `order` that can be played in turn before a player wins."""
    clear(stones, g)
    for ply in range(order.size):
        if place(stones, g, order[ply], colour_at(ply), table):
            return ply
    return order.size


@inline
def sampled_action(policy: FloatArray, temperature: float, draw: float) -> int:
    """Action drawn with probability proportional to policy^(1 / temperature); `draw` lies in [0,
    1).
    """
    highest = np.float32(0.0)
    for action in range(policy.size):
        highest = max(highest, policy[action])
    total = 0.0
    for action in range(policy.size):
        total += (policy[action] / highest) ** (1.0 / temperature)
    left = draw * total
    last = NONE
    for action in range(policy.size):
        if policy[action] > 0.0:
            last = action
            left -= (policy[action] / highest) ** (1.0 / temperature)
            if left < 0.0:
                break
    return last


@inline
def looks_lost(games: GameArrays, g: int, value: float, colour: int, rules: Rules) -> bool:
    """Count the successive moves with a lost value for `colour`; True if it resigns now."""
    slot = games.slot[g]
    lost = value < -rules.resign_threshold
    in_a_row = (1 + (slot.black_lost if colour > 0 else slot.white_lost)) if lost else 0
    if colour > 0:
        slot.black_lost = in_a_row
    else:
        slot.white_lost = in_a_row
    if in_a_row < rules.resign_plies:
        return False
    if not slot.may_resign and slot.would_resign == 0:
        slot.would_resign = colour
    return bool(slot.may_resign)


@uncounted_device_function
def finish_move(
    games: GameArrays,
    stones: Stones,
    tree: Tree,
    g: int,
    rules: Rules,
    params: Params,
    table: Geometry,
) -> None:
    """Make the move that the finished search of game `g` found, and begin the next search or end
    the game.
    """
    slot, row = games.slot[g], games.row[g]
    ply = int(slot.ply)
    colour = colour_at(ply)
    temperature = float(tree.game[g].noise)
    action = root_result(tree, g, row, params.rule)
    value = root_value(tree, g, action)
    if params.draws_move and temperature > 0.0:
        action = sampled_action(
            row, temperature, uniform(key(rules.seed, slot.game_id, ply, MOVE), 0)
        )
    for a in range(row.size):
        games.policies[g, ply, framed(a, colour, table)] = row[a]
    games.values[g, ply] = value
    games.simulations[g, ply] = tree.game[g].budget
    games.full[g, ply] = tree.game[g].schedule == FULL
    tree.game[g].nodes = 0
    if looks_lost(games, g, value, colour, rules):
        slot.state, slot.winner = RESIGNED, -colour
        return
    games.moves[g, ply] = framed(action, colour, table)
    slot.ply = ply + 1
    if play_action(stones, g, action, colour, table):
        slot.state, slot.winner = CONNECTED, colour
    else:
        begin_search(games, tree, g, rules)


@uncounted_kernel
def advance_games(
    first: int,
    last: int,
    games: GameArrays,
    stones: Stones,
    tree: Tree,
    walk: Stones,
    batch: Batch,
    cache: AnswerCache,
    rules: Rules,
    params: Params,
    table: Geometry,
) -> tuple[int, int]:
    """Run the games `first` to `last` - 1 to their next leaves; make a move whenever a search ends.

    Returns how many games are over, and how many leaves found their answer in `cache`. `stones`
    holds the positions of the games: the roots of the searches. `batch` answers the leaves that the
    last call left in its planes.
    """
    over, recalled = 0, 0
    for g in range(first, last):
        receive(tree, g, batch, params)
        while games.slot[g].state == PLAYING and tree.game[g].leaf == NONE:
            if finished(tree, g):
                finish_move(games, stones, tree, g, rules, params, table)
            else:
                recalled += simulate(tree, stones, walk, g, batch, cache, params, table)
        over += games.slot[g].state != PLAYING
    return over, recalled


@uncounted_kernel
def restart_searches(games: GameArrays, tree: Tree, rules: Rules) -> None:
    """Start the running searches again, because the network has changed."""
    for g in range(tree.game.size):
        begin_search(games, tree, g, rules)
