"""A page without a browser: speaks the protocol with a server in this process."""

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fastapi.testclient import TestClient

from hexlit.commands.play_players import shared_by_all
from hexlit.tasks.hex import packaged as packaged_networks
from hexlit.web.config import PlayConfig
from hexlit.web.server import make_app

HOST = "127.0.0.1"
NOWHERE = Path("/no/networks")


NUMBERS = itertools.count(1)
"""Of the requests of all pages:
an answer that reaches another page than its own is known by its number.
"""


class Page:
    """One WebSocket; it numbers its requests."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket
        self.number = 0
        self.own: set[int | None] = {None}

    def send(self, do: str, **content: Any) -> int:
        self.number = next(NUMBERS)
        self.own.add(self.number)
        self.socket.send_text(json.dumps({"id": self.number, "do": do, **content}))
        return self.number

    def receive(self, number: int | None) -> list[dict[str, Any]]:
        """The answers to the request `number` up to its last;
        those to others of this page are passed over.
        """
        found: list[dict[str, Any]] = []
        while not found or not found[-1]["final"]:
            answer = self.socket.receive_json()
            assert answer["id"] in self.own, f"an answer to another page: {answer}"
            if answer["id"] == number:
                found.append(answer)
        return found

    def ends(self, count: int) -> dict[int, str]:
        """Request -> the type of its last answer, of the next `count` requests that have theirs."""
        found: dict[int, str] = {}
        while len(found) < count:
            answer = self.socket.receive_json()
            if answer["final"]:
                found[answer["id"]] = answer["type"]
        return found

    def ask(self, do: str, **content: Any) -> dict[str, Any]:
        """The last answer to a request."""
        return self.receive(self.send(do, **content))[-1]


def client(*, packaged: bool = False, **settings: Any) -> TestClient:
    """A server; it offers the packaged networks only where they are asked for."""
    settings = {"open": False, "board": 3, "rollouts": 1, "seed": 0, "interval": 0.01} | settings
    with nullcontext() if packaged else patch.object(packaged_networks, "FOLDER", NOWHERE):
        shared = shared_by_all(PlayConfig(**settings))
    return TestClient(make_app(shared), base_url=f"http://{HOST}")


@contextmanager
def opened(of: TestClient, **options: Any) -> Iterator[Page]:
    with of.websocket_connect(f"ws://{HOST}/ws", **options) as socket:
        yield Page(socket)


def game(*moves: str, size: int = 3, swap: bool = False) -> dict[str, Any]:
    return {"size": size, "swap": swap, "moves": list(moves)}
