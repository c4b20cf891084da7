"""A session without a network, and what it answers."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

from hexlit.arena.config import PlaySettings
from hexlit.arena.htp.protocol import Incoming, decode, parse_request
from hexlit.arena.htp.session import HtpSession, Loaded, answer, serve
from hexlit.arena.thinker import Thinker
from hexlit.search.config import SearchConfig
from hexlit.search.evaluator import RolloutEvaluator

T = TypeVar("T")


def rollouts(size: int, swap: bool, batch: int) -> RolloutEvaluator:
    """Random playouts, the same for every board."""
    del size, swap, batch
    return RolloutEvaluator(4, seed=1)


class AtOnce(Executor):
    """Carries out calls where they are made, so that a test sees what they have done."""

    def submit(self, call: Callable[..., T], /, *arguments: Any, **named: Any) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(call(*arguments, **named))
        except Exception as error:
            future.set_exception(error)
        return future


def session_of(
    size: int = 3,
    *,
    simulations: int = 16,
    swap: bool = False,
    reuse: bool = True,
    **settings: float,
) -> HtpSession:
    """A session that judges by playouts."""
    thinker = Thinker(SearchConfig(simulations=simulations), rollouts, reuse=reuse)
    loaded = Loaded(thinker, size, swap=False)
    play = PlaySettings(**settings)  # type: ignore[arg-type]
    session = HtpSession(lambda: loaded, play, simulations, size, swap, AtOnce())
    session.get_ready()
    return session


def ask(session: HtpSession, line: str) -> str:
    """The answer to one command, without its last, blank line."""
    request = parse_request(decode(line.encode()))
    assert request is not None
    reply, _ = answer(session, request)
    assert reply.endswith("\n\n")
    return reply[:-2]


def tell(session: HtpSession, *lines: str) -> None:
    """Send commands that are answered by nothing but success."""
    for line in lines:
        assert ask(session, line) == "= ", line


def converse(session: HtpSession, content: bytes) -> tuple[str, list[str]]:
    """All that is written when `content` arrives, as a whole and as answers without live blocks."""
    source, target = os.pipe()
    os.set_blocking(target, False)
    assert os.write(target, content) == len(content)
    os.close(target)
    written: list[str] = []
    incoming = Incoming(source)
    serve(incoming, written.append, session)
    incoming._thread.join(
        20
    )  # it reads on after `quit`, and the descriptor is about to get another meaning
    os.close(source)
    return "".join(written), answers(written)


def answers(written: Iterable[str]) -> list[str]:
    """The answers among what was written."""
    blocks = "".join(written).split("\n\n")
    assert blocks.pop() == ""
    return [block for block in blocks if not block.startswith("gogui-gfx:\nkata\n")]
