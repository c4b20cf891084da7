"""The section `logger.wandb` of the configuration. Nothing heavy is imported here."""

from dataclasses import dataclass, field

from hexlit.errors import UsageError
from hexlit.settings import Settings, one_of

MODES = ("offline", "online", "disabled")


@dataclass
class WandbConfig(Settings, section="logger.wandb"):
    """Weights & Biases. Offline by default: nothing leaves the machine until `wandb sync`.

    A setting that is null comes from the environment variable that W&B documents for it.
    """

    mode: str | None = one_of(MODES, None)
    """Mode. Without a key or a network online falls back to offline, with a warning. Null:
    WANDB_DISABLED, WANDB_MODE, else offline.
    """
    project: str | None = None
    """Name of the project. Null: WANDB_PROJECT, else hexlit."""
    entity: str | None = None
    """User or team that owns the project. Null: WANDB_ENTITY, else the default of the account."""
    name: str | None = None
    """Name of the run. Null: WANDB_NAME, else the recipe and the folder."""
    group: str | None = None
    """Group of the run; the trials of a sweep share one, and so do the jobs of a plain --multirun.
    Null: WANDB_RUN_GROUP.
    """
    tags: list[str] = field(default_factory=list)
    """Further tags of the run. Empty: WANDB_TAGS, separated by commas."""
    artifacts: bool = True
    """Whether to log checkpoints and their training data as artifacts; trials of a sweep never
    do.
    """
    media: bool = True
    """Whether to log pictures and tables at every evaluation."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.project is not None:
            check_project("logger.wandb.project", self.project)


def check_project(setting: str, project: str) -> None:
    """Raise `UsageError` in the name of `setting` where W&B takes no such name of a project."""
    if not project or any(character in project for character in "/\\#?%:"):
        raise UsageError(f"{setting}={project!r}: a name without any of / \\ # ? % :")
