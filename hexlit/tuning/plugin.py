"""`import hexlit.tuning.plugin` gives any program with `@hydra.main` hexlit's `hydra/sweeper=optuna`.

With it come its samplers and pruners. In the process of a trial the import also ties the process to
its sweep.
"""

from importlib.resources import files

from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

from hexlit.cluster.lifeline import end_with_parent
from hexlit.tuning import sweeper


def register_groups() -> None:
    """Register the samplers and pruners in `conf/`: other programs do not look there."""
    store = ConfigStore.instance()
    for group in ("hydra/sweeper/sampler", "hydra/sweeper/pruner"):
        for path in files("hexlit.conf").joinpath(group).iterdir():
            node = OmegaConf.create(path.read_text(encoding="utf-8"))
            name = path.name.removesuffix(".yaml")
            store.store(group=group, name=name, node=node, provider="hexlit")


end_with_parent()
sweeper.registered()
register_groups()
