"""The task `hex`: a policy/value network, its training games, its rating, and the measure of its
strength.
"""

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol, cast

import lightning as L
import torch
from lightning.pytorch.callbacks import LambdaCallback
from rich.console import Console

from hexlit.accelerate.collectives import on_writer
from hexlit.accelerate.profile import DeviceProfile
from hexlit.accelerate.ranks import ranks
from hexlit.arena.players import PLAYOUTS, Player, RandomPlayer, SearchPlayer
from hexlit.arena.ratings import NEARLY, RatingPool, macs_to_perfect
from hexlit.hex.jit import use_threads
from hexlit.hex.notation import format_moves
from hexlit.nets.config import NetConfig
from hexlit.nets.evaluator import measure_agreement
from hexlit.nets.tower import HexNet, forward_flops
from hexlit.reporting.board_svg import board_picture, moves_svg
from hexlit.reporting.page import OpeningsBoard
from hexlit.reporting.run_files import read_run
from hexlit.reporting.strength import hex_sections
from hexlit.search.evaluator import Evaluator, RolloutEvaluator
from hexlit.selfplay.placement import (
    EvaluatorHost,
    Players,
    Weights,
    as_arrays,
    as_tensors,
    weights_of,
)
from hexlit.selfplay.store import part_files
from hexlit.tasks.hex.checkpoint import load_network
from hexlit.tasks.hex.config import HexTrainConfig
from hexlit.tasks.hex.data import GamesDataModule, HexDataModule
from hexlit.tasks.hex.module import HexModule
from hexlit.tasks.hex.packaged import network_file
from hexlit.tasks.hex.selfplay_data import UNITS, SelfPlayDataModule
from hexlit.tasks.hex.warmup import HexWarmup
from hexlit.tasks.supervised import ShownTask
from hexlit.tracking.identity import Identity
from hexlit.tracking.metric_names import Metric
from hexlit.tracking.tracked_run import Files
from hexlit.training.checkpoints import check_same, save_whole
from hexlit.training.evaluation import is_last
from hexlit.training.loggers import checkpoint_files, wandb_rows
from hexlit.training.phases import Phase
from hexlit.training.task import Evaluation, Session

log = logging.getLogger(__name__)
CHECKED_POSITIONS = 1000
"""Positions for comparing the number format of self-play with float32 at the end of a run."""
GAMES = "games"
"""Kind of the artifacts with games."""
COLUMNS = ("epoch", "game", "network_version", "length", "winner", "ended", "moves", "board")
SAMPLES = 4
"""Games in a table."""
COLOURS = {1: "Black", -1: "White", 0: "unknown"}
LOWEST = (
    "strength.*_brier",
    "strength.*_log_loss",
    "strength.*_error",
    "val.value_brier",
    "val.value_*_error",
)
HIGHEST = ("openings_right", "optimality", "_accuracy", "_share", "elo_to_perfect")
IsDue = Callable[[L.Trainer], bool]
"""Whether the epoch that ends now is measured."""


class StrengthMeasure(Protocol):
    """Measures networks, against the exact truth too.

    It is given to the task, as code that learns must not reach the truth.
    """

    batch: int
    """Positions per call of the evaluators to measure."""

    def measure(self, evaluator: Evaluator, *, final: bool) -> Mapping[str, Any]:
        """Figures of the network behind `evaluator`; the `final` ones use other positions."""


