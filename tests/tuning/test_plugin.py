"""The sweeper is Hydra's `optuna`, here and in the processes of launchers."""

import pickle
import subprocess
import sys

import cloudpickle  # type: ignore[import-untyped, unused-ignore]
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins

from hexlit.commands.task_sweep import TaskProgram
from hexlit.tuning.sweeper import OptunaSweeper, register


def test_it_is_registered_under_the_stock_name() -> None:
    register(TaskProgram())
    register(TaskProgram())
    store = ConfigStore.instance()
    node = store.load("hydra/sweeper/optuna.yaml").node
    assert node._target_ == "hydra_plugins.hexlit.OptunaSweeper"
    assert Plugins.instance().class_name_to_class[node._target_] is OptunaSweeper


def test_a_process_that_knows_nothing_of_it_can_read_hydras_list_of_plugins() -> None:
    register(TaskProgram())
    for dump in (pickle.dumps, cloudpickle.dumps):
        text = dump(
            Plugins.instance().class_name_to_class["hydra_plugins.hexlit.OptunaSweeper"]
        ).hex()
        read = f"import pickle; print(pickle.loads(bytes.fromhex('{text}')).__name__)"
        done = subprocess.run(
            [sys.executable, "-c", read], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "OptunaSweeper"
