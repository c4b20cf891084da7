"""The place of a sweep: its folder, new or to continue, and its storage."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from hexlit.accelerate.machine import read_process_file
from hexlit.errors import UsageError
from hexlit.files import read_json
from hexlit.tuning.config import SweepConfig
from hexlit.tuning.sweep_folder import SWEEP_FILE


def find_place(
    config: DictConfig,
    settings: Mapping[str, Any],
    judged: SweepConfig,
    hydra_overrides: Sequence[str],
    command: list[str],
) -> tuple[Path, str]:
    """Folder and name of the study; the folder is made.

    Raises:
        UsageError: the folder has a sweep already, or none to continue; or no setting names the study to join.
    """
    if judged.join and None in (settings["storage"], settings["study_name"]):
        raise UsageError(
            "sweep.join=true: name the study by hydra.sweeper.storage=URL and hydra.sweeper.study_name=NAME"
        )
    folder = Path(str(config.hydra.sweep.dir)).absolute()
    name = settings["study_name"]
    own_folder = any(override.startswith("hydra.sweep.dir=") for override in hydra_overrides)
    if name is not None and not own_folder:
        if not name or name.startswith(".") or not all(letter.isalnum() or letter in "-_." for letter in name):
            raise UsageError(
                f"hydra.sweeper.study_name={name}: it names a folder; use letters, digits, '-', '_' and '.' only"
            )
        folder = folder.parent / name
    if judged.resume:
        if name is None and not own_folder:
            folder = _latest_of(folder.parent, command)
        process = read_process_file(folder)
        if process is not None and process.alive:
            raise UsageError(f"sweep.resume=true: the sweep in {folder} is still running, in process {process.pid}")
    facts = read_json(folder / SWEEP_FILE)
    if facts and judged.join:
        raise UsageError(
            f"sweep.join=true: {folder} has a sweep already; continue it with sweep.resume=true, or give another "
            "folder with hydra.sweep.dir=FOLDER"
        )
    if facts and not judged.resume:
        raise UsageError(
            f"hydra.sweeper.study_name={facts.get('study_name')}: {folder} has this study already; add "
            "sweep.resume=true to continue it, or choose another name"
        )
    if not facts and judged.resume:
        hint = "" if settings["storage"] is None else "; sweep.join=true works on the study of another folder"
        raise UsageError(f"sweep.resume=true: {folder} holds no sweep to continue{hint}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"hydra.sweep.dir={folder}: cannot be made ({error.strerror})") from error
    study_name = facts.get("study_name") or name or f"{config.get('name', 'sweep')}-{folder.name}"
    return folder, str(study_name)


def _latest_of(runs: Path, command: list[str]) -> Path:
    """The latest sweep below `runs` that this `command` began."""
    sweeps = [(facts, path.parent) for path in runs.glob(f"*/{SWEEP_FILE}") if (facts := read_json(path))]
    same = [(facts["started"], folder) for facts, folder in sweeps if facts.get("command") == command]
    if not same:
        others = f"; there are {', '.join(sorted(folder.name for _, folder in sweeps))}" if sweeps else ""
        raise UsageError(
            f"sweep.resume=true: this command has begun no sweep in {runs}{others}; name one with "
            "hydra.sweep.dir=FOLDER"
        )
    return max(same)[1]


def absolute(storage: str | None) -> str | None:
    """A storage in a file by its absolute path, wherever trials and readers are."""
    if storage is None:
        return None
    kind, separator, rest = storage.partition("://")
    if not separator:
        return str(Path(storage).absolute())
    if kind.partition("+")[0] == "sqlite" and rest.startswith("/") and not rest.startswith(("//", "/file:", "/:")):
        path, mark, query = rest[1:].partition("?")
        return f"{kind}:///{Path(path).absolute()}{mark}{query}" if path else storage
    return storage
