"""Messages between the page and the server: JSON objects over one WebSocket.

The page keeps the game with its variations; the server keeps no game. Each request contains its
position, so browsers cannot mix, and a page that lost its connection asks again.

A request has a number `id` and a field `do`. Its answers repeat the `id` and have a `type`; the
last one has `"final": true`. Only `move`, `study`, `openings` and `review` have answers before the last one. The answer
to an impossible request is `{"type": "error", "text": ...}`, to a stopped one `{"type":
"stopped"}`.

| do | also takes | answers |
|---|---|---|
| hello | | `hello`: version, players, board, simulations, opponent, solver_board |
| position | position | `position`: cells, to_move, winner, chain, may_swap |
| ready | position, player | `ready`: the player is loaded and compiled for such a board |
| move | position, player, simulations, seconds | `thinking`: visits; `move`: move or resign, value, found, `position` |
| study | position, player, simulations | `study` again and again: visits, value, candidates, expected |
| look | position, player | `look`: value, policy of each cell and of the swap, without search |
| openings | position, player | `openings` again and again: searched value of each first stone for Black |
| solve | position | `solve`: winner, winning, must_play, links, nodes, seconds |
| review | position, player, simulations | `review` for each position of the game: ply, value, best, expected, cost |
| read | text, game | `game`: size, swap, moves, black, white, event, date, end, games, format |
| write | position, format, black, white, given_up | `text`: the game in `format` (sgf, hexworld, ...) |
| hurry | | `hurried`: a player that searches for a move plays its best one so far |
| stop | work | `stopped`: the `search` or the `solve` under way in this browser is stopped too; without `work` both |

`must_play` holds cells: the player to move has to play one of them, as virtual connections of the
other side show. `links` has for either colour `strength` ("full", "semi" or ""), `carrier`, the
empty cells that it needs to connect its edges, `key`, the cell that a semi needs first, and
`lines`. A line is `["c3", "c4", kind]`; it ends at a cell or at "top", "bottom", "left" or "right".
Its kind is "stones", "bridge" or "way", one of several ways.

`position` is `{"size": 11, "swap": true, "moves": ["a3", "swap-pieces", "c5"]}`, Black's move
first. Cells are named like `a1`; `cells` is a text of `size*size` characters, row by row: `X`
black, `O` white, `.` empty. A `value` is in [-1, 1]:
for the player to move in `look` and `study`, for the mover in `move`, and for Black in `openings`
and `review`. `read` takes all formats of `hexlit games import`, and gives the main line of a game;
`games` describes each game of the text. `candidates` are objects with move, visits, value, prior
and line; `given_up` is `{"loser": "black", "how": "resigned"}` or, with `"time"`, a
clock that ran out. Colours are "black", "white" and "" for none.

A player of `hello` has name, title, about, largest_board (0 is not known) and studies.

A new `ready`, `move`, `study`, `look`, `openings` or `review` stops the one before. A new `solve`
stops the `solve` before.
"""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from hexlit.errors import UsageError
from hexlit.hex.board import GameBoard
from hexlit.hex.geometry import BLACK, WHITE, geometry
from hexlit.hex.notation import format_cell, parse_moves

LONGEST_MESSAGE = 1 << 18
"""Most bytes of a message; the text of a game has a few thousand."""
MOST_SIMULATIONS = 1_000_000

