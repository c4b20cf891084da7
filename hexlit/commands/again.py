"""The command line of a Hydra application, ready to be typed again."""

import shlex


def same_command(command: str, *more: str, without: str | None = None) -> str:
    """`command` with the overrides it was called with, and `more`, each in place of an earlier one of its key.

    The setting `without` is left out.
    """
    from hydra.core.hydra_config import HydraConfig

    replaced = tuple(f"{setting.partition('=')[0]}=" for setting in (*more, *filter(None, [without])))
    given = [str(override) for override in HydraConfig.get().overrides.task]
    return " ".join([command, shlex.join([*(one for one in given if not one.startswith(replaced)), *more])])
