"""The settings in the folder of a run, for continuing it: `.hydra/`, as Hydra would write it, but whole.

Hydra writes its files at every start, before any check, and a kill there leaves them empty. `hydra.output_subdir=null`
switches that off. Here each file is replaced in one step. `overrides.yaml` comes last and ends with YAML's end of a
document, so that a torn copy can be recognised.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from hexlit.errors import UsageError
from hexlit.files import write_text_atomic
from hexlit.tuning.sweep_folder import read_yaml

SETTINGS = ".hydra"
END = "...\n"


def settings_writer(config: DictConfig, folder: Path) -> Callable[[], None]:
    """A function that writes the settings of this command, composed as `config`, into `folder`."""
    from hydra.core.hydra_config import HydraConfig

    result: Any = HydraConfig.instance().cfg
    assert result is not None
    texts = {
        "config.yaml": OmegaConf.to_yaml(config),
        "hydra.yaml": OmegaConf.to_yaml(result),
        "overrides.yaml": OmegaConf.to_yaml(result.hydra.overrides.task) + END,
    }

    def write() -> None:
        for name, text in texts.items():
            write_text_atomic(folder / SETTINGS / name, text)

    return write


def read_overrides(folder: Path) -> list[str]:
    """The overrides of the run in `folder`.

    Raises:
        UsageError: there are none, or the file is damaged.
    """
    path = folder / SETTINGS / "overrides.yaml"
    try:
        if not path.is_file():
            hint = (
                "write the whole name for ..." if "..." in folder.parts else f"a run keeps its settings in {SETTINGS}"
            )
            raise UsageError(f"resume={folder}: no folder of a run ({hint})")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, type(error).__name__) from error
    result = _parsed(text, path)
    if not isinstance(result, list) or not all(isinstance(entry, str) for entry in result):
        raise _unreadable(path, "not a list of overrides")
    if not text.endswith(END) and result != _also_in_hydra(folder):
        raise _unreadable(path, "its end is missing")
    return result


def _parsed(text: str, path: Path) -> Any:
    try:
        return OmegaConf.to_container(OmegaConf.create(text), resolve=False)
    except Exception as error:  # a torn file can make the parser raise anything; tags create no objects
        raise _unreadable(path, f"not the YAML that a run writes: {type(error).__name__}") from error


def _also_in_hydra(folder: Path) -> Any:
    """The second copy of the overrides that Hydra wrote beside a list without an end, in an older version."""
    result = read_yaml(folder / SETTINGS / "hydra.yaml")
    try:
        return result["hydra"]["overrides"]["task"]
    except (KeyError, TypeError):
        return None


def _unreadable(path: Path, reason: str) -> UsageError:
    return UsageError(f"{path}: the run's settings cannot be read ({reason}); restore the file, or start a new run")
