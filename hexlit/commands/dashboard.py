"""`hexlit report wandb=ENTITY/PROJECT`: the project's page on Weights & Biases, built here and saved there."""

import contextlib
import io
from urllib.error import HTTPError
from urllib.request import urlopen

from hexlit.errors import UsageError
from hexlit.settings import require
from hexlit.tracking.config import check_project
from hexlit.tracking.environment import has_credentials


def save_dashboard(target: str, as_json: bool) -> None:
    """Save the workspace of `target`, and print where it is; with `as_json` print its content and save nothing.

    Raises:
        UsageError: `target` is not ENTITY/PROJECT, a package or a key is missing, or W&B cannot be reached.
    """
    entity, slash, project = target.partition("/")
    if not entity or not slash:
        raise UsageError(f"wandb={target}: write ENTITY/PROJECT, such as wandb=my-team/hexlit")
    check_project(f"wandb={target}: project", project)
    require(f"wandb={target}", {"wandb_workspaces": "wandb-workspaces"}, "dashboard")
    from hexlit.reporting.workspace import build_workspace

    workspace = build_workspace(entity, project)
    if as_json:
        print(workspace._to_model().spec.model_dump_json(by_alias=True, exclude_none=True, indent=2))
        return
    import wandb

    try:
        if not has_credentials():  # W&B's client would ask for it
            raise UsageError("no API key was found: `wandb login` or WANDB_API_KEY")
        with contextlib.suppress(HTTPError):  # an answer, too; the client would try for minutes
            urlopen(wandb.setup().settings.base_url, timeout=10).close()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            workspace.save()
    except Exception as error:  # the client and the server may raise anything
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise UsageError(f"wandb={target}: not saved ({reason}); json=true shows the page here") from error
    print(f"saved: {workspace.url}")
