"""Runtimes beside torch that can evaluate a network on a CPU: the installed ones, and their versions."""

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import torch

from hexlit.errors import UsageError
from hexlit.extras import install

PACKAGES = {"onnxruntime": ("onnxruntime", "onnx"), "openvino": ("openvino",)}
"""Packages that each optional backend imports."""

EXTRAS = {"onnxruntime": "onnx", "openvino": "openvino"}
"""The extra of hexlit that installs them."""

DTYPES = {
    "winograd": (torch.float32,),
    "onnxruntime": (torch.float32,),
    "openvino": (torch.float32, torch.bfloat16),
}
"""Number formats of backends that do not compute in all formats on a CPU."""


def is_installed(backend: str) -> bool:
    """Whether every package of the optional `backend` is installed. Imports nothing."""
    return all(find_spec(name) is not None for name in PACKAGES[backend])


def installed_backends(dtype: torch.dtype | None = None) -> list[str]:
    """The installed optional backends; with a `dtype`, those that compute in it."""
    return [name for name in PACKAGES if (dtype is None or dtype in DTYPES[name]) and is_installed(name)]


def install_command(backend: str) -> str:
    """The command that installs the optional `backend`."""
    return install(EXTRAS[backend])


def require_backend(backend: str) -> None:
    """Refuse the optional `backend` if it is not installed.

    Raises:
        UsageError: a package is missing; the message has the command that installs it.
    """
    if not is_installed(backend):
        missing = " and ".join(name for name in PACKAGES[backend] if find_spec(name) is None)
        raise UsageError(f"accelerator.inference={backend}: {missing} not installed; {install_command(backend)}")


def backend_versions() -> dict[str, str]:
    """Versions of torch, of Numba, and of every installed optional backend."""
    return {name: _version(name) for name in ("torch", "numba", *installed_backends())}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # installed under another name, such as onnxruntime-gpu
        return "unknown"
