"""Runs the server until Ctrl-C."""

import socket
import threading
import webbrowser
from collections.abc import Callable

import uvicorn

from hexlit.errors import UsageError
from hexlit.web.app import make_app
from hexlit.web.config import WebSettings
from hexlit.web.requests import LONGEST_MESSAGE
from hexlit.web.session import Shared

SECONDS_TO_LEAVE = 3


def listen(settings: WebSettings) -> socket.socket:
    """A socket on the address and port of the settings; raises `UsageError` where there can be none."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    result = socket.socket(family, socket.SOCK_STREAM)
    result.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        result.bind((settings.host, settings.port))
        result.listen()
    except (OSError, UnicodeError) as error:  # UnicodeError: a name that cannot be one
        result.close()
        why = getattr(error, "strerror", None) or error
        message = f"port={settings.port} host={settings.host}: cannot listen ({why}); port=0 takes any that is free"
        raise UsageError(message) from error
    return result


def address(listening: socket.socket) -> str:
    """The address of the page."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{host}:{port}/"


def serve(shared: Shared, listening: socket.socket, begun: Callable[[], None]) -> None:
    """Serve the page on a socket until Ctrl-C; `begun` is called, in a thread of its own, once it can be reached."""
    config = uvicorn.Config(
        make_app(shared),
        log_level="warning",
        access_log=False,
        ws_max_size=LONGEST_MESSAGE,
        timeout_graceful_shutdown=SECONDS_TO_LEAVE,
        server_header=False,
    )
    server = uvicorn.Server(config)

    def after_start() -> None:
        if shared.settings.open:
            webbrowser.open(address(listening))
        begun()

    threading.Thread(target=after_start, name="web-begun", daemon=True).start()
    server.run(sockets=[listening])
