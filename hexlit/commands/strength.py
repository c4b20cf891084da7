"""`hexlit strength`: a network against the exact truth, and the value of each way of searching."""

import os
import secrets
import shlex
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import MISSING, DictConfig

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.cluster.config import PLACES, RayConfig
from hexlit.commands.application import register_schema, run, typed
from hexlit.commands.claim import claim
from hexlit.commands.command_line import refuse_tensorboard, refuse_unused, same_command
from hexlit.commands.report_files import write_beside
from hexlit.commands.run_folder import refuse_changes, resumed_arguments, resumed_folder, settings_writer
from hexlit.commands.strength_run import (
    PARTS_FILE,
    RESULTS_FILE,
    Document,
    Parts,
    about,
    check_board,
    finished,
    measure_search,
    measure_truth,
    show,
    track_strength,
    write,
)
from hexlit.errors import UsageError
from hexlit.interruption import says_how_to_continue
from hexlit.search.config import BOARDS, MOST_LEAVES, MOST_SIMULATIONS, SearchConfig
from hexlit.settings import Settings, number, one_of
from hexlit.training.config import LoggerConfig

if TYPE_CHECKING:
    from hexlit.commands.networks import Evaluators
    from hexlit.tasks.hex.checkpoint import LoadedNetwork

KINDS = ("truth", "search")
RUNS = Path("runs") / "strength"
_OF_COMMAND = {"checkpoint", "what", "json", "markdown", "output", "resume"}  # settings that `evaluate` does not take
MAY_CHANGE = ("json=", "markdown=", "report=", "accelerator", "logger", "where=", "workers=", "ray.")
"""Beginnings of the overrides that a resumed measurement takes."""


