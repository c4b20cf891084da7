"""`hexlit train`: a new run of a task, a resumed run, or a trial of a sweep."""

import os
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, OmegaConf

from hexlit.accelerate.ranks import ranks
from hexlit.commands import tasks
from hexlit.commands.application import run, typed
from hexlit.commands.claim import check, claim
from hexlit.commands.rank_processes import folder_arguments, other_ranks, rank_arguments, refuse_in_a_sweep
from hexlit.commands.run_folder import requeued, resumed_arguments, resumed_folder, settings_writer
from hexlit.errors import UsageError
from hexlit.interruption import says_how_to_continue
from hexlit.tasks.run_config import RunConfig
from hexlit.tuning import plugin
from hexlit.tuning.space import quoted

if TYPE_CHECKING:
    from rich.console import Console

plugin.register()


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides; returns the exit code."""
    return run(train, "train", argv, prepare=whole_arguments)


def whole_arguments(argv: list[str]) -> list[str]:
    """`argv` with the arguments of the sweep's best trial and of the run to continue; Hydra then knows their task."""
    arguments = rank_arguments(argv)
    if arguments is None:
        refuse_resume_in_a_sweep(argv)
        whole = [*resumed_arguments(best_arguments(argv)), *folder_arguments()]
        arguments = [with_mapping(argument) for argument in whole]
    tasks.register(arguments)
    return arguments


def refuse_resume_in_a_sweep(argv: list[str]) -> None:
    """Refuse `resume=` together with `--multirun`, whose jobs have folders of their own."""
    several = any(word == "-m" or (len(word) > 3 and "--multirun".startswith(word)) for word in argv)
    folder = resumed_folder(argv) if several else None
    if folder is not None:
        raise UsageError(
            f"resume={folder}: with --multirun every job is a new run; leave --multirun out, or continue a sweep "
            "with sweep.resume=true"
        )


def with_mapping(argument: str) -> str:
    """A search space written as one mapping, with the prefix that lets its keys be new."""
    return f"++{argument}" if argument.startswith("hydra.sweeper.params={") else argument


def best_arguments(argv: list[str]) -> list[str]:
    """`argv`; with `+best=FOLDER`, the overrides of the best trial of that sweep, then those of `argv`."""
    named = [argument for argument in argv if argument.startswith(("+best=", "best="))]
    value = named[-1].partition("=")[2].strip("'\"") if named else "null"
    if value == "null":
        return argv
    if not value:
        raise UsageError("best=: the value is empty; best=FOLDER names a sweep, best=null none")
    path = Path(value).resolve()
    path = path if path.suffix == ".yaml" else path / "best.yaml"
    try:
        result = OmegaConf.to_container(OmegaConf.load(path))
        overrides = [str(override) for override in result["overrides"]]  # type: ignore[index,call-overload]
    except FileNotFoundError:
        raise UsageError(f"best={value}: no sweep with a best trial ({path} is not there)") from None
    except Exception as error:  # a torn file can make the parser raise anything
        raise UsageError(f"best={value}: {path} does not name a trial's overrides ({type(error).__name__})") from error
    own = [argument for argument in argv if argument not in named]
    keys = {argument.lstrip("+").partition("=")[0] for argument in own}
    taken = [override for override in overrides if override.lstrip("+").partition("=")[0] not in keys]
    return [*taken, *own, f"best={quoted(str(path.parent))}"]


def train(config: DictConfig) -> Any:
    """Train with the composed configuration; in a sweep the value(s) of the trial are returned."""
    began = time.monotonic()
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    from hexlit.tuning.ticket import ticket_of

    folder = Path(HydraConfig.get().runtime.output_dir)
    ticket = ticket_of(os.environ)
    job = HydraConfig.get().mode != RunMode.RUN  # one of a sweep, whose folder alone is held so far
    if job:
        claim(folder)
    if job or ticket is not None:  # the sweep's results include refused ones
        settings_writer(config, folder)()
    settings = typed(config, RunConfig)
    refuse_without_effect(settings)
    settings.check_installed()
    if ticket is not None:
        refuse_in_a_sweep(settings.accelerator.devices)
        from hexlit.commands.trial_training import train_trial

        return train_trial(settings, folder, ticket)
    refuse_sweep(settings, "hexlit train --multirun with hydra/sweeper=optuna")
    if job:
        settings.resume = requeued(folder)
    say_hello(settings, folder)
    place = os.path.relpath(folder)
    again = f"hexlit train {shlex.join([f'resume={place}'])}"
    with says_how_to_continue("hexlit train", lambda: f"the run is in {place}", lambda: again):
        train_kept(config, settings, folder, started=began)
    return None


def refuse_sweep(settings: RunConfig, right: str) -> None:
    """Refuse the settings of a sweep for a single run; `right` is the command for sweeps."""
    from hydra.core.hydra_config import HydraConfig

    chosen = HydraConfig.get().runtime.choices.get("sweep", "none")
    if settings.resume is None and (chosen != "none" or settings.sweep.resume or settings.sweep.join):
        way = "sweep.resume=true" if settings.sweep.resume else "sweep.join=true"
        what = f"sweep={chosen}" if chosen != "none" else way
        raise UsageError(f"{what}: a sweep is run by {right}")


def refuse_without_effect(settings: RunConfig) -> None:
    """Refuse overrides without effect under the other settings."""
    from hydra.core.hydra_config import HydraConfig

    for override in HydraConfig.get().overrides.task:
        section = override.lstrip("+~").partition("=")[0].partition(".")[0]
        if section in settings.without_effect:
            raise UsageError(f"{override}: {settings.without_effect[section]}")


def train_kept(
    config: DictConfig,
    settings: RunConfig,
    folder: Path,
    *,
    console: "Console | None" = None,
    started: float | None = None,
) -> None:
    """Train in `folder`, and save the settings behind the composed `config` there; see `train_task`.

    A new run saves them at once. A resumed one does so at its first checkpoint: if it fails or is killed before, the
    folder stays unchanged. A run whose folder was removed ends at its next checkpoint.
    """
    from hexlit.commands.task_run import train_task

    write_settings = settings_writer(config, folder)
    if settings.resume is None and ranks().writes:
        write_settings()
    saved = after_the_first(write_settings)
    with other_ranks(settings.accelerator.devices, folder):
        train_task(settings, folder, started=started, console=console, saved=saved)


def after_the_first(write_settings: Callable[[], None]) -> Callable[[Path], None]:
    """Calls `write_settings` at the first checkpoint of a run."""
    written = False

    def saved(path: Path) -> None:
        nonlocal written
        check()
        if path.name == "last.ckpt" and not written:
            write_settings()
            written = True

    return saved


def say_hello(settings: RunConfig, folder: Path) -> None:
    """Print the first line of a run, before imports that take seconds."""
    if not ranks().writes:
        return
    verb = "begins" if settings.resume is None else "continues"
    where = f"{verb} in {os.path.relpath(folder)}; loading PyTorch"
    print(f"hexlit train · {settings.name} · {settings.subject} · {where}", flush=True)
