"""The task `hex`: a policy/value network, its training games, and the measure of its strength."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, cast

import lightning as L
import numba
from rich.console import Console

from hexlit.accelerate.ranks import ranks
from hexlit.arena.strength import Strength, evaluation_batch, proof_of
from hexlit.commands.compiling import Compiling
from hexlit.commands.hex_data import make_data, show_account
from hexlit.commands.hex_lineage import used_games
from hexlit.commands.hex_media import METRICS, HexMedia
from hexlit.commands.hex_prelude import sets_to_measure
from hexlit.commands.rating_pool import rating_callbacks
from hexlit.commands.run_kernels import KernelsPhase, RunKernels
from hexlit.errors import UsageError
from hexlit.files import cache_folder
from hexlit.nets.config import AUXILIARY, saved_config
from hexlit.nets.evaluator import measure_agreement
from hexlit.nets.tower import HexNet, forward_flops, training_flops
from hexlit.reporting.ending import print_ending
from hexlit.reporting.summary import print_summary
from hexlit.tasks.hex.checkpoint import load_network
from hexlit.tasks.hex.data_module import HexDataModule
from hexlit.tasks.hex.host import EvaluatorHost, weights_of
from hexlit.tasks.hex.module import HexModule
from hexlit.tasks.hex.train_config import HexTrainConfig
from hexlit.tracking.identity import Identity
from hexlit.tracking.tracked_run import Files
from hexlit.training.phases import Phase
from hexlit.training.task import Evaluation, Session, Task

log = logging.getLogger(__name__)

CHECKED_POSITIONS = 1000
"""Positions for comparing the number format of self-play with float32 at the end of a run."""


class HexTask(Task):
    """Teaches a network Hex, from nothing or from recorded games, and measures it against the exact truth.

    It is here and not beside its module and its data: code that learns must not reach the truth.
    """

    unit = "positions"
    units = ("games", "positions", "evaluations")
    shown = ("loss", "comparable_loss", "top1_accuracy")
    metrics = METRICS
    fresh_data = True
    module: HexModule
    data: HexDataModule

    def __init__(self, config: HexTrainConfig, console: Console, compiling: Compiling) -> None:
        """Output goes to `console`; the first kernels are `compiling`."""
        self._config = config
        self._console = console
        self._kernels = RunKernels(compiling, sets_to_measure(config) if ranks().writes else [])
        self._closing: list[Callable[[], None]] = [self._kernels.close]

    def set_up(self, session: Session) -> None:
        config, profile = self._config, session.profile
        # Numba first: when it starts its threads, it gives OpenMP, which torch shares, all cores again.
        numba.set_num_threads(min(profile.threads, numba.config.NUMBA_NUM_THREADS))
        profile.apply()
        self._session = session
        self.module = HexModule(
            config.net,
            config.optimizer,
            config.trainer,
            profile,
            size=config.board,
            swap=config.swap,
            policy_weight=config.policy_weight,
            value_weight=config.value_weight,
            auxiliary=config.auxiliary,
        )
        if config.init_from is not None and session.first_epoch == 0:
            self.module.begin_with(load_network(config.init_from, "init_from").net)
        show = partial(show_account, self._console)
        self.data = make_data(config, profile, session.folder / "games", session.clock, session.deadline, show)
        self._closing.append(self.data.close)
        profile.on(profile.device, self.data.memory_share).apply()
        batch = evaluation_batch(config.evaluation, config.board, profile.evaluation_batch)
        self._strength = Strength(
            config.evaluation,
            config.search,
            size=config.board,
            swap=config.swap,
            batch=batch,
            cache=cache_folder() / "truth",
        )
        self._host = EvaluatorHost(config.net, size=config.board, swap=config.swap, batch=batch, profile=profile)

    def forward_flops(self) -> int:
        return forward_flops(self._config.net, self._config.board)

    def training_flops(self) -> int:
        return training_flops(self._config.net, self._config.board, list(self._config.auxiliary))

    def check_resume(self, saved: Mapping[str, Any], folder: Path) -> None:
        config = self._config
        for name, value in (("board", config.board), ("swap", config.swap)):
            was = saved["size" if name == "board" else name]
            if was != value:
                raise UsageError(
                    f"{name}={value}: the run in {folder} was started with {name}={was}; keep it to resume"
                )
        if saved_config(saved["net"]) != config.net:
            raise UsageError(f"net: the run in {folder} was started with {saved['net']}; keep it to resume")
        for name in AUXILIARY:
            was = name in saved.get("auxiliary", ())  # checkpoints from before these heads have none
            if was != (name in config.auxiliary):
                weight = f"{name}_weight={getattr(config, f'{name}_weight')}"
                begun = f"with this head; keep {name}_weight above 0" if was else f"without it; keep {name}_weight=0"
                raise UsageError(f"{weight}: the run in {folder} was started {begun} to resume")

    def prepare(self, phase: Phase) -> None:
        self._kernels.begin(phase)
        self.data.prepare()

    def evaluation(self) -> Evaluation:
        config = self._config.evaluation
        least = proof_of(config, self._config.board)
        if config.proof.enabled and least is None:
            log.info(
                "this run does all its epochs: without solved openings, or without evaluations, nothing can prove it"
            )
        return Evaluation("strength", self._measure, config.every_epochs, least, config.proof.evaluations)

    def _measure(self, final: bool) -> Mapping[str, Any]:
        evaluator = self._host.refreshed(weights_of(self.module.net_in_use))
        self._media.figures = figures = self._strength.measure(evaluator, final=final)
        return figures

    def before_evaluation(self, is_due: Callable[[L.Trainer], bool]) -> list[L.Callback]:
        self._media = HexMedia(self.data.some_games, is_due)
        return [KernelsPhase(self._kernels, self._session.clock, is_due)]

    def callbacks(self) -> list[L.Callback]:
        return [self._media, *rating_callbacks(self._config, self.module, self._session)]

    def figures(self) -> Mapping[str, Mapping[str, float]]:
        return {self._config.data.source: self.data.figures()}

    def used(self, identity: Identity) -> list[Files]:
        return used_games(self._config, self.data, identity)

    def forward_passes(self) -> int:
        return self.data.evaluations

    def cpu_seconds(self) -> float:
        return self.data.cpu_seconds() + self._kernels.cpu_seconds()

    def finish(self) -> Mapping[str, Any]:
        return {"precision": self._precision_check()}

    def _precision_check(self) -> dict[str, Any] | None:
        """Difference between the number format of self-play and float32, over positions of the data.

        None without positions, and if that format is float32 itself.
        """
        planes = self.data.some_planes(CHECKED_POSITIONS)
        if not len(planes):
            return None
        evaluator = self._host.refreshed(weights_of(self.module.net_in_use))
        name = str(evaluator.dtype).removeprefix("torch.")
        if name == "float32":
            return None
        found = measure_agreement(cast(HexNet, self.module.net_in_use), evaluator, planes)
        if not found.good_enough:
            log.warning(
                "%s chooses another move than float32 in %.1f%% of %d positions; accelerator.inference_precision=fp32 "
                "is exact, and slower",
                name,
                100 * (1 - found.same_move),
                found.positions,
            )
        return {"format": name, **asdict(found)}

    def summary(self) -> Mapping[str, Any]:
        return {"board": self._config.board, **self.data.summary(), "kernels": self._kernels.summary()}

    def engine(self) -> str:
        return f"self-play {self._host.description}"

    def close(self) -> None:
        for close in self._closing:
            close()

    def show_summary(self, summary: Mapping[str, Any]) -> None:
        print_summary(self._console, summary, self._session.folder)

    def show_ending(self, ending: Mapping[str, Any], figures: Mapping[str, Any], command: str) -> None:
        print_ending(self._console, ending, figures, command)
