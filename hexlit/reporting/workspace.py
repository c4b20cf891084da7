"""The project's page on Weights & Biases: the sections of `templates/workspace.yaml`, over the
logged metrics.
"""

from pathlib import Path
from typing import Any

import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws
from omegaconf import OmegaConf

NAME = "hexlit"


def build_workspace(entity: str, project: str) -> ws.Workspace:
    """The workspace of `entity`/`project`; nothing is sent before `save`."""
    content: Any = OmegaConf.to_container(
        OmegaConf.load(Path(__file__).parent / "templates" / "workspace.yaml")
    )
    sections = [
        ws.Section(
            name=name, panels=[*map(panel, panels)], is_open=name in ("Training", "Strength")
        )
        for name, panels in content.items()
    ]
    settings = ws.WorkspaceSettings(x_axis="epoch", group_by_prefix="first", max_runs=20)
    return ws.Workspace(
        entity=entity, project=project, name=NAME, sections=sections, settings=settings
    )


def panel(entry: dict[str, Any]) -> Any:
    """A panel of the file: curves, or the class that it names."""
    return wr.LinePlot(**{"x": "epoch"} | entry) if "title" in entry else _built(entry)


def _built(value: Any) -> Any:
    """`value`, or an object where it is a mapping from the name of a class to its arguments."""
    if isinstance(value, list):
        return [_built(one) for one in value]
    if not isinstance(value, dict):
        return value
    ((name, arguments),) = value.items()
    return getattr(wr, name)(**{key: _built(one) for key, one in arguments.items()})
