"""Values that a search space fixes beside the searched ones, so that a full training can start without it."""

from collections.abc import Iterator, Mapping
from typing import Any

from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from hexlit.tuning.space import fixed_overrides, render


def recipe_of(config: DictConfig, fixed: Mapping[str, str], loader: Any) -> list[str]:
    """The overrides that turn the configuration without the search space into this one."""
    choices = config.hydra.runtime.choices
    if str(choices.get("sweep", "none")) == "none":
        return []
    chosen = choices.get("experiment")
    recipe = [] if chosen is None or "experiment" in fixed else [f"experiment={chosen}"]
    without = [line for line in fixed_overrides(fixed) if not line.startswith(("sweep=", "sweep."))]
    bare = loader.load_configuration(str(config.hydra.job.config_name), [*without, *recipe, "sweep=none"], RunMode.RUN)
    before, after = dict(_values(bare)), dict(_values(config))
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    return recipe + [render(key, value) for key, value in changed.items() if not key.startswith(("hydra.", "sweep."))]


def _values(config: DictConfig, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of the configuration by its dotted key, as it is written."""
    for name, value in config.items_ex(resolve=False):
        key = str(name)
        if key == "hydra" and not prefix:
            continue
        if isinstance(value, DictConfig) and not (value._is_none() or value._is_missing() or value._is_interpolation()):
            yield from _values(value, f"{prefix}{key}.")
        else:
            plain_value = OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
            yield f"{prefix}{key}", plain_value
