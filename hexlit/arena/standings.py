"""Result of a match: ratings, scores and the cross table, as plain values for JSON and for tables."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from hexlit.arena.game_log import GameLog
from hexlit.arena.ratings import Rating, rate
from hexlit.arena.sprt import Sprt
from hexlit.hex.record import Ending


def standings(
    names: Sequence[str],
    pairings: Sequence[tuple[str, str]],
    log: GameLog,
    anchor: str,
    *,
    sprt: Sprt | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """The standings from the games of `log`; `seed` is that of the ratings' intervals.

    `players` lists, best first, `name`, `elo`, `low`, `high`, `bound`, `games`, `wins`, `score` and `played`. The last
    holds the same of the pairs without a forfeit, None if all have one or nothing was forfeited. `cross` holds `games`
    and `wins` by player and opponent. Counts are `games`, `pairs`, `split_pairs` (one game won by each player),
    `black_wins`, `swaps`, `resignations` and `forfeits`. `sprt` is None without a test. Players are rated once all of
    them have played.
    """
    results = {pairing: log.counts(*pairing) for pairing in pairings}
    met = [pairing for pairing, counts in results.items() if sum(counts)]
    playing = [name for name in names if any(name in pairing for pairing in met)]
    games = log.games
    cross = {name: {} for name in names}  # type: dict[str, dict[str, dict[str, int]]]
    for game in games:
        for name, opponent in ((game.black, game.white), (game.white, game.black)):
            cell = cross[name].setdefault(opponent, {"games": 0, "wins": 0})
            cell["games"] += 1
            cell["wins"] += game.won_by == name
    ratings = rate(names, results, anchor, seed=seed) if len(playing) == len(names) else []
    played = _played(names, pairings, log, anchor, seed)
    players = [{**_row(rating), "played": played.get(rating.name)} for rating in ratings]
    return {
        "anchor": anchor,
        "players": sorted(players, key=lambda player: -player["elo"]),
        "cross": cross,
        "games": len(games),
        "pairs": len(games) // 2,
        "split_pairs": sum(counts[1] for counts in results.values()),
        "black_wins": sum(game.winner > 0 for game in games),
        "swaps": sum(log.size**2 in game.moves for game in games),
        "resignations": sum(game.ending is Ending.RESIGNED for game in games),
        "forfeits": [
            {
                "loser": game.white if game.winner > 0 else game.black,
                "black": game.black,
                "white": game.white,
                "pair": game.pair,
                "note": game.note,
            }
            for game in games
            if game.ending is Ending.FORFEITED
        ],
        "sprt": None if sprt is None else _tested(sprt, pairings[0], log),
    }


def _row(rating: Rating) -> dict[str, Any]:
    return {**asdict(rating), "score": rating.wins / rating.games}


def _played(
    names: Sequence[str], pairings: Sequence[tuple[str, str]], log: GameLog, anchor: str, seed: int
) -> dict[str, dict[str, Any]]:
    """Ratings by the pairs without a forfeit, by name; empty if no game was forfeited, or too few pairs are left."""
    if not any(game.ending is Ending.FORFEITED for game in log.games):
        return {}
    results = {pairing: log.counts(*pairing, forfeited=False) for pairing in pairings}
    try:
        return {rating.name: _row(rating) for rating in rate(names, results, anchor, seed=seed)}
    except ValueError:  # without the forfeited games some players cannot be compared
        return {}


def _tested(sprt: Sprt, pairing: tuple[str, str], log: GameLog) -> dict[str, Any]:
    counts = log.counts(*pairing)
    return {
        "elo0": sprt.config.elo0,
        "elo1": sprt.config.elo1,
        "alpha": sprt.config.alpha,
        "beta": sprt.config.beta,
        "log_likelihood_ratio": sprt.ratio(counts),
        "lower": sprt.lower,
        "upper": sprt.upper,
        "pairs": counts,
        "accepted": sprt.decision(counts) or None,
    }
