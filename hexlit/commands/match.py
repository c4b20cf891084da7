"""`hexlit match`: games between players, and the players' ratings."""

import json
import math
import os
import re
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.arena.config import MODES, OpeningsConfig, SprtConfig
from hexlit.cluster.config import PLACES, RayConfig
from hexlit.commands.application import register_schema, run, typed
from hexlit.commands.choices import refuse_tensorboard
from hexlit.commands.place import refuse_unused
from hexlit.commands.report_files import games_of, write_beside
from hexlit.commands.run_folder import refuse_changes, resumed_arguments, resumed_folder
from hexlit.commands.saved_settings import settings_writer
from hexlit.errors import UsageError
from hexlit.interruption import says_how_to_continue
from hexlit.search.config import BOARDS, SearchConfig
from hexlit.settings import SEEDS, Settings, number, one_of
from hexlit.training.config import LoggerConfig
from hexlit.tuning.space import quoted

if TYPE_CHECKING:  # players are imported only for a real match
    from rich.console import Console

    from hexlit.arena.matches import Block, Pair
    from hexlit.arena.player_spec import PlayerSpec
    from hexlit.arena.ratings import Sprt
    from hexlit.arena.tournament import GameLog, PlayBlocks, Tournament
    from hexlit.commands.match_players import PlayerFactory

LARGEST_BOARD = 19
QUOTES = ("'", '"')
COMMA_BETWEEN_WORDS = re.compile(r""",(?=(?:[^"']|"[^"]*"|'[^']*')*$)""")
"""A comma outside quotes."""


