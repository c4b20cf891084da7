"""Extras of hexlit: the command that installs one, and the refusal of a run whose packages are missing."""

from collections.abc import Mapping
from importlib.util import find_spec

from hexlit.errors import UsageError


def install(extra: str) -> str:
    """The command for a clone with the environment of the README; no index of packages has hexlit."""
    return f'.venv/bin/python -m pip install -e ".[{extra}]"'


def require(setting: str, packages: Mapping[str, str], extra: str) -> None:
    """Refuse `setting` if packages are missing; none is imported, since some take seconds.

    Args:
        setting: the setting that needs them, such as `task=classify`.
        packages: module -> name of its package.
        extra: the extra with all of them.

    Raises:
        UsageError: one of them is not installed.
    """
    missing = [name for module, name in packages.items() if find_spec(module) is None]
    if missing:
        several = "s" if len(missing) > 1 else ""
        raise UsageError(f"{setting}: needs the package{several} {', '.join(missing)}; {install(extra)}")
