"""A stand-in for the server of `hexlit play`: it serves the page, and answers with made-up but consistent data.

Programs play random cells; values follow from the stones by a checksum, so the same position always gets the same
ones. `python -m tests.web.fake_server [PORT]` prints its address once it listens. It needs no network and no kernels,
so tests of the page start at once.
"""

import asyncio
import json
import random
import re
import socket
import sys
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Response, WebSocket, WebSocketDisconnect

from hexlit.errors import UsageError
from hexlit.web.requests import PositionText, number_of, parse

PAGE = Path(__file__).resolve().parents[2] / "hexlit" / "web" / "page"
FILES = {
    "/": ("index.html", "text/html"),
    "/board.js": ("board.js", "text/javascript"),
    "/style.css": ("style.css", "text/css"),
}
POLICY = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"
PLAYERS = [
    {"name": "net", "title": "a network of 10 blocks with 128 channels", "studies": True},
    {"name": "random", "title": "random cells", "studies": False},
]
SOLVER_BOARD = 8
STEP, INTERVAL, ENOUGH = 60, 0.1, 3000
"""Visits that a study grows by, seconds between two of its reports, and visits at which it ends."""
THINKING = 0.15
"""Seconds that a move takes."""
SWAP = "swap-pieces"
_AROUND = ((-1, 0), (1, 0), (0, -1), (0, 1), (-1, 1), (1, -1))

Answer = dict[str, Any]


class Stones:
    """The stones of a position; White's swap moves the first one to the mirrored cell."""

    def __init__(self, position: PositionText) -> None:
        self.size = position.size
        self.moves = position.moves
        self.cells: dict[tuple[int, int], str] = {}
        for ply, move in enumerate(position.moves):
            if self.winner():
                raise UsageError(f"move {move}: the game is over")
            if move == SWAP and (ply != 1 or not position.swap):
                raise UsageError(f"move {move}: not now")
            if move == SWAP:
                ((column, row),) = self.cells
                self.cells = {(row, column): "white"}
            else:
                place = self.place(move)
                if place in self.cells or max(place) >= self.size:
                    raise UsageError(f"move {move}: no empty cell")
                self.cells[place] = "white" if ply % 2 else "black"
        self.to_move = "white" if len(self.moves) % 2 else "black"
        self.may_swap = position.swap and len(self.moves) == 1

    @staticmethod
    def place(name: str) -> tuple[int, int]:
        """Column and row of a cell."""
        if not re.fullmatch("[a-s][1-9][0-9]?", name):
            raise UsageError(f"move {name}: no cell")
        return ord(name[0]) - ord("a"), int(name[1:]) - 1

    def empty(self) -> list[str]:
        """The names of the empty cells."""
        every = range(self.size)
        return [
            f"{chr(ord('a') + column)}{row + 1}" for row in every for column in every if (column, row) not in self.cells
        ]

    def winner(self) -> str:
        """The colour that connects its edges, or nothing."""
        for colour, axis in (("black", 1), ("white", 0)):
            waiting = [place for place, stone in self.cells.items() if stone == colour and place[axis] == 0]
            seen = set(waiting)
            while waiting:
                place = waiting.pop()
                if place[axis] == self.size - 1:
                    return colour
                for down, right in _AROUND:
                    beside = place[0] + right, place[1] + down
                    if self.cells.get(beside) == colour and beside not in seen:
                        seen.add(beside)
                        waiting.append(beside)
        return ""

    def value(self, *more: str) -> float:
        """A made-up value for Black in (-1, 1), that moves little from ply to ply, but for some mistakes."""
        moves, worth = [*self.moves, *more], 0.0
        for ply in range(1, len(moves) + 1):
            drawn = zlib.crc32(" ".join(moves[:ply]).encode()) % 1000 / 1000
            worth += (drawn - 0.5) * 0.12 if drawn < 0.9 else (0.5 if ply % 2 == 0 else -0.5)
        return max(-0.95, min(0.95, worth))

    def candidates(self, visits: int) -> list[Answer]:
        """Moves that a search has tried: the nearer to the middle, the more often."""
        middle = (self.size - 1) / 2
        sign = 1 if self.to_move == "black" else -1
        found = []
        for name in [*self.empty(), *([SWAP] if self.may_swap else [])]:
            column, row = (middle, 0) if name == SWAP else self.place(name)
            far = abs(column - middle) + abs(row - middle) + abs(column + row - 2 * middle)
            found.append((0.62**far + 1e-4 * (zlib.crc32(name.encode()) % 97), name))
        total = sum(weight for weight, _ in found)
        shares = sorted(((weight / total, name) for weight, name in found), reverse=True)
        tried = [
            {"move": name, "visits": round(share * visits), "prior": share, "value": sign * self.value(name)}
            for share, name in shares
        ]
        return [one for one in tried if one["visits"]] or [tried[0] | {"visits": 1}]

    def expected(self) -> list[str]:
        """A line from here."""
        return [one["move"] for one in self.candidates(10**6) if one["move"] != SWAP][:6]