Simulations = Annotated[int, Field(ge=1, le=MOST_SIMULATIONS)]
Name = Annotated[str, Field(max_length=100)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class PositionText(_Strict):
    """A game so far."""

    size: Annotated[int, Field(ge=2, le=19)]
    swap: bool = False
    moves: Annotated[list[Annotated[str, Field(max_length=12)]], Field(max_length=19 * 19 + 1)] = []


class _Numbered(_Strict):
    id: Annotated[int, Field(ge=0, le=2**53)]


class _OnBoard(_Numbered):
    position: PositionText


class _OfPlayer(_OnBoard):
    player: Name


class _Searched(_OfPlayer):
    simulations: Simulations | None = None


class Hello(_Numbered):
    """See the table above, also for the following classes."""

    do: Literal["hello"]


class GetPosition(_OnBoard):
    """The state of a game."""

    do: Literal["position"]


class Question(_OfPlayer):
    """One answer of a player that needs no limits."""

    do: Literal["ready", "look", "openings"]


class Move(_Searched):
    """A move of a player; unset limits are those of the server."""

    do: Literal["move"]
    seconds: Annotated[float, Field(gt=0, le=3600)] | None = None


class Series(_Searched):
    """A search that reports while it grows, or every position of a game, judged."""

    do: Literal["study", "review"]


class Solve(_OnBoard):
    """The exact verdict."""

    do: Literal["solve"]


class Read(_Numbered):
    """A game from a text."""

    do: Literal["read"]
    text: Annotated[str, Field(max_length=LONGEST_MESSAGE)]
    game: Annotated[int, Field(ge=0)] = 0
    """Number of the game, where the text has several."""


class GivenUp(_Strict):
    """An end that the board does not show."""

    loser: Literal["black", "white"]
    how: Literal["resigned", "time"]


class Write(_OnBoard):
    """A game as a text. SGF with variations is written by the page."""

    do: Literal["write"]
    format: Name
    black: Name = ""
    white: Name = ""
    given_up: GivenUp | None = None


class Stop(_Numbered):
    """Stop what this browser has under way: all, or one kind of work."""

    do: Literal["stop"]
    work: Literal["search", "solve"] | None = None


class Hurry(_Numbered):
    """Let a player that thinks move at once."""

    do: Literal["hurry"]


Quick = Hello | GetPosition | Read | Write
"""Requests with an immediate answer."""
Thinking = Question | Move | Series
"""Requests that search: one per browser at a time."""
Request = Quick | Thinking | Solve | Stop | Hurry

_ANY: TypeAdapter[Request] = TypeAdapter(Annotated[Request, Field(discriminator="do")])


def parse(text: str | bytes) -> Request:
    """The request in a message; raises `UsageError` with one line."""
    try:
        return _ANY.validate_json(text)
    except ValidationError as error:
        first: Any = error.errors(include_url=False)[0]
        if first["type"] == "union_tag_invalid":
            tag, known = first["ctx"]["tag"], first["ctx"]["expected_tags"]
            raise UsageError(
                f"do: there is no {str(tag)[:40]!a}; choose from {known}".replace("'", "")
            ) from None
        # For nested fields; the first place is the kind of request, which the page knows.
        place = ".".join(str(part) for part in first["loc"][1:])
        message = str(first["msg"]).partition("\n")[0]
        raise UsageError(" ".join(f"{place or 'request'}: {message}".split())[:200]) from None


def number_of(text: str | bytes) -> int | None:
    """The `id` of a message that `parse` refuses, None if it has none."""
    try:
        result = TypeAdapter(dict[str, Any]).validate_json(text).get("id")
    except ValidationError:
        return None
    return (
        result
        if isinstance(result, int) and not isinstance(result, bool) and 0 <= result <= 2**53
        else None
    )


COLOURS = {BLACK: "black", WHITE: "white", 0: ""}


def board_of(position: PositionText) -> GameBoard:
    """The game after its moves; raises `UsageError` if one is illegal."""
    return GameBoard(
        position.size, swap=position.swap, moves=parse_moves(position.moves, position.size)
    )


def check_undecided(board: GameBoard) -> None:
    """Raise `UsageError` if the game is over."""
    if board.winner:
        raise UsageError("the game is over")


def state_of(board: GameBoard) -> dict[str, Any]:
    """See `position` in `hexlit.web.messages`."""
    return {
        "cells": "".join(".XO"[int(stone)] for stone in board.cells),
        "to_move": "" if board.winner else COLOURS[board.to_move],
        "winner": COLOURS[board.winner],
        "chain": [format_cell(cell, board.size) for cell in winning_chain(board)],
        "may_swap": board.may_swap,
    }


def winning_chain(board: GameBoard) -> list[int]:
    """A shortest chain of the winner's stones from edge to edge, in its order; none before the end
    of the game.
    """
    if not board.winner:
        return []
    edges, neighbours = (
        geometry(board.size).edges[int(board.winner == WHITE)],
        geometry(board.size).neighbours,
    )
    own = {int(cell) for cell in np.flatnonzero(board.cells == board.winner)}
    before = {cell: -1 for cell in sorted(own) if edges[cell] == 1}
    line = list(before)
    for cell in line:  # which grows
        if edges[cell] == 2:
            chain = [cell]
            while before[chain[-1]] >= 0:
                chain.append(before[chain[-1]])
            return chain[::-1]
        fresh = [
            other for other in neighbours[cell].tolist() if other in own and other not in before
        ]
        before |= dict.fromkeys(fresh, cell)
        line += fresh
    raise AssertionError(f"no chain of {COLOURS[board.winner]} on\n{board}")
