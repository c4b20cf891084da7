"""The rating of a training run's network against earlier ones: players, networks on disk, and the callback."""

from dataclasses import replace
from pathlib import Path

import lightning as L
import torch

from hexlit.accelerate.together import on_writer
from hexlit.arena.match import Player
from hexlit.arena.players import RandomPlayer, SearchPlayer
from hexlit.arena.pool import RatingPool
from hexlit.search.evaluator import RolloutEvaluator
from hexlit.tasks.hex.config import HexTrainConfig
from hexlit.tasks.hex.module import HexModule
from hexlit.tasks.hex.players import EvaluatorHost, Weights, weights_of
from hexlit.training.checkpoint_files import save_whole
from hexlit.training.task import Session


class RatingPhase(L.Callback):
    """Rates the network after every `evaluation.pool.every_epochs` epochs and after the last; logs `rating.*`.

    Networks play with the evaluation's search. Two players are fixed: random play, which is the anchor, and search with
    random playouts.
    """

    def __init__(self, config: HexTrainConfig, module: HexModule, session: Session) -> None:
        """The network of `module` is rated."""
        evaluation, self._config, self._module, self._session = config.evaluation, config, module, session
        self._search = replace(config.search, simulations=evaluation.simulations)
        games = evaluation.pool.pairs
        self._own, self._other = (
            EvaluatorHost(config.net, size=config.board, swap=config.swap, batch=games, profile=session.profile)
            for _ in range(2)
        )
        rollouts = RolloutEvaluator(evaluation.rollouts, evaluation.seed)
        fixed: dict[str, Player] = {
            "random": RandomPlayer(evaluation.seed),
            "rollouts": SearchPlayer(self._search, rollouts, size=config.board, batch=games),
        }
        self._pool = RatingPool(
            session.folder,
            evaluation.pool,
            fixed,
            lambda path: self._player(self._other, load_weights(path)),
            size=config.board,
            seed=evaluation.seed,
        )
        self._pool.resume(session.first_epoch)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Rate, when a rating is due."""
        epoch = trainer.current_epoch
        last = trainer.should_stop or epoch + 1 == trainer.max_epochs
        if not last and (epoch + 1) % self._config.evaluation.pool.every_epochs:
            return
        with self._session.clock.phase("rating", epoch):
            figures = on_writer(lambda: self._rate(epoch))
        pl_module.log_dict({f"rating.{name}": value for name, value in figures.items()})
        self._session.display.update(epoch=epoch, figures={"elo": figures["elo"]})

    def _rate(self, epoch: int) -> dict[str, float]:
        weights = weights_of(self._module.net_in_use)
        rating = self._pool.play(epoch, self._player(self._own, weights), lambda path: save_weights(path, weights))
        return {"elo": float(rating.elo), "elo_low": float(rating.low), "elo_high": float(rating.high)}

    def _player(self, host: EvaluatorHost, weights: Weights) -> Player:
        config = self._config
        games = config.evaluation.pool.pairs
        return SearchPlayer(self._search, host.refreshed(weights), size=config.board, batch=games, swap=config.swap)


def save_weights(path: Path, weights: Weights) -> None:
    """Save the state of a network, whole or not at all."""
    save_whole({name: torch.from_numpy(array) for name, array in weights.items()}, path)


def load_weights(path: Path) -> Weights:
    """Read the weights that `save_weights` wrote."""
    weights = torch.load(path, map_location="cpu", weights_only=True)
    return {name: tensor.numpy() for name, tensor in weights.items()}
