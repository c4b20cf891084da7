"""The project's page on Weights & Biases: the sections of `templates/workspace.yaml`, over the logged metrics."""

from pathlib import Path
from typing import Any

import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws
from omegaconf import OmegaConf

NAME = "hexlit"
OBJECTIVE = "objective_value"
"""Name of a trial's value in its summary."""
_LOGARITHMIC = ("optimizer.lr", "optimizer.weight_decay")


def build_workspace(entity: str, project: str) -> ws.Workspace:
    """The workspace of `entity`/`project`; nothing is sent before `save`."""
    content: Any = OmegaConf.to_container(OmegaConf.load(Path(__file__).parent / "templates" / "workspace.yaml"))
    sections = [
        ws.Section(name=name, panels=[panel(**one) for one in panels], is_open=name in ("Training", "Strength"))
        for name, panels in content.items()
    ]
    settings = ws.WorkspaceSettings(x_axis="epoch", group_by_prefix="first", max_runs=20)
    return ws.Workspace(entity=entity, project=project, name=NAME, sections=sections, settings=settings)


def panel(title: str = "", x: str = "epoch", **kind: Any) -> Any:
    """A panel of the file; without a `kind` of its own the curves of some metrics."""
    objective = wr.SummaryMetric(OBJECTIVE)
    match kind:
        case {"table": name}:
            return wr.WeavePanelSummaryTable(table_name=name)
        case {"media": keys}:
            return wr.MediaBrowser(title=title, media_keys=keys)
        case {"bars": metric}:
            look: Any = {"groupby": wr.Config("device"), "groupby_aggfunc": "median"}
            return wr.BarPlot(title=title, metrics=[metric], **look)
        case {"scatter": name}:
            return wr.ScatterPlot(title=title, x=wr.Config(name), y=objective, log_x=True)
        case {"importance": True}:
            return wr.ParameterImportancePlot(with_respect_to=OBJECTIVE)
        case {"coordinates": names}:
            logs = {name: True if name in _LOGARITHMIC else None for name in names}
            columns = [wr.ParallelCoordinatesPlotColumn(metric=wr.Config(name), log=log) for name, log in logs.items()]
            return wr.ParallelCoordinatesPlot(
                title=title, columns=[*columns, wr.ParallelCoordinatesPlotColumn(metric=objective)]
            )
    return wr.LinePlot(title=title, x=x, **kind)
