"""`hexlit bench`: how fast this machine plays, searches and evaluates. Medians, with their spread."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.commands.application import register_schema, run, typed
from hexlit.errors import UsageError
from hexlit.nets.config import NetConfig
from hexlit.search.config import ALGORITHMS, SearchConfig
from hexlit.selfplay.config import SelfPlayConfig

if TYPE_CHECKING:  # torch is imported only when something is measured
    from hexlit.accelerate.profile import DeviceProfile

KINDS = ("games", "search", "forward", "selfplay", "workers")


@dataclass
class BenchConfig:
    """What `hexlit bench` takes."""

    what: str = "all"
    """games, search, forward, selfplay, workers, or all of them."""
    board: int = 11
    """Size of the board, 2 to 19."""
    repeats: int = 7
    """Measurements after the warm-up; their median and quartiles are shown."""
    seconds: float = 0.5
    """Length of one measurement, about."""
    json: bool = False
    """Print JSON instead of a table."""
    accelerator: AcceleratorConfig = field(default_factory=AcceleratorConfig)
    net: NetConfig = field(default_factory=NetConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    selfplay: SelfPlayConfig = field(default_factory=SelfPlayConfig)

    def __post_init__(self) -> None:
        """Refuse what no part can check alone."""
        if self.what not in (*KINDS, "all"):
            raise UsageError(f"what={self.what}: choose one of {', '.join((*KINDS, 'all'))}")
        if not 2 <= self.board <= 19:
            raise UsageError(f"board={self.board}: networks and search take boards of 2 to 19 rows")
        if self.repeats < 2 or self.seconds <= 0:
            raise UsageError(f"repeats={self.repeats}, seconds={self.seconds}: 2 repeats or more, of above 0 seconds")


@dataclass(frozen=True)
class Measurement:
    """One line of the table: work done in a second."""

    what: str
    unit: str
    threads: int
    precision: str
    median: float
    lower_quartile: float
    upper_quartile: float
    first_call_seconds: float
    """Time of the very first call, which compiles or loads compiled code; not part of the other figures."""
    detail: str = ""


register_schema("bench", BenchConfig)


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides; returns the exit code."""
    return run(bench, "bench", argv)


def bench(config: DictConfig) -> None:
    """Measure what the configuration asks for, and print it."""
    settings = typed(config, BenchConfig)
    import numba

    from hexlit.accelerate.profile import build_profile

    profile = build_profile(settings.accelerator)
    profile.apply()
    numba.set_num_threads(min(profile.threads, numba.config.NUMBA_NUM_THREADS))
    measures: dict[str, Callable[[BenchConfig, DeviceProfile], list[Measurement]]] = {
        "games": measure_games,
        "search": measure_search,
        "forward": measure_forward,
        "selfplay": measure_selfplay,
        "workers": measure_workers,
    }
    kinds = KINDS if settings.what == "all" else (settings.what,)
    found = [line for kind in kinds for line in measures[kind](settings, profile)]
    if settings.json:
        print(json.dumps({"machine": machine(profile), "measurements": [asdict(line) for line in found]}, indent=2))
    else:
        print_table(found, machine(profile), settings.board)


def measure_rate(
    config: BenchConfig, work: Callable[[int], float], *, what: str, unit: str, threads: int, precision: str
) -> Measurement:
    """Rate of `work(rounds)`, which returns the units done; the rounds are chosen to take about `config.seconds`."""
    start = time.perf_counter()
    work(1)
    first = time.perf_counter() - start
    rounds = 1
    while True:
        start = time.perf_counter()
        work(rounds)
        taken = time.perf_counter() - start
        if taken >= config.seconds / 2:
            break
        rounds *= 2
    rounds = max(1, round(rounds * config.seconds / taken))
    rates = []
    for _ in range(config.repeats):
        start = time.perf_counter()
        done = work(rounds)
        rates.append(done / (time.perf_counter() - start))
    lower, _, upper = quantiles(rates, n=4, method="inclusive")
    return Measurement(what, unit, threads, precision, median(rates), lower, upper, first)