@dataclass
class StrengthConfig(Settings):
    """Settings of `hexlit strength`."""

    checkpoint: str = MISSING
    """Checkpoint, the folder of a run (its best checkpoint, else its last), or a packaged network: `hexlit:small`."""
    what: str = one_of(KINDS, "truth")
    """Subject of the measurement. `truth`: openings, optimality and calibration against the exact solver. `search`:
    strength and cost of searches."""
    board: int | None = number(None, BOARDS)
    """Rows of the board. Null: the network's own board."""
    simulations: list[int] = number([16, 64, 256], f"[1, {MOST_SIMULATIONS}]")
    """Simulations per move; each number is measured separately. `truth` also measures the network without search."""
    positions: int = number(1000, "[1, inf)")
    """Solved positions of each kind: from games, and with stones on random cells."""
    leaves: list[int] = number([4, 8, 16], f"[2, {MOST_LEAVES}]")
    """Leaves of one tree that are evaluated together, for `what=search`; each number is measured."""
    pairs: int = number(50, "[1, inf)")
    """Distinct openings of a match, for `what=search`; each is played twice."""
    games: int | None = number(None, "[1, inf)")
    """Positions searched at the same time. Null: the device's default."""
    seconds: float = number(1.0, "(0, inf)", unit="seconds")
    """Approximate length of one measurement of speed, in seconds, for `what=search`."""
    seed: int = number(2026, "[0, inf)")
    """Seed of the positions and openings."""
    json: bool = False
    """Whether to print one JSON object instead of tables."""
    markdown: bool = False
    """Whether to print Markdown instead of tables."""
    report: bool = True
    """Whether to write `report.html` beside the results."""
    output: str | None = None
    """Folder for the results. Null: a new one below runs/strength."""
    resume: str | None = None
    """Folder of an interrupted measurement to continue. Its measured parts are kept."""
    where: str = one_of(PLACES, "here")
    """Place of the work, for `what=truth`: `here` (this process) or `ray` (the cluster of the section `ray`)."""
    workers: int = number(2, "[1, inf)")
    """Number of actors of the cluster; each judges `games` positions at a time."""
    ray: RayConfig = field(default_factory=RayConfig)
    accelerator: AcceleratorConfig = field(default_factory=AcceleratorConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    logger: LoggerConfig = field(default_factory=LoggerConfig)

    def __post_init__(self) -> None:
        """Refuse impossible combinations."""
        super().__post_init__()
        refuse_tensorboard(self.logger)
        if self.where == "ray" and self.what == "search":
            raise UsageError("where=ray: what=search measures the speed of this machine; leave one of them out")
        if not self.simulations:
            raise UsageError("simulations=[]: name at least one number, such as [16,64,256]")
        if self.json and self.markdown:
            raise UsageError("json=true markdown=true: choose one of them")


register_schema("strength", StrengthConfig)


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides; returns the exit code."""
    return run(strength, "strength", argv, prepare=arguments)


def arguments(argv: list[str]) -> list[str]:
    """`argv`; with `resume=FOLDER` the settings of that measurement, then those of `argv`.

    Raises:
        UsageError: the folder holds no measurement, or the overrides change its settings.
    """
    folder = resumed_folder(argv)
    if folder is None:
        return argv
    refuse_changes(
        argv,
        MAY_CHANGE,
        "a measurement continues with its own settings; only json, markdown, report, accelerator, logger and its place "
        "(where, workers, ray) may change",
    )
    if not any((folder / name).is_file() for name in (PARTS_FILE, RESULTS_FILE)):
        raise UsageError(f"resume={folder}: no folder of a strength run (it has no {PARTS_FILE} and no {RESULTS_FILE})")
    return resumed_arguments(argv)


def strength(config: DictConfig) -> None:
    """Run the requested measurement, or its missing parts, save it and print it."""
    settings = typed(config, StrengthConfig)
    from hydra.core.hydra_config import HydraConfig

    # A resumed measurement keeps the cluster's settings of its beginning.
    overrides = HydraConfig.get().overrides.task if settings.resume is None else ()
    refuse_unused(settings.where, settings.ray, settings.accelerator, overrides)
    folder = None if settings.resume is None else held_folder("resume", Path(os.path.relpath(settings.resume)))
    document = None if folder is None else finished(folder)
    if document is None:
        folder, document = measured(config, settings, folder)
    assert folder is not None
    if settings.report:
        write_beside(folder)
    if settings.logger.wandb.mode != "disabled":
        track_strength(settings, folder, document)
    show(document, folder, json=settings.json, markdown=settings.markdown)


def measured(config: DictConfig, settings: StrengthConfig, folder: Path | None) -> tuple[Path, Document]:
    """Measure the missing parts of the run in `folder`, or all in a new folder. Returns the folder and the result."""
    from hexlit.reporting.screen import work_bar
    from hexlit.tasks.hex.checkpoint import load_network, network_file

    loaded = load_network(settings.checkpoint)
    size = settings.board or loaded.size
    check_board(settings.what, size)
    place = folder or held_folder("output", Path(settings.output) if settings.output else new_folder())
    parts = Parts(place, settings_writer(config, place))

    def again() -> str:
        where = os.path.relpath(place)
        if folder is None and not parts:
            return same_command("hexlit strength", f"output={where}")
        return f"hexlit strength {shlex.join([f'resume={where}'])}"

    with says_how_to_continue("hexlit strength", lambda: f"what was measured is in {place}", again):
        evaluators = evaluators_of(loaded, size, settings)
        games = settings.games or evaluators.profile.evaluation_batch
        facts = about(settings, evaluators, games)
        parts.open(network_file(settings.checkpoint), facts["device"], resume=folder is not None)
        measure = measure_truth if settings.what == "truth" else measure_search
        with work_bar("measuring") as advance:
            for result in measure(settings, evaluators, games, advance, parts):
                document = facts | {"device": parts.device} | result
                write(place, document)
        parts.end()
    return place, document


def evaluators_of(loaded: "LoadedNetwork", size: int, settings: StrengthConfig) -> "Evaluators":
    """The evaluators of a network, on a device whose settings are applied."""
    import numba

    from hexlit.commands.networks import Evaluators, applied_profile

    profile = applied_profile(settings.accelerator)
    numba.set_num_threads(min(profile.threads, numba.config.NUMBA_NUM_THREADS))
    return Evaluators(loaded, size, profile)


def evaluate(checkpoint: str | Path, **settings: Any) -> Document:
    """Measure the network of `checkpoint` against the exact truth, with the `settings` of `StrengthConfig`.

    Nothing is printed or written.

    Raises:
        UsageError: there is no such setting, or its value is out of range.
    """
    from hexlit.arena.measures import measured_now
    from hexlit.tasks.hex.checkpoint import load_network

    known = {one.name for one in fields(StrengthConfig)} - _OF_COMMAND
    for name in settings.keys() - known:
        raise UsageError(f"{name}={settings[name]}: there is no such setting; choose from {', '.join(sorted(known))}")
    chosen = StrengthConfig(checkpoint=str(checkpoint), **settings)
    refuse_unused(chosen.where, chosen.ray, chosen.accelerator, settings)
    loaded = load_network(checkpoint)
    size = chosen.board or loaded.size
    check_board("truth", size)
    evaluators = evaluators_of(loaded, size, chosen)
    games = chosen.games or evaluators.profile.evaluation_batch
    (result,) = measure_truth(chosen, evaluators, games, lambda what, share: None, measured_now)
    return about(chosen, evaluators, games) | result


def new_folder() -> Path:
    """A new folder for the results."""
    return RUNS / f"{datetime.now():%Y-%m-%d_%H-%M-%S}_{secrets.token_hex(3)}"


def held_folder(key: str, folder: Path) -> Path:
    """The `folder` of the setting `key`, made and held before minutes are spent on its results."""
    try:
        claim(folder, below=False)
    except UsageError as error:
        raise UsageError(f"{key}={error}") from error
    return folder
