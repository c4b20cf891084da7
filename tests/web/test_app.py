"""Who may talk to the server, and what it bears."""

import json
import random
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
import uvicorn
from fastapi.testclient import TestClient
from starlette.testclient import WebSocketDenialResponse
from starlette.websockets import WebSocketDisconnect

from hexlit.arena.players import Player
from hexlit.commands.play_players import shared_by_all
from hexlit.hex.board import GameBoard
from hexlit.tasks.hex import packaged
from hexlit.web.config import PlayConfig
from hexlit.web.server import MOST_WAITING, listen, make_app, serve
from tests.web.pages import HOST, NOWHERE, client, game, opened


def test_the_page_and_its_files_need_no_other_place() -> None:
    server = client()
    for path, kind in (
        ("/", "text/html"),
        ("/main.mjs", "text/javascript"),
        ("/style.css", "text/css"),
    ):
        found = server.get(path)
        assert (found.status_code, found.headers["content-type"].partition(";")[0]) == (200, kind)
        assert found.headers["content-security-policy"].startswith("default-src 'self';")
        assert "http://" not in found.text.replace("http://www.w3.org/2000/svg", "")
        assert "https://" not in found.text.replace("https://hexworld.org", "")
    assert server.get("/docs").status_code == 404


def test_other_origins_and_other_names_are_refused() -> None:
    server = client()
    assert server.get("/", headers={"host": "evil.example"}).status_code == 400
    with pytest.raises(WebSocketDenialResponse), server.websocket_connect("ws://evil.example/ws"):
        pass
    with (
        pytest.raises((WebSocketDisconnect, WebSocketDenialResponse)),
        opened(server, headers={"origin": "http://evil.example"}),
    ):
        pass
    with opened(server, headers={"origin": f"http://{HOST}"}) as page:
        assert page.ask("hello")["type"] == "hello"


def test_a_thousand_malformed_messages() -> None:
    draw = random.Random(1)
    good = json.dumps(
        {"id": 5, "do": "move", "position": game("a1"), "player": "rollouts", "simulations": 4}
    )
    malformed: list[Callable[[], str]] = [
        lambda: "".join(draw.choice('{}[]":,0aé\\ ') for _ in range(draw.randrange(60))),
        lambda: good[: draw.randrange(len(good))],
        lambda: good.replace(
            draw.choice(["5", "move", "a1", "rollouts", "3"]), draw.choice(["-1", "null", "1e99"])
        ),
        lambda: json.dumps([[[draw.random()]]] * draw.randrange(5)),
        lambda: '{"id":' * draw.randrange(1, 3000),
    ]
    with opened(client()) as page:
        for number in range(1000):
            message = malformed[number % 5]()
            page.socket.send_text(message)
            answer = page.socket.receive_json()
            while not answer["final"]:
                answer = page.socket.receive_json()
            assert answer["type"] in ("error", "move"), message
        page.socket.send_bytes(bytes([0xFF, 0xFE, 0x00]))
        assert page.socket.receive_json()["type"] == "error"
        assert page.ask("hello")["type"] == "hello"


def frame(kind: int, content: bytes) -> bytes:
    """A frame of a WebSocket from a browser, with a mask of zeros."""
    return bytes([0x80 | kind, 0x80 | len(content)]) + bytes(4) + content


def handshake(page: socket.socket) -> None:
    page.settimeout(30)
    page.sendall(
        b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    assert b"101 Switching Protocols" in page.recv(4096)


def test_a_text_that_is_no_utf_8_ends_that_connection_with_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    servers = []

    class Kept(uvicorn.Server):
        def __init__(self, config: uvicorn.Config) -> None:
            super().__init__(config)
            servers.append(self)

    monkeypatch.setattr(uvicorn, "Server", Kept)
    settings = PlayConfig(port=0, open=False)
    listening, begun = listen(settings), threading.Event()
    shared = shared_by_all(settings)
    thread = threading.Thread(target=serve, args=(shared, listening, begun.set))
    thread.start()
    try:
        assert begun.wait(30)
        with socket.create_connection(listening.getsockname()) as page:
            handshake(page)
            page.sendall(frame(1, b"\xff\xfe"))
            assert page.recv(4096)[:1] == b"\x88"  # the server closes
        with socket.create_connection(listening.getsockname()) as page:
            handshake(page)
            page.sendall(frame(1, b'{"id":1,"do":"hello"}'))
            assert b"hello" in page.recv(4096)
    finally:
        servers[0].should_exit = True
        thread.join(30)
    error = capfd.readouterr().err
    assert "Invalid UTF-8 sequence received from client" in error
    assert "Traceback" not in error


def test_pages_do_not_mix_and_share_the_processor() -> None:
    """While one page studies without an end, others play;
    each gets answers to its own requests only.
    """
    server = client(live_simulations=1_000_000)
    with opened(server) as first:
        study = first.send("study", position=game(size=5), player="rollouts")
        ends: list[str] = []

        def play(start: str) -> None:
            with opened(server) as page:
                position = game(start)
                while True:
                    answer = page.ask("move", position=position, player="rollouts", simulations=8)
                    position["moves"].append(answer["move"])
                    if answer["position"]["winner"]:
                        ends.append(position["moves"][0])
                        return

        others = [threading.Thread(target=play, args=(start,)) for start in ("a1", "b2", "c3")]
        for one in others:
            one.start()
        for one in others:
            one.join(60)
        assert sorted(ends) == ["a1", "b2", "c3"]
        assert first.socket.receive_json()["id"] == study
        assert first.ask("stop")["type"] == "stopped"


def test_a_classic_player_that_thinks_keeps_nobody_waiting() -> None:
    thinks, may_move = threading.Event(), threading.Event()

    class Slow(Player):
        def answer(self, boards: Sequence[GameBoard]) -> list[int]:
            thinks.set()
            assert may_move.wait(60)
            return [0]

    with patch.object(packaged, "FOLDER", NOWHERE):
        shared = shared_by_all(PlayConfig(open=False, board=3, rollouts=1))
    offers = shared.roster.offers
    assert {name for name, offer in offers.items() if offer.in_parallel} == {
        "two_distance",
        "random",
    }
    offers["two_distance"] = replace(offers["two_distance"], one_game=lambda size: Slow())
    server = TestClient(make_app(shared), base_url=f"http://{HOST}")
    with opened(server) as first, opened(server) as second:
        slow = first.send("move", position=game(), player="two_distance")
        try:
            assert thinks.wait(60)
            found: list[dict[str, Any]] = []
            asks = threading.Thread(
                target=lambda: found.append(
                    second.ask("move", position=game("b2"), player="rollouts", simulations=4)
                ),
                daemon=True,
            )
            asks.start()
            asks.join(60)
            assert [answer["type"] for answer in found] == ["move"]
        finally:
            may_move.set()
        assert first.receive(slow)[-1]["move"] == "a1"


def test_a_page_that_reads_late_gets_every_answer() -> None:
    with opened(client()) as page:
        numbers = [page.send("position", position=game("a1")) for _ in range(3 * MOST_WAITING)]
        assert [page.socket.receive_json()["id"] for _ in numbers] == numbers


def test_no_more_pages_than_are_allowed() -> None:
    server = client(browsers=1)
    with opened(server) as first:
        assert first.ask("hello")["type"] == "hello"
        with opened(server) as second:
            assert "browsers=1" in second.socket.receive_json()["text"]
    with opened(server) as third:
        assert third.ask("hello")["type"] == "hello"
