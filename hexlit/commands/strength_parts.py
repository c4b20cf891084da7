"""The measured parts of a strength run, kept in its folder: `resume=FOLDER` measures only the others.

`parts.json` appears with the first part, after the settings in `.hydra/`. It goes when `strength.json` is whole.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hexlit.commands.run_folder import refuse_changes, resumed_arguments, resumed_folder
from hexlit.commands.strength_results import RESULTS_FILE, Document, as_json
from hexlit.errors import UsageError
from hexlit.files import write_text_atomic

if TYPE_CHECKING:
    from hexlit.commands.strength import StrengthConfig

PARTS_FILE = "parts.json"

MAY_CHANGE = ("json=", "markdown=", "report=", "accelerator", "logger", "where=", "workers=", "ray.")
"""Beginnings of the overrides that a resumed measurement takes."""

AMOUNTS = ("simulations", "positions", "leaves", "pairs", "seconds")
"""Settings of every measurement."""

PLACE = ("device", "where", "workers", "games")
"""Facts that change no figure of the truth, apart from its rounding."""


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


def finished(folder: Path) -> Document | None:
    """The result of the measurement in `folder`; None if parts are missing.

    Raises:
        UsageError: it cannot be read.
    """
    return None if (folder / PARTS_FILE).exists() else _read(folder / RESULTS_FILE, {"what": str})


def subject_of(settings: "StrengthConfig", facts: Document) -> Document:
    """Everything that figures depend on: amounts, the network's file, and the `facts` of the document.

    Speeds depend on the place, too.
    """
    from hexlit.tasks.hex.checkpoint import network_file

    digest = hashlib.sha256(network_file(settings.checkpoint).read_bytes()).hexdigest()[:16]
    free = PLACE if settings.what == "truth" else ()
    return {
        "the network's SHA-256": digest,
        **{name: getattr(settings, name) for name in AMOUNTS},
        **{name: value for name, value in facts.items() if name not in free},
    }


class Parts:
    """Measures the missing parts of a run, and keeps each as soon as it is whole. See `hexlit.arena.measures.Part`.

    Parts belong together if they have one `subject`: everything that figures depend on.
    """

    def __init__(self, folder: Path, begin: Callable[[], None]) -> None:
        """None yet for the run in `folder`; `begin` is called before the first one is kept."""
        self._path = folder / PARTS_FILE
        self._begin = begin
        self._subject: Document = {}
        self._device = ""
        self._parts: dict[str, Any] = {}
        self._devices: list[str] = []

    def open(self, subject: Document, device: str, *, resume: bool) -> None:
        """Take those that the folder keeps, with `resume`. The others will be measured on `device`.

        Raises:
            UsageError: the kept ones have another subject, or cannot be read.
        """
        self._subject, self._device = json.loads(as_json(subject)), device
        if not resume:
            return
        kept = _read(self._path, {"subject": dict, "devices": list, "parts": dict})
        for name, value in self._subject.items():
            if kept["subject"].get(name) != value:
                raise UsageError(
                    f"resume={self._path.parent}: {name} was {kept['subject'].get(name)} when its parts were measured, "
                    f"and is {value} now; start a new measurement"
                )
        self._parts, self._devices = kept["parts"], kept["devices"]

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def device(self) -> str:
        """The devices that have measured parts."""
        return "; ".join(self._devices) or self._device

    def __call__(self, name: str, measure: Callable[[], Any]) -> Any:
        """The result of the part `name`: kept, or else that of `measure`, which is kept from now on."""
        if name not in self._parts:
            result = measure()
            if not self._parts:
                self._begin()
            parts = {**self._parts, name: result}
            devices = list(dict.fromkeys([*self._devices, self._device]))
            kept = {"subject": self._subject, "devices": devices, "parts": parts}
            write_text_atomic(self._path, as_json(kept) + "\n")
            self._parts, self._devices = parts, devices  # now that they are kept
        return self._parts[name]

    def end(self) -> None:
        """Remove their file: the result has them all."""
        self._path.unlink(missing_ok=True)


def _read(path: Path, kinds: Mapping[str, type]) -> Document:
    """The object in the file; it has entries of these `kinds`."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(result, dict) or not all(isinstance(result.get(name), kind) for name, kind in kinds.items()):
            raise ValueError("not what hexlit strength writes")
    except (OSError, ValueError) as error:  # ValueError: neither UTF-8 nor JSON, too
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{path}: cannot be read ({reason}); restore the file, or start a new measurement") from error
    return result
