"""Ranges for settings of several tasks. Each check raises `UsageError` with one line that names the setting.

`section` is the part of the configuration with these `settings`, such as `data`.
"""

from collections.abc import Mapping

from hexlit.errors import UsageError


def check_leasts(section: str, settings: object, leasts: Mapping[str, int]) -> None:
    """Refuse a setting that is below its least value in `leasts`."""
    for name, least in leasts.items():
        value = getattr(settings, name)
        if value < least:
            raise UsageError(f"{section}.{name}={value}: must be {least} or more")


def check_dropout(section: str, settings: object, *names: str) -> None:
    """Refuse a share that drops everything, or is negative."""
    for name in names:
        value = getattr(settings, name)
        if not 0 <= value < 1:
            raise UsageError(f"{section}.{name}={value}: must be at least 0 and below 1")


def check_split(train_share: float, validation_share: float) -> None:
    """Refuse `data.train_share` and `data.validation_share` that leave a split empty."""
    for name, value in (("train_share", train_share), ("validation_share", validation_share)):
        if not 0 < value < 1:
            raise UsageError(f"data.{name}={value}: must lie between 0 and 1")
    if train_share + validation_share >= 1:
        raise UsageError(
            f"data.validation_share={validation_share}: with data.train_share={train_share} nothing is left for the "
            "test set; their sum must be below 1"
        )


def check_attention(name: str, width: int, heads: int) -> None:
    """Refuse a transformer's width, the setting `net.NAME`, that heads or sines of positions cannot divide."""
    if width % heads:
        raise UsageError(f"net.{name}={width}: must be a multiple of net.heads={heads}")
    if width % 2:
        raise UsageError(f"net.{name}={width}: must be even, as positions are pairs of sine and cosine")
