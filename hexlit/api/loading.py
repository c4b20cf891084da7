"""`hexlit.load`: opens a run, a sweep, a match or a model."""

from pathlib import Path

from hexlit.api.matches import Match
from hexlit.api.runs import Model, Run
from hexlit.api.sweeps import Sweep
from hexlit.errors import UsageError
from hexlit.tasks.hex.packaged import is_packaged
from hexlit.tuning.sweep_folder import is_tuned, numbered_folders


def load(where: str | Path) -> Run | Sweep | Match | Model:
    """The run, the sweep, the match or the trained model at `where`.

    Args:
        where: the folder of a run, a sweep or a match; a checkpoint; or a packaged network such as `hexlit:small`. A
            checkpoint in the folder of a run gives that run with this checkpoint. Any other gives a model alone.

    Raises:
        UsageError: there is nothing of these.

    >>> import hexlit
    >>> run = hexlit.load("runs/hex5/2026-01-31_12-00-00_abcd")  # doctest: +SKIP
    >>> run.search(hexlit.Board(5)).move                         # doctest: +SKIP
    'c3'
    >>> hexlit.load("no/such/folder")
    Traceback (most recent call last):
    ...
    hexlit.errors.UsageError: no/such/folder: there is no such file or folder
    """
    if is_packaged(where):
        return Model(where)
    path = Path(where)
    if path.is_file():
        folder = path.resolve().parent.parent
        return Run(folder, path) if (folder / ".hydra").is_dir() else Model(path)
    if not path.is_dir():
        raise UsageError(f"{path}: there is no such file or folder")
    if is_tuned(path) or next(numbered_folders(path), None) is not None:
        return Sweep(path)
    if (path / "match.json").is_file():
        return Match(path)
    if (path / ".hydra").is_dir():
        return Run(path)
    raise UsageError(f"{path}: neither a run nor a sweep nor a match (a run keeps its settings in .hydra)")
