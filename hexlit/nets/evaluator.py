"""The evaluator of the search: policy and value of a batch of positions, as fast as the device
allows.
"""

import logging
import time
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import torch

from hexlit.accelerate.memory import is_out_of_memory, release
from hexlit.accelerate.profile import DeviceProfile
from hexlit.errors import UsageError
from hexlit.hex.encoding import PLANES, blank_planes
from hexlit.locks import Guarded, by_one_thread
from hexlit.nets.backends import DeviceRun, Floats, Forward, HostRun, Planes, Run, TwinForward
from hexlit.nets.choice import fastest_backend
from hexlit.nets.config import BLOCKS
from hexlit.nets.fused import FusedForward
from hexlit.nets.tower import HexNet, at_board

log = logging.getLogger(__name__)

TOLERANCE = {torch.float32: 0.01, torch.float16: 0.2, torch.bfloat16: 0.2}
"""Largest trusted difference of a probability or a value from the plain float32 network, by number
format.

It is above the effect of rounding (TF32 on cuda included) and below that of a wrong operator.
"""

CHECKED_POSITIONS = 16

CLOSE = {"cudnn": ("graph",)}
"""Backend -> those to try before eager where it cannot be built."""


class NetworkEvaluator(Guarded):
    """Evaluates `batch` positions per call with a snapshot of a network's weights.

    The backend that the profile asks for is built and compared with the plain float32 network on
    random positions. If it cannot be built or differs, torch's plain operators take its place, and
    one warning says why; further evaluators of the process do not repeat it. If the profile leaves
    the backend open, the fastest one of the CPU is taken: see `fastest_backend`. If the device runs
    out of memory, it evaluates half of the positions at once from then on.

    Attributes:
        backend: the backend in use: fused, winograd, graph, compile or eager.
        dtype: the number format in use.
        build_seconds: seconds to choose, build and check the backend, compiling included.

    Args:
        net: the network; it is neither kept nor changed.
        size: board size n.
        swap: whether the policy has the swap action, last.
        batch: positions B in every call.
        profile: the device, the number format and the backend to try first.
    """

    def __init__(
        self, net: HexNet, *, size: int, swap: bool, batch: int, profile: DeviceProfile
    ) -> None:
        super().__init__()
        self.size = size
        self.batch = batch
        self.actions = size * size + int(swap)
        self.profile = profile
        self.backend = ""
        self.dtype = profile.inference_dtype
        self._planes_shape = (batch, PLANES, size, size)
        self._rows = batch  # positions that the device evaluates at once
        self._run: Run | None
        started = time.monotonic()
        self._forward, self._run = self._first_that_works(at_board(net, size))
        self.build_seconds = time.monotonic() - started

    @by_one_thread
    def evaluate(self, planes: Planes, policy: Floats, value: Floats) -> None:
        """Write probabilities of legal actions and values of B positions.

        Args:
            planes: int8 `[B, 5, n, n]`, C-contiguous, in the mover's frame.
            policy: float32 `[B, A]`, written: probabilities, exactly 0 for illegal actions.
            value: float32 `[B]`, written: in [-1, 1] for the player to move.
        """
        if planes.shape != self._planes_shape or policy.shape != (self.batch, self.actions):
            raise ValueError(
                f"planes {planes.shape} and policy {policy.shape}: must be {self._planes_shape} "
                f"and {(self.batch, self.actions)}"
            )
        with torch.inference_mode():
            while True:
                try:
                    if self._run is None:
                        self._run = self._make_run(self._forward)
                    self._run(planes, policy, value)
                    return
                except (RuntimeError, MemoryError) as error:
                    if not self._is_full(error):
                        raise
                    reason = _short(error, 120)
                self._run = None
                self._halve(reason)

    @by_one_thread
    def refresh(self, net: HexNet) -> None:
        """Use the current weights of `net` from now on.

        This takes milliseconds, with winograd tens of them, because it transforms the weights.
        """
        with torch.no_grad():
            self._forward.refresh(at_board(net, self.size))
        if self.profile.device.type == "cuda":
            torch.cuda.current_stream(self.profile.device).synchronize()

    def _first_that_works(self, net: HexNet) -> tuple[Forward, Run]:
        wanted = [
            (name, torch.float32 if name == "winograd" else self.dtype)
            for name in self._backends(net)
        ]
        while True:
            reasons: list[str] = []
            full = False
            for self.backend, self.dtype in dict.fromkeys([*wanted, ("eager", torch.float32)]):
                try:
                    forward, run = self._build(net)
                except (RuntimeError, MemoryError, AttributeError, ImportError) as error:
                    reasons.append(
                        f"{self.backend} in {str(self.dtype).removeprefix('torch.')}: {_short(error, 300)}"
                    )
                    full = full or self._is_full(error)
                    continue
                if reasons:
                    _warn_once("; ".join(reasons), self.backend)
                return forward, run
            if not full:
                raise RuntimeError(
                    f"the network cannot be evaluated on {self.profile.device}; {'; '.join(reasons)}"
                )
            self._halve(reasons[-1])

    def _backends(self, net: HexNet) -> list[str]:
        """The backends to try in the number format that is wanted, in their order."""
        if self.profile.inference != "auto":
            return [self.profile.inference, *CLOSE.get(self.profile.inference, ()), "eager"]
        build = partial(self._make_forward, net)
        fastest = fastest_backend(net, self.size, self.batch, self.profile, build)
        if fastest == "eager" and net.config.block in BLOCKS:
            return ["fused", "eager"]  # it says which setting keeps the fused operators away
        return [fastest, "fused", "eager"]

    def _build(self, net: HexNet) -> tuple[Forward, Run]:
        """Build the backend and compare it with the plain network in float32 on the CPU.

        Raises:
            RuntimeError, AttributeError, ImportError: it cannot be built here, or its results are
                wrong.
            UsageError: the plain network's own answers are not finite.
        """
        forward = self._make_forward(net, self.backend, self.batch)
        with torch.inference_mode():
            run = self._make_run(forward)
        planes = random_planes(self.batch, self.size)
        policy, value = answers(run, planes, self.batch, self.actions)
        count = min(CHECKED_POSITIONS, self.batch)
        probabilities, values = plain_answers(net, planes[:count], self.actions)
        if not (np.isfinite(probabilities).all() and np.isfinite(values).all()):
            raise UsageError("the network answers with NaN or infinity: its weights have diverged")
        # NaN wins
        difference = np.maximum(
            np.abs(policy[:count] - probabilities).max(), np.abs(value[:count] - values).max()
        )
        allowed = TOLERANCE[self.dtype]
        if not difference <= allowed:
            raise RuntimeError(f"its results are off by {difference:.3g}, {allowed:g} is allowed")
        return forward, run

    def _is_full(self, error: Exception) -> bool:
        """Whether `error` is about the memory of a device other than the cpu."""
        return self.profile.device.type != "cpu" and is_out_of_memory(error)

    def _halve(self, reason: str) -> None:
        """Free memory, and evaluate half of the positions at once from now on.

        Call it after handling an exception: a pending one keeps tensors alive.

        Raises:
            UsageError: it does so already, or there is one position.
        """
        full = (
            f"{self.profile.device} is out of memory with {self._rows} positions at once ({reason})"
        )
        more = "selfplay.ahead=false or accelerator.memory_cap leaves it more in training"
        if self._rows < self.batch or self.batch == 1:
            raise UsageError(f"{full}; {more}")
        release(self.profile.device)
        self._rows = -(-self.batch // 2)
        log.warning("%s; evaluating %d at once from now on; %s", full, self._rows, more)

    @torch.no_grad()
    def _make_forward(self, net: HexNet, backend: str, batch: int) -> Forward:
        profile, dtype = self.profile, self.dtype
        if backend == "fused":
            return FusedForward(net, dtype, self.size, batch)
        if backend == "winograd":
            from hexlit.nets.winograd.forward import WinogradForward

            return WinogradForward(net, self.size, batch, profile.threads)
        if backend == "cudnn":
            from hexlit.nets.cudnn import CudnnForward

            return CudnnForward(net, profile.device, dtype, profile.channels_last)
        mode = "default" if backend == "compile" else ""
        return TwinForward(net, profile.device, dtype, profile.channels_last, mode)

    def _make_run(self, forward: Forward) -> Run:
        device = self.profile.device
        if device.type == "cpu":
            return HostRun(forward)
        # Graphs of `torch.compile` itself (`reduce-overhead`) serve only the thread that compiled
        # first.
        graph = device.type == "cuda" and self.backend in ("graph", "cudnn", "compile")
        return DeviceRun(
            forward, device, (self._rows, *self._planes_shape[1:]), self.actions, graph
        )


def _short(error: Exception, most: int) -> str:
    """The text of `error` in one line of at most `most` characters."""
    return " ".join(str(error).split())[:most]


@cache
def _warn_once(reasons: str, backend: str) -> None:
    """Say why a slower backend is used; a run builds several evaluators, and one warning is
    enough.
    """
    log.warning(
        "a faster way to evaluate the network cannot be used (%s). %s operators take its place: the answers are right, "
        "but self-play takes longer",
        reasons,
        backend.capitalize(),
    )


def random_planes(batch: int, size: int) -> Planes:
    """Planes of random positions with a third of the cells taken and the swap allowed, the same in
    every call.
    """
    generator = np.random.default_rng(0)
    taken = generator.random((batch, size, size)) < 1 / 3
    own = generator.random((batch, size, size)) < 1 / 2
    planes = blank_planes(batch, size)
    planes[:, 0] = taken & own
    planes[:, 1] = taken & ~own
    planes[:, 4] = 1
    return planes


def plain_answers(net: HexNet, planes: Planes, actions: int) -> tuple[Floats, Floats]:
    """As `answers` by `net` in evaluation, by torch's operators in float32 on the CPU."""
    net = at_board(net, planes.shape[-1])
    plain = HostRun(TwinForward(net, torch.device("cpu"), torch.float32, channels_last=True))
    return answers(plain, planes, min(256, len(planes)), actions)


@torch.inference_mode()
def answers(run: Run, planes: Planes, batch: int, actions: int) -> tuple[Floats, Floats]:
    """Probabilities `[P, A]` and values `[P]` of any number P of positions by a `run` of `batch` at
    once.
    """
    count = len(planes)
    batches = np.resize(
        planes, (-(-count // batch), batch, *planes.shape[1:])
    )  # the last one padded by repetitions
    policies = np.zeros((*batches.shape[:2], actions), np.float32)
    values = np.zeros(batches.shape[:2], np.float32)
    for arrays in zip(batches, policies, values, strict=True):
        run(*arrays)
    return policies.reshape(-1, actions)[:count], values.ravel()[:count]


LEAST_SAME_MOVES = 0.98
"""Least share of positions with the same likeliest move."""

HARMLESS_ERROR = 0.01
"""Below this error of the policy, changed moves mean nothing: a network that has learned little
rates many alike.
"""


@dataclass(frozen=True)
class Agreement:
    """An evaluator next to the plain network in float32, over some positions."""

    positions: int
    policy_error: float
    """Mean over positions of half the summed differences of probabilities (total variation), in [0,
    1].
    """
    value_error: float
    """Mean difference of values, in [0, 2]."""
    largest_value_error: float
    same_move: float
    """Share of positions with the same likeliest move."""

    @property
    def good_enough(self) -> bool:
        """Whether the evaluator may play for the network."""
        return self.same_move >= LEAST_SAME_MOVES or self.policy_error < HARMLESS_ERROR


def measure_agreement(net: HexNet, evaluator: NetworkEvaluator, planes: Planes) -> Agreement:
    """Compare `evaluator`, which has the weights of `net`, with `net` in float32 on the CPU.

    Args:
        net: the network, in any mode and on any device.
        evaluator: the evaluator of self-play.
        planes: int8 `[P, 5, n, n]`, any number of positions P from 1 on.
    """
    policy, value = answers(evaluator.evaluate, planes, evaluator.batch, evaluator.actions)
    probabilities, expected = plain_answers(net, planes, evaluator.actions)
    value_error = np.abs(value - expected)
    return Agreement(
        positions=len(planes),
        policy_error=float(np.abs(policy - probabilities).sum(1).mean() / 2),
        value_error=float(value_error.mean()),
        largest_value_error=float(value_error.max()),
        same_move=float((policy.argmax(1) == probabilities.argmax(1)).mean()),
    )
