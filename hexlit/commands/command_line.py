"""The command line of a Hydra application: typed again, logged on Weights & Biases, and without
words of no effect.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hexlit.commands.composing import Composed
from hexlit.errors import UsageError
from hexlit.training.config import LoggerConfig

if TYPE_CHECKING:
    from rich.console import Console

    from hexlit.reporting.page import Page
    from hexlit.tracking.tracked_run import TrackedRun


def as_json(document: Any) -> str:
    """The document as JSON, without NaN and infinities, which JSON does not know."""
    return json.dumps(document, indent=2, allow_nan=False)


def print_results(settings: Any, document: Any, page: "Page", console: "Console") -> None:
    """Print the `document` as JSON, or its `page` as Markdown or for people, by the `settings`."""
    from hexlit.reporting.text import markdown, show

    if settings.json:
        print(as_json(document))
    elif getattr(settings, "markdown", False):
        print(markdown(page))
    else:
        show(page, console)


def track(
    settings: Any,
    composed: Composed,
    document: Mapping[str, Any],
    log_tables: Callable[["TrackedRun"], None],
    kind: str,
    sources: Sequence[str],
    files: Sequence[str],
) -> None:
    """Log the match or strength run of `composed` on Weights & Biases, unless settings turn it off.

    Args:
        settings: those of the command.
        composed: its command line; the results are in its folder.
        document: all of them, the run's summary.
        log_tables: logs more.
        kind: the command.
        sources: the networks.
        files: names of the results, an artifact of the run.
    """
    if settings.logger.wandb.mode == "disabled":
        return  # torch is not needed
    from hexlit.tasks.hex.packaged import network_file
    from hexlit.tracking.opening import open_run
    from hexlit.tracking.provenance import git_state, versions
    from hexlit.tracking.tracked_run import Files
    from hexlit.training.loggers import checkpoint_files

    size = document["board"]
    folder = composed.folder
    facts = {
        **asdict(settings),
        **composed.choices(),
        "versions": versions(),
        "size": size,
        "git": git_state(),
    }
    facts |= {name: document[name] for name in ("specs", "device") if name in document}
    name = f"{kind}-{folder.name}"
    tags = [kind, *filter(None, [document.get("what")]), f"{size}×{size}"]
    resumed = kind == "match" and settings.resume is not None
    run = open_run(
        settings.logger.wandb, folder, name=name, kind=kind, tags=tags, facts=facts, resumed=resumed
    )
    if run is None:
        return
    for path in dict.fromkeys(map(network_file, sources)):  # two players may share a checkpoint
        run.used(checkpoint_files(path))
    log_tables(run)
    run.flush()
    run.note(summary=document)
    paths = [folder / name for name in files if (folder / name).exists()]
    run.made(Files(run.identity.artifact(kind), kind, paths))
    run.finish()


def refuse_tensorboard(config: LoggerConfig) -> None:
    """Raise `UsageError` if TensorBoard is chosen for a command without epochs."""
    if config.tensorboard:
        raise UsageError(
            "logger=tensorboard: there are no epochs to draw here; choose logger=wandb or logger=csv"
        )
