"""The rating pool of a training run: its players, their networks on disk, and the callback that plays."""

from dataclasses import replace
from pathlib import Path

import lightning as L
import torch

from hexlit.arena.players import Player, RandomPlayer, SearchPlayer
from hexlit.arena.ratings import RatingPool
from hexlit.commands.rating_phase import RatingPhase
from hexlit.search.evaluator import RolloutEvaluator
from hexlit.tasks.hex.host import EvaluatorHost, Weights, weights_of
from hexlit.tasks.hex.module import HexModule
from hexlit.tasks.hex.train_config import HexTrainConfig
from hexlit.training.checkpoint_files import save_whole
from hexlit.training.task import Session


def rating_callbacks(config: HexTrainConfig, module: HexModule, session: Session) -> list[L.Callback]:
    """The callback that rates the network of `module`; none if `evaluation.pool.every_epochs` is 0.

    Networks play with the evaluation's search. Two players are fixed: random play, which is the anchor, and search with
    random playouts.
    """
    evaluation = config.evaluation
    if not evaluation.pool.every_epochs:
        return []
    games = evaluation.pool.pairs
    search = replace(config.search, simulations=evaluation.simulations)
    size, swap = config.board, config.swap
    own, other = (
        EvaluatorHost(config.net, size=size, swap=swap, batch=games, profile=session.profile) for _ in range(2)
    )

    def playing(host: EvaluatorHost, weights: Weights) -> Player:
        return SearchPlayer(search, host.refreshed(weights), size=size, batch=games, swap=swap)

    rollouts = RolloutEvaluator(evaluation.rollouts, evaluation.seed)
    fixed: dict[str, Player] = {
        "random": RandomPlayer(evaluation.seed),
        "rollouts": SearchPlayer(search, rollouts, size=size, batch=games),
    }
    pool = RatingPool(
        session.folder,
        evaluation.pool,
        fixed,
        lambda path: playing(other, load_weights(path)),
        size=size,
        seed=evaluation.seed,
    )
    pool.resume(session.first_epoch)

    def rate(epoch: int) -> dict[str, float]:
        weights = weights_of(module.net_in_use)
        rating = pool.play(epoch, playing(own, weights), lambda path: save_weights(path, weights))
        return {"elo": rating.elo, "elo_low": rating.low, "elo_high": rating.high}

    return [RatingPhase(rate, session.clock, session.display, every_epochs=evaluation.pool.every_epochs)]


def save_weights(path: Path, weights: Weights) -> None:
    """Save the state of a network, whole or not at all."""
    save_whole({name: torch.from_numpy(array) for name, array in weights.items()}, path)


def load_weights(path: Path) -> Weights:
    """Read the weights that `save_weights` wrote."""
    kept = torch.load(path, map_location="cpu", weights_only=True)
    return {name: tensor.numpy() for name, tensor in kept.items()}
