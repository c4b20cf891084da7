"""Settings for all tests: how they are spread over the cores,
and what all their processes share.
"""

import contextlib
import gc
import importlib
import os
import sys
import tempfile
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from hexlit.accelerate.host import free_host_bytes, usable_cores
from hexlit.hex import jit as jit  # names the folder of the kernels

# Tests import the plain Python references that stand beside them, however pytest was started. At
# the end of the path, so that hexlit is imported as it was installed.
ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.append(ROOT)

if TYPE_CHECKING:
    import torch

WORKER_BYTES = 3 * 2**30
"""Host memory of one worker and the processes that its tests start."""

# One folder of compiled kernels for the workers and every process that a test starts, also where
# the test gives it another home or another cache. `jit` adds a folder that is named after the
# sources of the kernels.
os.environ.setdefault("NUMBA_CACHE_DIR", str(jit.FOLDER.parent))

# A thread that waits for others leaves its core to the other workers and to the processes that the
# tests start. By default OpenMP's threads keep it busy, which with more threads than cores costs
# several times the work itself.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# torch.compile compiles in this process; its pool of processes would import torch anew for the one
# small network.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

# TensorBoard brings absl. Its log handler closes the stream that it met on import, unless that is
# the process's own: the stream of the tests must not be the one.
if find_spec("absl") is not None:
    with contextlib.redirect_stderr(sys.__stderr__):
        importlib.import_module("absl.logging")

# Runs log offline here, whatever the environment of whoever runs the tests says.
for name in [name for name in os.environ if name.startswith("WANDB_")]:
    del os.environ[name]
os.environ["WANDB_DATA_DIR"] = str(
    Path(tempfile.gettempdir()) / "hexlit-tests" / "wandb"
)  # it keeps copies of tables

# The first call of a kernel compiles it, which no deadline of an example can foresee.
settings.register_profile("hexlit", deadline=None)
settings.load_profile("hexlit")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the command line name the device of the tests that can run on any."""
    said = "device of the tests that take the fixture `device`: cpu, cuda, cuda:N, mps, or auto (the first that exists)"
    parser.addoption("--device", default="cpu", metavar="DEVICE", help=said)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a device that is not there before any test runs; the standard one is not tried, for
    torch takes a while.

    Raises:
        pytest.UsageError: there is no such device on this machine; what to do is said.
    """
    name = config.getoption("--device")
    if name == "cpu":
        return
    from hexlit.accelerate.device import choose_device
    from hexlit.errors import UsageError

    try:
        choose_device(name)
    except UsageError as error:
        raise pytest.UsageError(str(error).replace("accelerator.device=", "--device=")) from error


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> "torch.device":
    """The device of `pytest --device=...`, the CPU unless given; it is there."""
    from hexlit.accelerate.device import choose_device

    return choose_device(request.config.getoption("--device"))


@pytest.hookimpl(optionalhook=True)  # xdist may not be there
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than usable cores, as far as the memory goes.

    Many tests wait for processes, servers and time limits. Two workers leave a quarter of two cores
    idle.
    """
    return max(1, min(usable_cores() + 1, free_host_bytes() // WORKER_BYTES))


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Use all cores, unless the command line says otherwise (`-n 0`), xdist is not there, or one
    test is asked for.

    Workers take neighbouring tests, so that few of them need the fixtures of the same module.
    """
    option = config.option
    if not config.pluginmanager.hasplugin("xdist") or hasattr(config, "workerinput"):
        return
    if (
        option.numprocesses is None
        and not option.tx
        and not any("::" in argument for argument in config.args)
    ):
        option.numprocesses = "auto"
    if option.numprocesses and option.dist == "no":
        option.dist = "worksteal"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what was imported and collected out of every search for garbage, in this hook and in
    the tests after it.

    None of it goes away again, and going through all of it takes half a second, in tests that
    collect explicitly.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the main kernels before the workers of a whole run begin, where there are none."""
    from tests import kernels  # here: only now is it on the path

    config = session.config
    whole, workers = (
        config.args_source == pytest.Config.ArgsSource.TESTPATHS,
        config.getoption("tx", None),
    )
    if not whole or not workers or hasattr(config, "workerinput") or config.option.collectonly:
        return
    if kernels.missing(jit.FOLDER):
        config.get_terminal_writer().line(
            "compiling the kernels, once for this state of the sources ..."
        )
        kernels.compile_kernels(usable_cores())


@pytest.fixture(scope="session", autouse=True)
def _a_share_of_the_cores() -> None:
    """Workers side by side share the cores.
    A test that is about threads, and every command, sets their number.
    """
    import torch  # here: the process that only hands out the tests needs none

    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    torch.set_num_threads(max(1, usable_cores() // workers))


@pytest.fixture(scope="session", autouse=True)
def _commands_are_composed_once() -> None:
    """Spare commands in a test's own process what Hydra does twice,
    half of their time. Other processes do it all.
    """
    from hydra._internal.hydra import Hydra
    from hydra.core.config_store import ConfigStore

    asked = Hydra.get_mode

    def mode_of(hydra: Hydra, config_name: str | None, overrides: list[str]) -> object:
        """Hydra composes every command once more,
        to ask whether its configuration wants `--multirun`.
        """
        return (
            asked(hydra, config_name, overrides)
            if any("hydra.mode" in word for word in overrides)
            else None
        )

    Hydra.get_mode = mode_of  # type: ignore[assignment, method-assign]
    # It copies the store of all schemas for every command, though its copy is only read.
    ConfigStore.__deepcopy__ = lambda self, memo: self  # type: ignore[attr-defined]


@pytest.fixture(scope="session", autouse=True)
def _own_slots(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No trial waits for a slot of another worker's sweep, or of the user's."""
    os.environ["HEXLIT_SLOTS"] = str(tmp_path_factory.mktemp("slots"))


@pytest.fixture
def no_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No account at W&B of whoever runs the tests, and no server."""
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Generator[object]:
    """A Chromium without a window."""
    from tests.chromium import chromium

    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened
