"""A connection of every rank with the first one. The system closes it when either process ends, in whatever way.

It serves ranks started by torchrun or srun. torch reports a lost rank late or never: NCCL waits as long as a rank may
wait for the others. torchrun and srun give the remaining ranks half a minute to end.
"""

import secrets
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from hexlit.accelerate.collectives import all_gather, broadcast
from hexlit.accelerate.ranks import Ranks
from hexlit.errors import UsageError

Lost = Callable[[str, bool], None]
"""Called with the reason for the loss of a rank, and whether this process reports it to people."""

TIMEOUT = 60.0
"""Seconds for all ranks to connect; they have met already."""

_SECONDS_TO_GREET = 5.0
"""Seconds for a new connection to name its rank; a rank does so at once."""
_GOODBYE = -1
_MESSAGE = struct.Struct("!i")  # the number of a lost rank, or a goodbye
_SECRET = 16  # bytes that only ranks of this run know


class RankLine:
    """This rank's end of the line. `close` says goodbye; a rank that ends without a goodbye is lost."""

    def __init__(self, place: Ranks, lost: Lost) -> None:
        """Connect the ranks. All of them call this, once they have met.

        A thread calls `lost` when a rank is gone, at most once. The first rank notices all losses, and tells the
        others.

        Raises:
            UsageError: a rank cannot reach the first one.
        """
        self._place = place
        self._lost = lost
        self._names = all_gather(socket.gethostname())
        self._peers: dict[socket.socket, int] = {}
        self._stopping, self._stop = socket.socketpair()
        try:
            self._connect()
        except OSError as error:
            raise UsageError(
                f"rank {place.rank} of {place.size} and the first one, on {self._names[0]}, cannot reach each other "
                f"({error}); the machines of a run need TCP ports that are open between them"
            ) from error
        self._thread = threading.Thread(target=self._watch, name="rank line", daemon=True)
        self._thread.start()

    def close(self, *, goodbye: bool) -> None:
        """End the line. Without a goodbye the others count this rank as lost."""
        self._stop.close()
        self._thread.join()
        for peer in self._peers:
            with suppress(OSError):
                if goodbye:
                    peer.sendall(_MESSAGE.pack(_GOODBYE))
            peer.close()
        self._stopping.close()

    def _connect(self) -> None:
        place = self._place
        if place.rank == 0:
            home = "127.0.0.1" if place.machines == 1 else ""
            with socket.create_server((home, 0), backlog=place.size) as listening:
                secret = secrets.token_bytes(_SECRET)
                broadcast((listening.getsockname()[1], secret))
                end = time.monotonic() + TIMEOUT
                while len(self._peers) < place.size - 1:
                    left = end - time.monotonic()
                    if left <= 0:
                        raise TimeoutError("timed out")
                    listening.settimeout(left)
                    self._welcome(listening.accept()[0], secret)
        else:
            port, secret = broadcast((0, b""))
            home = "127.0.0.1" if place.machines == 1 else place.address
            peer = socket.create_connection((home, port), timeout=TIMEOUT)
            peer.sendall(secret + _MESSAGE.pack(place.rank))
            self._keep(peer, 0)

    def _welcome(self, peer: socket.socket, secret: bytes) -> None:
        """Accept `peer` as the rank that it names; without the secret it is sent away."""
        peer.settimeout(_SECONDS_TO_GREET)
        with suppress(OSError):
            message = _received(peer, _SECRET + _MESSAGE.size)
            if secrets.compare_digest(message[:_SECRET], secret):
                self._keep(peer, _MESSAGE.unpack(message[_SECRET:])[0])
                return
        peer.close()

    def _keep(self, peer: socket.socket, rank: int) -> None:
        peer.settimeout(None)
        # A lost machine sends nothing: after eight seconds of silence it counts as gone.
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 1), ("TCP_KEEPCNT", 3)):
            if hasattr(socket, name):  # not on every system
                peer.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        self._peers[peer] = rank

    def _watch(self) -> None:
        with selectors.DefaultSelector() as heard:
            for peer in (*self._peers, self._stopping):
                heard.register(peer, selectors.EVENT_READ)
            while self._peers:
                for key, _ in heard.select():
                    if key.fileobj is self._stopping:
                        return
                    ended = key.fileobj
                    assert isinstance(ended, socket.socket)
                    heard.unregister(ended)
                    rank = self._lost_at(ended)
                    ended.close()
                    if rank is not None:
                        self._tell(rank)
                        return

    def _lost_at(self, peer: socket.socket) -> int | None:
        """The lost rank, from the end of `peer` or from its message; None after a goodbye."""
        rank = self._peers.pop(peer)
        try:
            message = int(_MESSAGE.unpack(_received(peer, _MESSAGE.size))[0])
        except OSError:
            return rank
        return None if message == _GOODBYE else message

    def _tell(self, rank: int) -> None:
        """Pass on the loss of `rank`: to the other ranks, and to this process."""
        for peer in self._peers:
            with suppress(OSError):
                peer.sendall(_MESSAGE.pack(rank))
        where = f" on {self._names[rank]}" if self._place.machines > 1 else ""
        how = f"rank {rank}{where} ended before the others; its own output says why"
        tells = self._place.rank == (0 if rank else 1)
        threading.Thread(target=self._lost, args=(how, tells), name="lost rank", daemon=True).start()


def _received(peer: socket.socket, count: int) -> bytes:
    """The next `count` bytes.

    Raises:
        OSError: the other side ended first.
    """
    result = b""
    while len(result) < count:
        part = peer.recv(count - len(result))
        if not part:
            raise ConnectionResetError("the other side has ended")
        result += part
    return result