@dataclass
class MatchConfig(Settings):
    """Settings of `hexlit match`."""

    players: Any = None
    """Two players or more, in the grammar of `hexlit.arena.player_spec`: a list, or a mapping from names."""
    board: int | None = number(None, BOARDS)
    """Rows of the board. Null: the board of the first network."""
    pairs: int = number(50, "[1, inf)")
    """Openings for each meeting of two players; each is played twice, with colours exchanged."""
    swap: bool = False
    """Whether the swap rule holds: an opening is one move, and the second player may answer it with swap-pieces."""
    mode: str = one_of(MODES, "round_robin")
    """Who meets whom. `round_robin`: all players meet each other; `gauntlet`: the first player meets all others."""
    at_once: int = number(128, "[1, inf)")
    """Most games that a player moves in at once; twice as many games run at the same time."""
    seed: int = number(1, SEEDS)
    """Seed of the openings, of the players' random draws and of the ratings' intervals."""
    anchor: str | None = None
    """Player with the rating 0. Null: `random` if it plays, else the first player."""
    resume: str | None = None
    """Folder of an interrupted match to continue."""
    json: bool = False
    """Whether to print the content of `match.json` instead of tables."""
    boards: int = number(0, "[0, inf)")
    """Number of games whose last position is drawn at the end: the longest ones of the closest two players."""
    report: bool = True
    """Whether to write `report.html` at the end of the match."""
    where: str = one_of(PLACES, "here")
    """Place of the games: `here` (in this process) or `ray` (actors of a Ray cluster, see the section `ray`). Both play
    the same games."""
    workers: int = number(2, "[1, inf)")
    """Number of actors of the cluster. Each plays `at_once` openings at a time, or fewer if others would have none."""
    openings: OpeningsConfig = field(default_factory=OpeningsConfig)
    sprt: SprtConfig = field(default_factory=SprtConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    ray: RayConfig = field(default_factory=RayConfig)
    accelerator: AcceleratorConfig = field(default_factory=AcceleratorConfig)
    logger: LoggerConfig = field(default_factory=LoggerConfig)

    def __post_init__(self) -> None:
        """Refuse impossible combinations."""
        super().__post_init__()
        refuse_tensorboard(self.logger)
        self.openings.length(swap=self.swap)


register_schema("match", MatchConfig)


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides; returns the exit code."""
    return run(match, "match", argv, prepare=arguments)


def arguments(argv: list[str]) -> list[str]:
    """`argv` for Hydra: players quoted, and with `resume=FOLDER` the settings of that match.

    Raises:
        UsageError: the folder holds no match, or the overrides change its settings.
    """
    if resumed_folder(argv) is not None:
        refuse_changes(
            argv,
            ("json=", "accelerator", "logger", "where=", "workers=", "ray."),
            "a match continues with its own settings; only accelerator, logger and its place (where, workers, ray) may "
            "change",
        )
    return [quoted_players(argument) for argument in resumed_arguments(argv)]


def quoted_players(argument: str) -> str:
    """`players=[checkpoint=a.ckpt,random]` with the quotes that Hydra needs around a word with `=` in it.

    Words that have quotes of their own stay as they are.
    """
    key, _, value = argument.partition("=")
    if key != "players" or not (value.startswith("[") and value.endswith("]")) or any(c in value for c in "{\\"):
        return argument
    words = [word.strip() for word in COMMA_BETWEEN_WORDS.split(value[1:-1])]
    return f"players=[{','.join(quoted(word) if '=' in word and word[0] not in QUOTES else word for word in words)}]"


def match(config: DictConfig) -> None:
    """Play the missing games of the match, and print the results."""
    settings = typed(config, MatchConfig)
    from rich.console import Console

    play_match(config, settings, Console(highlight=False, stderr=settings.json))


def play_match(config: DictConfig, settings: MatchConfig, console: "Console") -> Path:
    """Play the missing games of the match; output for people goes to `console`. Returns its folder."""
    from hydra.core.hydra_config import HydraConfig

    from hexlit.arena.player_spec import parse_players

    # A resumed match keeps the cluster's settings of its beginning.
    refuse_unused(settings, HydraConfig.get().overrides.task if settings.resume is None else ())
    specs = parse_players(settings.players, simulations=settings.search.simulations)
    check_players(settings, specs)
    folder = Path(HydraConfig.get().runtime.output_dir)
    if settings.resume is None:  # a resumed match keeps its settings
        settings_writer(config, folder)()
    place = os.path.relpath(folder)
    again = f"hexlit match {shlex.join([f'resume={place}'])}"
    with says_how_to_continue("hexlit match", lambda: f"its games are kept in {place}", lambda: again):
        play(settings, specs, folder, console)
    return folder


def play(config: MatchConfig, specs: Sequence["PlayerSpec"], folder: Path, console: "Console") -> None:
    """As `match`, in a `folder` that this process holds."""
    from hexlit.commands.kernels import Compiling, of_players
    from hexlit.reporting.match import MatchProgress, match_page
    from hexlit.reporting.screen import Waiting
    from hexlit.reporting.text import show

    # During the import of torch and the openings; impossible settings are refused before the wait.
    loading = "loading PyTorch and players" if any(spec.of_network for spec in specs) else "loading players"
    with (
        closing(Compiling(of_players(specs))) as kernels,
        Waiting(title_of(specs), loading, kernels.status, console=console),
    ):
        tournament, log, factory = set_up(config, specs, folder)
        if kernels.running:
            factory.compile_ahead(tournament.worker.at_once)
        if kernels.running and not console.is_terminal:
            console.print(kernels.status(), soft_wrap=True)
        kernels.wait()
    before = len(log.games)
    started = time.monotonic()
    title = f"{title_of(specs)} on {log.size}x{log.size}"
    with (
        workers_elsewhere(config, specs, tournament, factory, console) as elsewhere,
        MatchProgress(tournament.games, done=before, title=title, console=console) as progress,
    ):
        tournament.play(lambda pair: progress.advance(len(pair)), elsewhere)
    seconds = time.monotonic() - started
    pace = {"seconds": seconds, "games_per_second": (len(log.games) - before) / seconds}
    document = {**document_of(config, specs, tournament, log), **pace}
    write_results(folder, log, document)
    if config.report:
        write_beside(folder)
    if config.logger.wandb.mode != "disabled":
        from hexlit.commands.tracked_match import track_match

        track_match(config, specs, folder, log, document)
    if config.json:
        print(json.dumps(document, indent=2, allow_nan=False))
        return
    console.print()
    games = games_of(folder / "games.csv", log.size) if config.boards else ()
    show(match_page(document, games, boards=config.boards), console)
    console.print(f"\nEverything of this match: {os.path.relpath(folder)}", soft_wrap=True)


@contextmanager
def workers_elsewhere(
    config: MatchConfig,
    specs: Sequence["PlayerSpec"],
    tournament: "Tournament",
    factory: "PlayerFactory",
    console: "Console",
) -> "Iterator[PlayBlocks | None]":
    """Plays the blocks of a match on the cluster; None if this process plays them."""
    if config.where == "here":
        yield None
        return
    from hexlit.cluster.jobs import RayJobs
    from hexlit.commands.elsewhere import MatchWorkerMaker
    from hexlit.reporting.screen import Waiting
    from hexlit.tasks.hex.players import elsewhere_from

    there = elsewhere_from(config.accelerator, config.ray.device, config.ray.threads)
    loaded = {} if factory.networks is None else factory.networks.loaded
    maker = MatchWorkerMaker(
        specs, loaded, config.search, there, factory.size, config.seed, tournament.worker.at_once, config.swap
    )
    with Waiting(title_of(specs), "starting actors", console=console):
        jobs: RayJobs[Block, list[Pair]] = RayJobs(config.ray, config.workers, maker, name="match")
    with closing(jobs):
        yield jobs


def title_of(specs: Sequence["PlayerSpec"]) -> str:
    """The title of a match's progress bars."""
    return f"hexlit match · {len(specs)} players"


def check_players(config: MatchConfig, specs: Sequence["PlayerSpec"]) -> None:
    """Refuse impossible combinations of players and settings."""
    names = [spec.label for spec in specs]
    if len(names) < 2:
        raise UsageError(f"players: {len(names)} of them; a match needs two or more")
    if config.anchor is not None and config.anchor not in names:
        raise UsageError(f"anchor={config.anchor}: there is no such player; choose from {', '.join(names)}")
    if config.sprt.elo1 is not None and len(names) != 2:
        raise UsageError(f"sprt.elo1={config.sprt.elo1:g}: the test is between two players, here are {len(names)}")
    foreign = [spec.label for spec in specs if spec.kind == "htp"]
    if foreign and config.where == "ray":
        raise UsageError(f"players: {foreign[0]} is a program of this machine; leave out where=ray to play with it")


def set_up(
    config: MatchConfig, specs: Sequence["PlayerSpec"], folder: Path
) -> tuple["Tournament", "GameLog", "PlayerFactory"]:
    """The tournament with its openings, the games already in the folder, and the factory of the players."""
    import numba

    from hexlit.accelerate.host import usable_cores
    from hexlit.arena.matches import MatchWorker, balanced_openings
    from hexlit.arena.tournament import GameLog, Tournament, pairings
    from hexlit.commands.match_players import PlayerFactory

    numba.set_num_threads(min(config.accelerator.threads or usable_cores(), numba.config.NUMBA_NUM_THREADS))
    factory = PlayerFactory(specs, config.search, config.accelerator, board=config.board, seed=config.seed)
    plies, balanced = config.openings.length(swap=config.swap), config.openings.balanced
    openings = balanced_openings(factory.size, config.pairs, plies, config.seed, balanced=balanced)
    contestants = [factory.contestant(spec) for spec in specs]  # before any file is made: they may be refused
    log = GameLog(folder / "games.csv", factory.size)
    sprt = test_of(config)
    at_once = games_at_once(config, len(pairings([spec.label for spec in specs], config.mode)))
    tournament = Tournament(
        MatchWorker(contestants, factory.size, at_once=at_once, swap=config.swap),
        dict(enumerate(openings)),
        log,
        mode=config.mode,
        every=None if sprt is None else config.sprt.every,
        decided=lambda counts: sprt is not None and sprt.decision(counts) != "",
    )
    return tournament, log, factory


def games_at_once(config: MatchConfig, meetings: int) -> int:
    """Openings of a block, for `meetings` pairs of players: on a cluster at most an even share."""
    test = config.sprt.elo1 is not None  # between two players; it checks the results after each stage
    stage = min(config.pairs, config.sprt.every) if test else config.pairs
    most = math.ceil(stage * meetings / config.workers) if config.where == "ray" else stage
    return min(config.at_once, stage, most)


def test_of(config: MatchConfig) -> "Sprt | None":
    """The requested sequential test."""
    from hexlit.arena.ratings import Sprt

    return None if config.sprt.elo1 is None else Sprt(config.sprt)


def document_of(
    config: MatchConfig, specs: Sequence["PlayerSpec"], tournament: "Tournament", log: "GameLog"
) -> dict[str, Any]:
    """The content of `match.json`."""
    from hexlit.arena.tournament import standings

    names = [spec.label for spec in specs]
    anchor = config.anchor or ("random" if "random" in names else names[0])
    return {
        "board": log.size,
        "seed": config.seed,
        "mode": config.mode,
        "swap": config.swap,
        "openings": {
            "count": config.pairs,
            "plies": config.openings.length(swap=config.swap),
            "balanced": config.openings.balanced,
        },
        "specs": {spec.label: asdict(spec) for spec in specs},
        "repeated": tournament.repeated,
        **standings(tournament, anchor, sprt=test_of(config), seed=config.seed),
    }


def write_results(folder: Path, log: "GameLog", document: Mapping[str, Any]) -> None:
    """Write `match.json` and `games.sgf`; `games.csv` is there already."""
    from hexlit.arena.tournament import as_collection
    from hexlit.files import write_text_atomic

    write_text_atomic(folder / "match.json", json.dumps(document, indent=2, allow_nan=False) + "\n")
    write_text_atomic(folder / "games.sgf", as_collection(log.games, log.size))