def measure_games(config: BenchConfig, profile: "DeviceProfile") -> list[Measurement]:
    """Random games on one core: move by move to the end, and random fillings of which only the winner is known."""
    import numpy as np

    from hexlit.hex.engine import empty_stones
    from hexlit.hex.geometry import geometry
    from hexlit.hex.playout import playouts, random_games

    size, table = config.board, geometry(config.board)
    moves, lengths = np.zeros((64, size * size), np.int16), np.zeros(64, np.int16)
    stones, room, cells = empty_stones(1, size), np.zeros(size * size, np.int16), np.zeros(size * size, np.int8)

    def complete_games(rounds: int) -> float:
        random_games(1000 * rounds, 1, table, moves, stones, lengths)
        return 1000.0 * rounds

    def fillings(rounds: int) -> float:
        playouts(cells, 1, 1000 * rounds, np.uint64(1), size, room)
        return 1000.0 * rounds

    shared: dict[str, Any] = {"unit": "games/s", "threads": 1, "precision": "–"}
    return [
        measure_rate(config, complete_games, what="complete random games", **shared),
        measure_rate(config, fillings, what="random playouts, winner only", **shared),
    ]


def measure_search(config: BenchConfig, profile: "DeviceProfile") -> list[Measurement]:
    """Simulations a second of 256 games with an evaluator that costs nothing, on one thread and on all."""
    import numba
    import numpy as np

    from hexlit.search.search import Search

    games, size = 256, config.board
    random = np.random.default_rng(0)
    policy = random.dirichlet(np.full(size * size, 0.3), games).astype(np.float32)
    value = random.uniform(-1, 1, games).astype(np.float32)

    class FreeEvaluator:
        """Leaves the answers that were put there once."""

        def evaluate(self, planes: Any, policy: Any, value: Any) -> None:
            """Nothing to do."""

    found = []
    cells, to_move = np.zeros((games, size * size), np.int8), np.ones(games, np.int8)
    for threads in sorted({1, numba.get_num_threads()}):
        before = numba.get_num_threads()
        numba.set_num_threads(threads)
        for algorithm in ALGORITHMS:
            for simulations in (32, 200):
                search = Search(SearchConfig(algorithm=algorithm, simulations=simulations), size=size, games=games)
                search.answers[0][:], search.answers[1][:] = policy, value

                def searches(rounds: int, search: Search = search, simulations: int = simulations) -> float:
                    for _ in range(rounds):
                        search.run(cells, to_move, FreeEvaluator())
                    return float(games * simulations * rounds)

                what = f"search {algorithm}, {simulations} simulations"
                shared: dict[str, Any] = {"unit": "simulations/s", "threads": threads, "precision": "–"}
                found.append(measure_rate(config, searches, what=what, **shared))
        numba.set_num_threads(before)
    return found


def measure_forward(config: BenchConfig, profile: "DeviceProfile") -> list[Measurement]:
    """Positions a second through the evaluator of self-play, copies, masks and softmax included."""
    import numpy as np

    from hexlit.hex.encoding import blank_planes

    evaluator, batch = _evaluator(config, profile)
    planes = blank_planes(batch, config.board)
    policy, value = np.zeros((batch, evaluator.actions), np.float32), np.zeros(batch, np.float32)

    def forward(rounds: int) -> float:
        for _ in range(rounds):
            evaluator.evaluate(planes, policy, value)
        return float(batch * rounds)

    precision = f"{evaluator.path} {evaluator.dtype}".replace("torch.", "")
    what = f"forward {net_name(config.net)}, batch {batch}"
    return [measure_rate(config, forward, what=what, unit="positions/s", threads=profile.threads, precision=precision)]