async def answers(request: Any) -> AsyncIterator[Answer]:
    """The answers to one request, the last with `final`."""
    if request.do == "hello":
        yield {"version": "0.0", "players": PLAYERS, "board": 11, "simulations": 200, "solver_board": SOLVER_BOARD}
        return
    if request.do == "read":
        yield game_of(request.text)
        return
    stones = Stones(request.position)
    over = stones.winner()
    sign = 1 if stones.to_move == "black" else -1
    if request.do == "write":
        yield {"text": text_of(request), "suffix": ".sgf" if request.format == "sgf" else ".txt"}
    elif request.do == "openings":
        await asyncio.sleep(THINKING)
        middle = (stones.size - 1) / 2
        far = {
            name: sum(abs(part - middle) for part in stones.place(name))
            for name in Stones(PositionText(size=stones.size)).empty()
        }
        yield {"values": {name: max(-0.9, 0.9 - 1.5 * distance / stones.size) for name, distance in far.items()}}
    elif request.do == "review":
        values = [
            Stones(PositionText(size=stones.size, swap=request.position.swap, moves=stones.moves[:ply])).value()
            for ply in range(len(stones.moves) + 1)
        ]
        for ply, value in enumerate(values):
            await asyncio.sleep(0.02)
            now = Stones(PositionText(size=stones.size, swap=request.position.swap, moves=stones.moves[:ply]))
            line = [] if now.winner() else now.expected()
            last = ply == len(stones.moves)
            cost = 0.0 if last else max(0.0, (value - values[ply + 1]) / 2 * (-1 if ply % 2 else 1))
            yield {
                "ply": ply,
                "plies": len(stones.moves),
                "value": value,
                "best": (line or [""])[0],
                "expected": line,
                "cost": cost,
                "final": last,
            }
    elif over:
        raise UsageError("the game is over")
    elif request.do == "move":
        await asyncio.sleep(THINKING)
        move = random.choice(stones.empty())
        yield {"move": move, "value": sign * stones.value(move), "found": None}
    elif request.do == "study":
        visits, most = 1, min(request.simulations or ENOUGH, ENOUGH)
        while True:
            await asyncio.sleep(INTERVAL)
            visits = min(most, visits + STEP)
            yield {
                "visits": visits,
                "value": sign * stones.value(),
                "candidates": stones.candidates(visits)[:40],
                "expected": stones.expected(),
                "full": False,
                "final": visits == most,
            }
            if visits == most:
                return
    elif request.do == "look":
        await asyncio.sleep(0.05)
        yield {
            "value": sign * stones.value(),
            "policy": {one["move"]: one["prior"] for one in stones.candidates(10**9)},
        }
    elif request.do == "solve":
        if stones.size > 6:
            await asyncio.sleep(2)
            raise UsageError("not solved within solver_seconds=2; with more stones it may be")
        await asyncio.sleep(THINKING)
        near = [one["move"] for one in stones.candidates(10**6) if one["move"] != SWAP]
        links = {"black": {"strength": "semi", "carrier": near[:5]}, "white": {"strength": "", "carrier": []}}
        yield {
            "winner": stones.to_move,
            "winning": near[:3],
            "must_play": near[3:8],
            "links": links,
            "nodes": 12345,
            "seconds": 0.15,
        }


