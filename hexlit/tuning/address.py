"""The address of a study's storage: a path or a URL, with its password and without."""

import os
import re
from collections.abc import Sequence
from urllib.parse import quote_plus, unquote

from hexlit.errors import UsageError

HIDDEN = "***"
STORAGE_VARIABLE = "HEXLIT_STORAGE"
"""Environment variable with the whole URL of a study. Files and command lines never show its password."""
PASSWORD_VARIABLE = "HEXLIT_STORAGE_PASSWORD"
"""Environment variable with the password of a URL that names none."""
SERVERS = ("postgresql", "mysql", "mariadb")
"""Kinds of databases that are servers."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# SQLAlchemy takes all from the first colon to an @, question marks too. What follows an @ may belong to the password.
_PASSWORD = re.compile(r"(://[^:/]*:)([^@]*(?:@[^@?]*)*)(?=@)")
_QUERY_PASSWORD = re.compile(r"([?&](?:password|passwd|pwd|sslpassword)=)([^&]*)", re.IGNORECASE)


def kind_of(address: str) -> tuple[str, str]:
    """The kind of `address`, such as `sqlite` or `journal`, and the text behind `://`; the kind of a path is empty."""
    scheme = _SCHEME.match(address)
    return ("", address) if scheme is None else (scheme[1].lower().split("+")[0], address[scheme.end() :])


def hidden_password(url: str) -> str:
    """The URL with *** in place of its password; any other text unchanged."""
    return _QUERY_PASSWORD.sub(rf"\1{HIDDEN}", _PASSWORD.sub(rf"\1{HIDDEN}", url))


def passwords(url: str) -> list[str]:
    """The passwords in `url`, as they are written there."""
    rest = _PASSWORD.sub(r"\1", url)
    return [match[2] for match in (*_PASSWORD.finditer(url), *_QUERY_PASSWORD.finditer(rest)) if match[2]]


def secrets_of(url: str) -> tuple[str, ...]:
    """The passwords of the database at `url`, its own and that of the environment, however they may be written."""
    written = passwords(url)
    message = [*written, *map(unquote, written), os.environ.get(PASSWORD_VARIABLE, "")]
    return tuple(sorted({*filter(None, message), *map(quote_plus, filter(None, message))}, key=len, reverse=True))


def without(secrets: Sequence[str], text: str) -> str:
    """The `text` with *** in place of `secrets`, the longest first."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def whole_url(shown: str | None) -> str | None:
    """The storage that is `shown` without its password, with the password again; anything else unchanged.

    Raises:
        UsageError: the environment does not hold the password.
    """
    if shown is None or HIDDEN not in shown:
        return shown
    url = os.environ.get(STORAGE_VARIABLE)
    if url is None or hidden_password(url) != shown:
        raise UsageError(f"{shown}: the password is not kept; set {STORAGE_VARIABLE} to the whole URL")
    return url


def refuse_password_in(overrides: Sequence[str]) -> None:
    """Refuse a server's password among the `overrides` of a command line, which every user of the machine can read.

    Raises:
        UsageError: there is one.
    """
    for override in overrides:
        shown = hidden_password(override)
        if shown != override and any(f"{kind}{end}" in override.lower() for kind in SERVERS for end in ":+"):
            raise UsageError(
                f"{shown}: others can read a command line; leave the password out, and set {PASSWORD_VARIABLE} to it"
            )