class HexTask(ShownTask):
    """Teaches a network Hex, from nothing or from recorded games, and measures its strength."""

    unit = "positions"
    units = UNITS
    shown = ("loss", "comparable_loss", "top1_accuracy")
    metrics = (
        *(Metric(f"selfplay.{name}", axis=True) for name in ("games", "positions")),
        Metric("games.*", "data/*"),
        *(Metric(name, best="min") for name in LOWEST),
        Metric("strength.openings", best=None),
        Metric("strength.macs_to_perfect", best="min"),
        *(Metric(f"strength.*{name}", best="max") for name in HIGHEST),
        *(Metric(name, best="max") for name in ("val.*_accuracy", "strength.score", "rating.elo")),
    )
    fresh_data = True
    sections = hex_sections
    config: HexTrainConfig
    module: HexModule
    data: HexDataModule

    def __init__(
        self,
        config: HexTrainConfig,
        console: Console,
        warmup: HexWarmup,
        make_strength: Callable[[DeviceProfile], StrengthMeasure],
        least: Mapping[str, float] | None,
    ) -> None:
        """Output goes to `console`.

        The figures `least` of the strength end a run when all are reached; None without a target.
        """
        super().__init__(config, console)
        self._warmup = warmup
        self._make_strength = make_strength
        self._least = least
        self._waited_seconds = 0.0
        self.rare = ["rating"] if config.evaluation.pool.every_epochs else []
        self._closing: list[HexWarmup | HexDataModule] = [warmup]

    def set_up(self, session: Session) -> None:
        config = self.config
        profile = session.profile
        use_threads(profile.threads)
        profile.apply()
        self.session = session
        self._flops = cache(partial(forward_flops, config.net))
        self.module = HexModule(config, profile)
        if config.init_from is not None and session.first_epoch == 0:
            self.module.begin_with(load_network(config.init_from, "init_from").net)
        self.data = make_data(config, session, self.console, self._warmup.players)
        self.module.other_processes = self.data.other_processes
        self._closing.append(self.data)
        profile.with_memory_share(self.data.memory_share).apply()
        self._strength = self._make_strength(profile)
        self._host = EvaluatorHost(
            config.net,
            size=config.board,
            swap=config.swap,
            batch=self._strength.batch,
            profile=profile,
        )

    def forward_flops(self) -> int:
        return self._flops(self.config.board)

    def training_flops(self) -> int:
        return self._flops(self.data.size)

    def data_flops(self) -> int:
        return sum(count * self._flops(size) for size, count in self.data.evaluations.items())

    def check_resume(self, saved: Mapping[str, Any], folder: Path) -> None:
        config = self.config
        was = {
            "board": saved["size"],
            "swap": saved["swap"],
            "targets": sorted(saved["targets"]),
            "net": asdict(NetConfig(**saved["net"])),
        }
        now = {
            "board": config.board,
            "swap": config.swap,
            "targets": sorted(config.targets),
            "net": asdict(config.net),
        }
        check_same(folder, was, now)

    def prepare(self, phase: Phase) -> None:
        self._warmup.first.wait(partial(_show_detail, phase))
        self.data.prepare()

    def evaluation(self) -> Evaluation:
        config = self.config.evaluation
        if config.target.enabled and self._least is None:
            log.info(
                "this run does all its epochs: without solved openings or evaluations, it has no target"
            )
        begin_after = min(config.begin_after, self.config.trainer.max_epochs // 5)
        return Evaluation(
            "strength",
            self._measure,
            config.every_epochs,
            self._least,
            config.target.evaluations,
            begin_after,
        )

    def _measure(self, final: bool) -> Mapping[str, Any]:
        evaluator = self._host.refreshed(weights_of(self.module.net_in_use))
        self._measured = figures = dict(self._strength.measure(evaluator, final=final))
        elo = figures.get("elo_to_perfect")
        if elo is not None and self.data_flops():
            earlier = read_run(self.session.folder)
            was = zip(
                earlier.column("strength.elo_to_perfect"),
                earlier.column("cost.actor_macs"),
                strict=False,
            )
            near = (macs for rating, macs in was if rating is not None and rating >= -NEARLY)
            figures["macs_to_perfect"] = next(near, macs_to_perfect(self.data_flops() / 2, elo))
        return figures

    def before_evaluation(self, is_due: IsDue) -> list[L.Callback]:
        self._is_due = is_due
        return [LambdaCallback(on_train_epoch_end=self._wait_for_kernels)]

    def losses_compare(self) -> bool:
        return self.data.size == self.config.board

    def _wait_for_kernels(self, trainer: L.Trainer, module: L.LightningModule) -> None:
        """Before an evaluation, wait for its kernels, as the phase `compiling`."""
        kernels = self._warmup.later
        if not kernels.running or not self._is_due(trainer):
            return
        with self.session.clock.phase("compiling", trainer.current_epoch) as phase:
            kernels.wait(partial(_show_detail, phase))
            self._waited_seconds = phase.wall_seconds

    def callbacks(self) -> list[L.Callback]:
        rated = self.config.evaluation.pool.every_epochs
        media = LambdaCallback(on_train_epoch_end=self._show_media)
        return [media, *([RatingPhase(self.config, self.module, self.session)] if rated else [])]

    def _show_media(self, trainer: L.Trainer, module: L.LightningModule) -> None:
        """Log the maps of openings, by the search and by the value alone, where they were measured;
        and some games.
        """
        logger = wandb_rows(trainer.loggers)
        step = trainer.current_epoch
        if logger is None or not logger.tracked.media or not self._is_due(trainer):
            return
        for key in ("opening_map", "value_opening_map"):
            if key in self._measured:
                board = OpeningsBoard("", self._measured[key], self._measured.get("opening_truth"))
                logger.tracked.picture(f"strength/{key}", board_picture(board)[1], step)
        rows = []
        for record in self.data.some_games(SAMPLES):
            moves = record.moves.tolist()
            size = record.size
            winner = COLOURS[record.winner]
            facts = [
                step,
                record.game_id,
                record.network_version,
                len(moves),
                winner,
                str(record.ending),
            ]
            rows.append([*facts, format_moves(moves, size), moves_svg(moves, size)])
        if rows:
            logger.tracked.table("games/samples", COLUMNS, rows, step)

    def figures(self) -> Mapping[str, Mapping[str, float]]:
        return {self.config.data.source: self.data.figures()}

    def used(self, identity: Identity) -> list[Files]:
        """The games of the run and recorded ones, named by their places, and `init_from`.

        Games of self-play belong to the run `identity`; a store of recorded games has one name for
        all runs.
        """
        config = self.config
        files = []
        if config.data.source != GAMES:
            counted = {
                name: count
                for name, count in self.data.summary().items()
                if name in ("games", "positions")
            }
            facts = {
                "board": config.board,
                "swap": config.swap,
                "source": config.data.source,
                **counted,
            }
            files.append(
                Files(
                    identity.artifact(GAMES),
                    GAMES,
                    self.data.files(),
                    metadata=facts,
                    reference=True,
                )
            )
        if config.data.path is not None:
            store = Path(config.data.path).resolve()
            name = re.sub(r"[^\w.-]+", "-", store.name)
            place = {"path": str(store)}
            files.append(
                Files(f"{GAMES}-{name}", GAMES, part_files(store), metadata=place, reference=True)
            )
        if config.init_from is not None:
            files.append(checkpoint_files(network_file(config.init_from, "init_from")))
        return files

    def cpu_seconds(self) -> float:
        return self.data.cpu_seconds()

    def finish(self) -> Mapping[str, Any]:
        """Difference between the number format of self-play and float32, over positions of the
        data.

        None without positions, and if that format is float32 itself.
        """
        planes = self.data.some_planes(CHECKED_POSITIONS)
        evaluator = self._host.refreshed(weights_of(self.module.net_in_use))
        if not len(planes) or evaluator.dtype == torch.float32:
            return {"precision": None}
        name = str(evaluator.dtype).removeprefix("torch.")
        agreement = measure_agreement(cast(HexNet, self.module.net_in_use), evaluator, planes)
        if not agreement.good_enough:
            exact = "accelerator.inference_precision=fp32 is exact, and slower"
            others = f"{1 - agreement.same_move:.1%} of {agreement.positions} positions"
            log.warning("%s chooses another move than float32 in %s; %s", name, others, exact)
        return {"precision": {"format": name, **asdict(agreement)}}

    def summary(self) -> Mapping[str, Any]:
        kernels = {
            "first_seconds": self._warmup.first.seconds,
            "beside_seconds": self._warmup.later.seconds,
            "waited_seconds": self._waited_seconds,
        }
        return {"board": self.config.board, **self.data.summary(), "kernels": kernels}

    def engine(self) -> str:
        if self.config.data.source != GAMES:
            return f"self-play {self._host.description}"
        return f"evaluation {self._host.description}" if self.config.evaluation.every_epochs else ""

    def close(self) -> None:
        for one in self._closing:
            one.close()


def make_data(
    config: HexTrainConfig, session: Session, console: Console, players: Players | None
) -> HexDataModule:
    """The data of a run: its own games, recorded ones, or both; the account of recorded ones goes
    to `console`.
    """
    others = None
    if config.data.path is not None:
        recorded = GamesDataModule(config, session.profile)
        trains_on_games = config.data.source == "games"
        line, mostly_left_out = recorded.account(validates=trains_on_games)
        if not mostly_left_out:
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        elif ranks().writes:
            log.warning("most games are left out; %s", line)
        if trains_on_games:
            return recorded
        others = recorded.training
    assert players is not None
    return SelfPlayDataModule(config, session, players, others)


def _show_detail(phase: Phase, detail: str) -> None:
    phase.detail = detail
    phase.advance(0)


class RatingPhase(L.Callback):
    """Rates the network after every `evaluation.pool.every_epochs` epochs and after the last; logs
    `rating.*`.

    Networks play with the evaluation's search. Two players are fixed: random play, which is the
    anchor, and search with random playouts.
    """

    def __init__(self, config: HexTrainConfig, module: HexModule, session: Session) -> None:
        """The network of `module` is rated."""
        evaluation = config.evaluation
        size = config.board
        board = {"size": size, "batch": evaluation.pool.pairs}
        self._every = evaluation.pool.every_epochs
        self._module = module
        self._session = session
        search = replace(config.search, simulations=evaluation.simulations)

        def network_player() -> Callable[[Weights], Player]:
            host = EvaluatorHost(config.net, swap=config.swap, profile=session.profile, **board)
            return lambda weights: SearchPlayer(
                search, host.refreshed(weights), swap=config.swap, **board
            )

        self._own, other = network_player(), network_player()
        rollouts = RolloutEvaluator(PLAYOUTS, evaluation.seed)
        fixed: dict[str, Player] = {"random": RandomPlayer(evaluation.seed)}
        fixed["rollouts"] = SearchPlayer(search, rollouts, swap=False, **board)

        def restored(path: Path) -> Player:
            return other(as_arrays(torch.load(path, map_location="cpu", weights_only=True)))

        self._pool = RatingPool(
            session.folder, evaluation.pool, fixed, restored, size=size, seed=evaluation.seed
        )
        self._pool.resume(session.first_epoch)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Rate, when a rating is due."""
        epoch = trainer.current_epoch
        if not is_last(trainer) and (epoch + 1) % self._every:
            return
        with self._session.clock.phase("rating", epoch):
            figures = on_writer(lambda: self._rate(epoch))
        pl_module.log_dict({f"rating.{name}": value for name, value in figures.items()})
        self._session.display.update(epoch=epoch, figures={"elo": figures["elo"]})

    def _rate(self, epoch: int) -> dict[str, float]:
        weights = weights_of(self._module.net_in_use)
        rating = self._pool.play(
            epoch, self._own(weights), lambda path: save_whole(as_tensors(weights), path)
        )
        return {
            "elo": float(rating.elo),
            "elo_low": float(rating.low),
            "elo_high": float(rating.high),
        }
