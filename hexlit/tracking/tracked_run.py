"""An open W&B run: rows over axes, notes, pictures, tables, and files with their lineage."""

import contextlib
import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec
from unittest.mock import patch

from hexlit.tracking.identity import Identity
from hexlit.tracking.metric_names import EPOCH

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Files:
    """A version of an artifact: files under one name, distinguished by their content."""

    name: str
    """Name of the artifact; its versions share it."""
    kind: str
    """W&B's type, such as `checkpoint`."""
    paths: Sequence[Path]
    aliases: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    reference: bool = False
    """Whether to name the files where they are, without uploading them."""


P = ParamSpec("P")
Method = Callable[Concatenate["TrackedRun", P], None]
STAGING = "WANDB_DATA_DIR"
"""W&B's variable for the folder where it copies files before it uploads them; by default below the
home folder.
"""


def harmless(part: str) -> Callable[[Method[P]], Method[P]]:
    """A method for a `part` of the logging, whose first error ends that part with a warning, and
    nothing else.
    """

    def protected(method: Method[P]) -> Method[P]:
        @wraps(method)
        def tried(self: "TrackedRun", /, *arguments: P.args, **named: P.kwargs) -> None:
            if part in self.failed:
                return
            try:
                with self.staging():
                    method(self, *arguments, **named)
            except Exception as error:
                self.failed.add(part)
                reason = f"{type(error).__name__}: {error}"
                _log.warning("W&B: %s; no more %s are logged there", reason, part)

        return tried

    return protected


class TrackedRun:
    """One run on Weights & Biases, online or offline. Everything is written by W&B's own process;
    nothing waits.

    An error of W&B, such as a folder that cannot be written, becomes a warning and ends that part
    of the logging.

    Attributes:
        run: W&B's own object.
        identity: the run's name and place on W&B.
        artifacts: whether files are logged.
        media: whether pictures and tables are logged.
        failed: the parts of the logging that W&B has failed in.
    """

    def __init__(
        self, run: Any, identity: Identity, *, artifacts: bool = True, media: bool = True
    ) -> None:
        """Take over the open `run`."""
        self.run = run
        self.identity = identity
        self.artifacts = artifacts
        self.media = media
        self.failed: set[str] = set()
        self._open_row = False

    @contextlib.contextmanager
    def staging(self) -> Iterator[None]:
        """Within the block W&B copies files into the run's folder, unless the environment names
        another.
        """
        folder = os.environ.get(STAGING) or str(Path(self.run.settings.sync_dir) / "staging")
        with patch.dict(os.environ, {STAGING: folder}):
            yield

    @harmless("axes")
    def define_axes(self, axes: Sequence[str], default: str = EPOCH) -> None:
        """Let charts be drawn over any of `axes`; by default over `default`."""
        for axis in axes:
            self.run.define_metric(
                axis, summary="last", step_metric=None if axis == default else default
            )
        self.run.define_metric("*", step_metric=default)

    @harmless("axes")
    def define_best(self, name: str, best: str, axis: str = EPOCH) -> None:
        """Keep the `best` value (`max` or `min`) of the metric in the summary, next to the last."""
        self.run.define_metric(name, step_metric=axis, summary=f"{best},last")

    @harmless("rows")
    def log(self, row: Mapping[str, Any], step: int) -> None:
        """Add to the row of `step`, which is whole once a later step begins, or the run ends."""
        self.run.log(dict(row), step=step, commit=False)
        self._open_row = True

    @harmless("rows")
    def flush(self) -> None:
        """Complete the present row, so that a kill does not lose it."""
        if self._open_row:
            self.run.log({}, commit=True)
            self._open_row = False

    @harmless("notes")
    def note(
        self, *, config: Mapping[str, Any] | None = None, summary: Mapping[str, Any] | None = None
    ) -> None:
        """Put entries into the configuration and the summary; existing ones of the same name are
        replaced.
        """
        if config:
            self.run.config.update(dict(config), allow_val_change=True)
        if summary:
            self.run.summary.update(dict(summary))

    @harmless("media")
    def picture(self, name: str, svg: str, step: int) -> None:
        """Log a picture with the row of `step`; nothing if media are turned off."""
        if self.media:
            import wandb

            self.log({name: wandb.Html(svg)}, step)

    @harmless("media")
    def table(
        self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], step: int
    ) -> None:
        """Log a table with the row of `step`; a cell may be a picture, an SVG. Nothing if media are
        turned off.
        """
        if self.media:
            import wandb

            table = wandb.Table(columns=list(columns))
            for row in rows:
                pictures = [str(cell).startswith("<svg") for cell in row]
                pairs = zip(row, pictures, strict=True)
                table.add_data(*(wandb.Html(cell) if drawn else cell for cell, drawn in pairs))
            self.log({name: table}, step)

    @harmless("artifacts")
    def made(self, files: Files) -> None:
        """Log the run's products; nothing if artifacts are turned off, or there is no file."""
        if self.artifacts and files.paths:
            self.run.log_artifact(
                self._artifact(files), aliases=list(files.aliases)
            )  # and `latest`

    @harmless("artifacts")
    def used(self, files: Files) -> None:
        """Log the run's inputs: the same content under the same name is the same version for W&B.

        Nothing if artifacts are turned off, or there is no file.
        """
        if not self.artifacts or not files.paths:
            return
        # `use_artifact` asks the server, so it refuses offline runs and waits in online ones. This
        # call is what it does with an artifact that was never uploaded, and it works in both.
        log = getattr(self.run, "_log_artifact", None)
        if log is None:
            _log.warning(
                "this version of wandb cannot log what a run has used; %s is left out", files.name
            )
            return
        log(
            self._artifact(files),
            aliases=list(files.aliases),
            is_user_created=True,
            use_after_commit=True,
        )

    @harmless("records")
    def finish(self, failed: bool = False) -> None:
        """Write pending data and end the run, so that the next one of this process gets its own."""
        self.run.finish(exit_code=int(failed))

    def _artifact(self, files: Files) -> Any:
        import wandb

        artifact = wandb.Artifact(files.name, type=files.kind, metadata=dict(files.metadata))
        for path in files.paths:
            if files.reference:
                artifact.add_reference(path.resolve().as_uri(), name=path.name)
            else:
                kept = self._kept(files, path)
                # Neither a temporary name nor a copy in a cache, and nothing to protect from
                # changes.
                artifact.add_file(str(kept), path.name, False, True, "immutable")
        return artifact

    def _kept(self, files: Files, path: Path) -> Path:
        """A second name of the file below the run's W&B folder, whose content stays when `path` is
        replaced.

        Files are replaced by renaming, never changed, so a link is enough; W&B would copy it into
        the home folder.
        """
        folder = (
            Path(self.run.settings.sync_dir) / "artifacts" / "-".join([files.kind, *files.aliases])
        )
        folder.mkdir(parents=True, exist_ok=True)
        kept = folder / path.name
        with contextlib.suppress(FileNotFoundError):
            kept.unlink()
        try:
            os.link(path, kept)
        except OSError:  # another file system, or one without links
            shutil.copyfile(path, kept)
        return kept
