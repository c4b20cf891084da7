"""`hydra/sweeper=optuna`: makes hexlit's sweeper known to Hydra under the name of its stock plugin.

Hydra 1.3 takes plugins only from the package `hydra_plugins`. This module is therefore known under
a second name there, from wheels and editable installs alike, and takes precedence over an installed
stock plugin.
"""

import copyreg
import importlib
import sys
import types
from abc import ABCMeta
from typing import Any, ClassVar

from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from hexlit.tuning.program import Program

_ALIAS = "hydra_plugins.hexlit"


class _PluginType(ABCMeta):
    """The type of the plugin's class: it lets pickling recognise the class; see `register`."""


class OptunaSweeper(Sweeper, metaclass=_PluginType):
    """Runs trials that Optuna chooses and prunes; see `hexlit.tuning.sweep`."""

    program: ClassVar[Program] = Program()
    """The program that this process runs."""

    def __init__(self, **settings: Any) -> None:
        """Take the node `hydra.sweeper`."""
        self.settings = settings

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        self._arguments = (hydra_context, task_function)
        self.config = config

    def sweep(self, arguments: list[str]) -> Any:
        """Run the sweep over the task's overrides `arguments`."""
        from hexlit.tuning.sweep import run_sweep

        assert self.config is not None
        with self.program.session(self._arguments[0]):
            return run_sweep(self.program, self.config, self.settings, arguments, *self._arguments)


def register(program: Program) -> None:
    """Register the sweeper for `program`, and its groups."""
    parent = sys.modules.get("hydra_plugins")
    if parent is None:
        try:
            parent = importlib.import_module("hydra_plugins")
        except ImportError:  # no plugin is installed
            parent = sys.modules["hydra_plugins"] = types.ModuleType("hydra_plugins")
            parent.__path__ = []
    sys.modules[_ALIAS] = sys.modules[__name__]
    parent.hexlit = sys.modules[__name__]  # type: ignore[attr-defined]
    OptunaSweeper.__module__ = _ALIAS
    # Launchers send Hydra's list of plugins to other processes. These know the second name only
    # after they have imported this module.
    copyreg.pickle(_PluginType, lambda _: (registered, ()))
    OptunaSweeper.program = program
    Plugins.instance().register(OptunaSweeper)
    store = ConfigStore.instance()
    node = program.sweeper(_target_=f"{_ALIAS}.{OptunaSweeper.__name__}")
    store.store(group="hydra/sweeper", name="optuna", node=node, provider="hexlit")


def registered() -> type[OptunaSweeper]:
    """The plugin's class, registered in this process."""
    register(OptunaSweeper.program)
    return OptunaSweeper
