"""The program whose settings a sweep searches: any one with `@hydra.main` that returns numbers.

`hexlit train` knows more of its settings, in `hexlit.commands.task_sweep`.
"""

import os
import shlex
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar

from omegaconf import DictConfig

from hexlit.errors import UsageError
from hexlit.tuning.config import (
    OptunaSweeperConf,
    ProgramSweep,
    ProgramSweeperConf,
    SweepConfig,
    SweepSettings,
    directions_of,
)
from hexlit.tuning.job import EndOfTrial
from hexlit.tuning.slots import device_name

_CALLBACK = f"{EndOfTrial.__module__}.{EndOfTrial.__name__}"
Share = tuple[list[str], dict[str, str]]
"""A trial's share of the machine: overrides, and variables of its environment."""


class Program:
    """Any program with `@hydra.main`; a trial is its command line in a process of its own.

    Attributes:
        sweeper: type of the node `hydra.sweeper`.
        hydra_overrides: those that its trials need.
        per_machine: settings that may differ between processes that work on one study.
    """

    sweeper: ClassVar[type[OptunaSweeperConf]] = ProgramSweeperConf
    hydra_overrides: ClassVar[Sequence[str]] = (f"++hydra.callbacks.hexlit._target_={_CALLBACK}",)
    per_machine: ClassVar[tuple[str, ...]] = ()

    def start(self) -> list[str]:
        """The words that start it, without overrides: the interpreter, and the script or module."""
        main = sys.modules["__main__"]
        if main.__spec__ is not None:
            words = ["-m", main.__spec__.name.removesuffix(".__main__")]
        else:
            words = [os.path.relpath(str(main.__file__))]
        return [sys.executable, *words, *self.flags()]

    def flags(self) -> list[str]:
        """The flags of this process that its trials need: those that say where settings are."""
        parser = ArgumentParser(add_help=False, allow_abbrev=False)
        for names in ("--config-dir -cd", "--config-path -cp", "--config-name -cn"):
            parser.add_argument(*names.split())
        given, _ = parser.parse_known_args(sys.argv[1:])
        values = {name: value for name, value in vars(given).items() if value is not None}
        return [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]

    def shown(self) -> str:
        """The same words as a user types them."""
        return shlex.join(["python", *self.start()[1:]])

    def judged(
        self, config: DictConfig, settings: Mapping[str, Any]
    ) -> tuple[SweepConfig, list[str]]:
        """The sweep's own settings, with the names of its objectives, and a direction for each.

        `settings` is the node `hydra.sweeper`.
        """
        direction = settings["direction"] or "minimize"
        names = ["value"]
        if isinstance(direction, list):
            names = [f"value {number}" for number in range(len(direction))]
        judged = ProgramSweep(**{one.name: settings[one.name] for one in fields(SweepSettings)})
        judged.objective = judged.objectives() or names
        judged.monitor = judged.objective[0]
        return judged, directions_of(direction, judged)

    def name(self, config: DictConfig) -> str:
        """Name of what is tuned."""
        return str(config.hydra.job.name)

    def recipe(self, config: DictConfig, fixed: Mapping[str, str], loader: Any) -> list[str]:
        """Values that the search space fixes; a full run has to name them."""
        return []

    def device(self, config: DictConfig) -> str:
        """The device of its trials, where `devices` names none."""
        return "auto"

    def share(self, config: DictConfig, cores: int, device: str | None, named: Any) -> Share:
        """The share of a trial, with `cores` cores of this machine.

        Args:
            config: that of the sweep.
            cores: number of cores.
            device: its device by `devices`, the only one that it may use; None: any.
            named: the settings that the user has set or searches.
        """
        environment = {"HYDRA_FULL_ERROR": "1"}  # Hydra's last line is the error then
        if "OMP_NUM_THREADS" not in os.environ:
            environment["OMP_NUM_THREADS"] = str(cores)
        if device is not None:
            environment["CUDA_VISIBLE_DEVICES"] = device_name(device).partition(":")[2]
        return [], environment

    def second_attempt(self, noted: Mapping[str, Any]) -> list[str]:
        """Overrides with which a failed trial runs once more, by its attributes; none: it does
        not.
        """
        return []

    def track(self, config: DictConfig, plan: Any, document: Mapping[str, Any]) -> None:
        """Log the results `document` of the sweep where its trials log theirs."""

    @contextmanager
    def session(self, hydra_context: Any) -> Iterator[None]:
        """The block in which the sweep runs: a mistake is one line and exit code 2, an interruption
        130.
        """
        # Trials of launchers get the callbacks of this process.
        hydra_context.callbacks.callbacks.append(EndOfTrial())
        try:
            yield
        except UsageError as error:
            print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
            raise SystemExit(2) from error
        except KeyboardInterrupt as stop:
            raise SystemExit(130) from stop
