"""Runs the server until Ctrl-C."""

import asyncio
import contextlib
import json
import logging
import socket
import threading
import webbrowser
from collections.abc import Awaitable, Callable

import uvicorn
from fastapi import FastAPI, Request, Response, WebSocket, WebSocketDisconnect
from fastapi.concurrency import run_in_threadpool
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.staticfiles import StaticFiles

from hexlit.errors import UsageError
from hexlit.web.config import WebSettings
from hexlit.web.messages import LONGEST_MESSAGE
from hexlit.web.pages import PAGE
from hexlit.web.session import Answer, BrowserSession, Shared

SECONDS_TO_LEAVE = 3


def listen(settings: WebSettings) -> socket.socket:
    """A socket on the address and port of the settings; raises `UsageError` where there can be
    none.
    """
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


def serve(
    shared: Shared,
    listening: socket.socket,
    begun: Callable[[], None],
    ended: Callable[[], None] = lambda: None,
) -> None:
    """Serve the page on a socket until Ctrl-C.

    `begun` is called, in a thread of its own, once the page can be reached; `ended` at Ctrl-C,
    before that thread is waited for.
    """
    config = uvicorn.Config(
        make_app(shared),
        log_level="warning",
        access_log=False,
        ws_max_size=LONGEST_MESSAGE,
        timeout_graceful_shutdown=SECONDS_TO_LEAVE,
        server_header=False,
    )
    server = uvicorn.Server(config)
    logging.getLogger("uvicorn.error").addFilter(_without_traceback)

    def after_start() -> None:
        if shared.settings.open:
            webbrowser.open(address(listening))
        begun()

    thread = threading.Thread(target=after_start, name="web-begun")
    thread.start()
    try:
        server.run(sockets=[listening])
    finally:
        ended()
        thread.join()  # an interpreter that ends under a thread in compiled code hangs or aborts


HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
OWN_NAMES = ("localhost", "127.0.0.1", "[::1]")
EVERYWHERE = ("0.0.0.0", "[::]")
MOST_WAITING = 64
"""Most pending answers of a slow browser; beyond it no requests are read, and reports of a study
are dropped.
"""
SECONDS_TO_DRAIN = 0.05
"""Seconds between two checks whether it has taken some."""

TRY_LATER, FOREIGN = 1013, 1008
"""Codes that close a WebSocket (RFC 6455)."""


def _without_traceback(record: logging.LogRecord) -> bool:
    """Leave a line of a text that is no UTF-8: the server has closed that connection, and goes
    on.
    """
    if record.exc_info and isinstance(record.exc_info[1], UnicodeDecodeError):
        record.exc_info = None
    return True


def make_app(shared: Shared) -> FastAPI:
    """The application that serves the page; `shared` is common to all browsers."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=allowed_names(shared.settings))

    @app.middleware("http")
    async def secured(
        request: Request, following: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        response = await following(request)
        response.headers.update(HEADERS)
        return response

    pages = 0

    @app.websocket("/ws")
    async def talk(socket: WebSocket) -> None:
        nonlocal pages
        if not same_origin(socket.headers.get("origin"), socket.headers.get("host", "")):
            await socket.close(FOREIGN)
            return
        await socket.accept()
        if pages >= shared.settings.browsers:
            message = (
                f"no further page may be open next to {pages}, as browsers={pages} says; close one"
            )
            await socket.send_text(
                json.dumps({"id": None, "type": "error", "text": message, "final": True})
            )
            await socket.close(TRY_LATER)
            return
        pages += 1
        try:
            await converse(socket, shared)
        finally:
            pages -= 1

    app.mount("/", StaticFiles(directory=PAGE, html=True))
    return app


async def converse(socket: WebSocket, shared: Shared) -> None:
    """Answer one browser until it leaves."""
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[Answer] = asyncio.Queue()

    def put(answer: Answer) -> None:
        if answer["type"] != "study" or answer["final"] or waiting.qsize() < MOST_WAITING:
            waiting.put_nowait(answer)

    def send(answer: Answer) -> None:
        with contextlib.suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(put, answer)

    async def write() -> None:
        while True:
            await socket.send_text(json.dumps(await waiting.get()))

    session = BrowserSession(shared, send)
    writer = asyncio.create_task(write())
    try:
        while not writer.done():
            while (
                waiting.qsize() >= MOST_WAITING and not writer.done()
            ):  # it sends, and does not read
                await asyncio.sleep(SECONDS_TO_DRAIN)
            # Not in this thread: a long text takes a while to be read.
            await run_in_threadpool(session.take, await _message(socket))
    except (
        WebSocketDisconnect,
        RuntimeError,
    ):  # RuntimeError: the socket was closed while a message was awaited
        pass
    finally:
        try:
            writer.cancel()
            with contextlib.suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError):
                await writer
        finally:
            await run_in_threadpool(session.close)


async def _message(socket: WebSocket) -> str | bytes:
    """The next message, text or not; raises `WebSocketDisconnect` at the end."""
    event = await socket.receive()
    if event["type"] == "websocket.disconnect":
        raise WebSocketDisconnect
    return event.get("text") or event.get("bytes") or ""


def allowed_names(settings: WebSettings) -> list[str]:
    """Names of the server that a browser may use, without the port."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return [*OWN_NAMES, *([host] if host not in EVERYWHERE else []), *settings.names]


def same_origin(origin: str | None, host: str) -> bool:
    """Whether a page of this server opened the WebSocket, or a program, which names no origin."""
    return origin is None or origin.partition("://")[2].lower() == host.lower()
