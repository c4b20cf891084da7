"""Sweeps of `hexlit train`: what the sweeper for any program does not know of the settings of a
task.
"""

import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict, read_write
from omegaconf.errors import OmegaConfBaseException

from hexlit.errors import UsageError
from hexlit.reporting.run_files import flat
from hexlit.tuning.config import DIRECTION_OF_MODE, OptunaSweeperConf, SweepConfig, directions_of
from hexlit.tuning.program import Program, Share
from hexlit.tuning.space import render


class TaskProgram(Program):
    """`hexlit train`: its section `sweep` says how trials are judged."""

    sweeper = OptunaSweeperConf
    hydra_overrides = ()  # a trial reports its end itself
    per_machine = ("accelerator", "logger", "data.path")

    def start(self) -> list[str]:
        return [sys.executable, "-m", "hexlit", "train", *self.flags()]

    def shown(self) -> str:
        return shlex.join(["hexlit", "train", *self.flags()])

    def judged(
        self, config: DictConfig, settings: Mapping[str, Any]
    ) -> tuple[SweepConfig, list[str]]:
        """The section `sweep`, with its objectives filled in.

        Without objectives it is the run's `trainer.monitor`, which has its direction from
        `trainer.monitor_mode`.
        """
        judged: SweepConfig = checked(config).sweep
        trainer = config.trainer
        objectives = judged.objectives() or [trainer.monitor]
        direction = settings["direction"]
        if direction is None and objectives == [trainer.monitor]:
            direction = DIRECTION_OF_MODE[trainer.monitor_mode]
        filled = replace(judged, objective=objectives, monitor=judged.monitor or objectives[0])
        return filled, directions_of(direction, filled)

    def name(self, config: DictConfig) -> str:
        return str(config.name)

    def recipe(self, config: DictConfig, fixed: Mapping[str, str], loader: Any) -> list[str]:
        """The overrides that turn the configuration without the search space into this one.

        A full training can start with them, without the search space.
        """
        from hydra.types import RunMode

        choices = config.hydra.runtime.choices
        if str(choices.get("sweep", "none")) == "none":
            return []
        chosen = choices.get("experiment")
        recipe = [] if chosen is None or "experiment" in fixed else [f"experiment={chosen}"]
        without = [line for line in fixed.values() if not line.startswith(("sweep=", "sweep."))]
        bare = loader.load_configuration(
            str(config.hydra.job.config_name), [*without, *recipe, "sweep=none"], RunMode.RUN
        )
        before, after = (
            dict(flat(OmegaConf.to_container(one, resolve=False))) for one in (bare, config)
        )
        changed = {key: value for key, value in after.items() if before.get(key) != value}
        return recipe + [
            render(key, value)
            for key, value in changed.items()
            if not key.startswith(("hydra.", "sweep."))
        ]

    def device(self, config: DictConfig) -> str:
        return str(config.accelerator.device)

    def share(self, config: DictConfig, cores: int, device: str | None, named: Any) -> Share:
        """Threads, unless the user has set them, and the device."""
        overrides = []
        if "accelerator.threads" not in named and not config.accelerator.threads:
            overrides.append(f"accelerator.threads={cores}")
        if device is not None:
            overrides.append(f"accelerator.device={device}")
        return overrides, {}

    def second_attempt(self, noted: Mapping[str, Any]) -> list[str]:
        """With half the micro-batch."""
        half = int(noted.get("micro_batch") or 1) // 2
        return [f"accelerator.micro_batch={half}"] if half else []

    def track(self, config: DictConfig, plan: Any, document: Mapping[str, Any]) -> None:
        from hexlit.commands.tracked_sweep import track_sweep

        track_sweep(config, plan, document)

    @contextmanager
    def session(self, hydra_context: Any) -> Iterator[None]:
        """The block in which the sweep runs; the command reports mistakes and interruptions."""
        yield


def checked(config: DictConfig) -> Any:
    """The settings. The whole configuration is checked here, so that an error appears once, not per
    trial.
    """
    task = config.copy()
    with open_dict(task), read_write(task):
        del task["hydra"]
    try:
        return OmegaConf.to_object(task)
    except OmegaConfBaseException as error:
        raise UsageError(str(error).splitlines()[0]) from error
