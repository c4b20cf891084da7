"""The command that installs an extra of hexlit, for every message that asks for one."""


def install(extra: str) -> str:
    """The command for a clone with the environment of the README; no index of packages has hexlit."""
    return f'.venv/bin/python -m pip install -e ".[{extra}]"'