def game_of(text: str) -> Answer:
    """A game of an SGF file with `a1` cells, or of a link such as #11,a3b4."""
    size = re.search(r"SZ\[(\d+)\]", text) or re.search(r"#(\d+)", text)
    if size is None:
        raise UsageError("text: no game of Hex in a known format")
    sgf = "SZ[" in text
    found = re.findall(r";[BW]\[([a-z0-9-]+)\]", text) if sgf else re.findall(r"[a-s][0-9]{1,2}|:s", text)
    moves = [SWAP if move == ":s" else move for move in found]
    return {
        "format": "sgf" if sgf else "hexworld",
        "size": int(size[1]),
        "swap": SWAP in moves,
        "moves": moves,
        "black": "",
        "white": "",
    }


def text_of(request: Any) -> str:
    """The game as SGF, or as a link in every other format."""
    position = request.position
    if request.format == "sgf":
        moves = "".join(f";{'BW'[ply % 2]}[{move}]" for ply, move in enumerate(position.moves))
        return f"(;FF[4]GM[11]SZ[{position.size}]{moves})\n"
    moves = "".join(":s" if move == SWAP else move for move in position.moves)
    return f"https://hexworld.org/board/#{position.size},{moves}"


def make_app() -> FastAPI:
    """The page, and a WebSocket."""
    app = FastAPI()

    def serve(path: str, name: str, kind: str) -> None:
        @app.get(path)
        async def give() -> Response:
            return Response((PAGE / name).read_bytes(), media_type=kind, headers={"Content-Security-Policy": POLICY})

    for path, (name, kind) in FILES.items():
        serve(path, name, kind)

    @app.websocket("/ws")
    async def talk(browser: WebSocket) -> None:
        await browser.accept()
        lanes: dict[str, tuple[asyncio.Task[None], int]] = {}

        async def carry_out(request: Any) -> None:
            kind = {"hello": "hello", "read": "game", "write": "text"}.get(request.do, request.do)
            try:
                async for answer in answers(request):
                    await browser.send_text(json.dumps({"id": request.id, "type": kind, "final": True} | answer))
            except UsageError as error:
                await browser.send_text(
                    json.dumps({"id": request.id, "type": "error", "text": str(error), "final": True})
                )

        async def drop(lane: str) -> None:
            task, number = lanes.pop(lane, (None, 0))
            if task is not None and task.cancel():
                await browser.send_text(json.dumps({"id": number, "type": "stopped", "final": True}))

        try:
            while True:
                text = await browser.receive_text()
                try:
                    request = parse(text)
                except UsageError as error:
                    wrong = {"id": number_of(text), "type": "error", "text": str(error), "final": True}
                    await browser.send_text(json.dumps(wrong))
                    continue
                if request.do == "stop":
                    for lane in list(lanes):
                        await drop(lane)
                    await browser.send_text(json.dumps({"id": request.id, "type": "stopped", "final": True}))
                elif request.do in ("hello", "read", "write", "position"):
                    await carry_out(request)
                else:
                    lane = "solve" if request.do == "solve" else "search"
                    await drop(lane)
                    lanes[lane] = asyncio.create_task(carry_out(request)), request.id
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            for task, _ in lanes.values():
                task.cancel()

    return app


def main() -> None:
    """Serve on the port of the command line, or on any that is free."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0))
    listening.listen()
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/", flush=True)
    uvicorn.Server(uvicorn.Config(make_app(), log_level="warning")).run(sockets=[listening])


if __name__ == "__main__":
    main()