def measure_selfplay(config: BenchConfig, profile: "DeviceProfile") -> list[Measurement]:
    """Evaluations a second in self-play, and the share of its time spent outside the network call."""
    from hexlit.selfplay.actor import SelfPlay

    evaluator, batch = _evaluator(config, profile)
    actor = SelfPlay(config.selfplay, config.search, size=config.board, games=batch, groups=profile.groups, seed=0)
    shares = []

    def play(rounds: int) -> float:
        counts = actor.play(evaluator, positions=10**9, deadline=time.monotonic() + config.seconds * rounds)
        shares.append(1 - counts.network_seconds / counts.seconds)
        return float(counts.evaluations)

    precision = f"{evaluator.path} {evaluator.dtype}".replace("torch.", "")
    what = f"self-play {net_name(config.net)}, {config.search.algorithm} {config.search.simulations}"
    line = measure_rate(config, play, what=what, unit="evaluations/s", threads=profile.threads, precision=precision)
    share = median(shares[-config.repeats :])
    return [replace(line, detail=f"{share:.1%} of the time outside the network")]


def measure_workers(config: BenchConfig, profile: "DeviceProfile") -> list[Measurement]:
    """Games a second of self-play in 1, 2 and 4 worker processes, which share the threads."""
    from hexlit.nets.tower import HexNet
    from hexlit.selfplay.workers import Workplace, make_player
    from hexlit.tasks.hex.data import HostMaker, weights_of

    weights = weights_of(HexNet(config.net))
    settings = {"config": config.selfplay, "search": config.search, "size": config.board, "seed": 0}
    found = []
    for workers in (1, 2, 4):
        share = profile.share(workers)
        maker = HostMaker(config.net, config.board, False, share)
        sizes = {"games": share.selfplay_games, "groups": share.groups}
        player = make_player(Workplace(settings | sizes, maker), workers)
        ended: list[tuple[int, float]] = []

        def play(rounds: int, player: Any = player, ended: list[tuple[int, float]] = ended) -> float:
            seconds = config.seconds * rounds
            counts = player.play(
                weights,
                positions=10**9,
                network_version=0,
                on_games=lambda records, counts: None,
                deadline=time.monotonic() + seconds,
            )
            ended.append((counts.games, counts.seconds))
            return float(counts.evaluations)

        what = f"self-play in {workers} worker{'s' if workers > 1 else ''}, {net_name(config.net)}"
        shared: dict[str, Any] = {"unit": "evaluations/s", "threads": share.threads * workers}
        line = measure_rate(config, play, what=what, precision=str(profile.inference_dtype)[6:], **shared)
        games, seconds = (sum(column) for column in zip(*ended[-config.repeats :], strict=True))
        found.append(replace(line, detail=f"{games / seconds:.1f} games/s"))
        player.close()
    return found


def net_name(net: NetConfig) -> str:
    """Blocks and channels, such as `6x64`."""
    return f"{sum(net.blocks)}x{net.channels}" + ("" if net.block == "basic" else f" {net.block}")


def machine(profile: "DeviceProfile") -> dict[str, str | int]:
    """What the figures belong to."""
    import platform
    from importlib.metadata import version

    return {
        "device": str(profile.device),
        "threads": profile.threads,
        "processor": platform.machine(),
        "torch": version("torch"),
        "numba": version("numba"),
        "hexlit": version("hexlit"),
    }


def print_table(found: list[Measurement], where: dict[str, str | int], board: int) -> None:
    """The measurements for people."""
    from rich.console import Console
    from rich.table import Table

    title = f"{board}x{board} board · " + " · ".join(f"{name} {value}" for name, value in where.items())
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("what")
    for heading in ("median", "quartiles", "threads", "precision", "first call"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for line in found:
        table.add_row(
            line.what,
            f"{line.median:,.0f} {line.unit}",
            f"{line.lower_quartile:,.0f} – {line.upper_quartile:,.0f}",
            str(line.threads),
            line.precision,
            f"{line.first_call_seconds:.2f} s",
            line.detail,
        )
    console = Console()
    console.width = max(console.width, 150)
    console.print(table)


def _evaluator(config: BenchConfig, profile: "DeviceProfile") -> tuple[Any, int]:
    import torch

    from hexlit.nets.evaluator import NetworkEvaluator
    from hexlit.nets.tower import HexNet

    torch.manual_seed(0)
    batch = profile.selfplay_games
    net = HexNet(config.net).eval()
    return NetworkEvaluator(net, size=config.board, swap=False, batch=batch, profile=profile), batch
