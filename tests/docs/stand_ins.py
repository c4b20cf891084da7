"""How the tests run the command lines of the pages: in small, with small files, or not at all and
why.

A new command line in a page needs nothing here as long as its settings compose. It needs an entry

- in `PLACES` if it names a file or a folder that its reader has and a test has not;
- in `COMMANDS` if it is a command of hexlit that no entry knows, or takes minutes when it is run
  whole.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tests.docs.stage import CLASSIFY, FORECAST, PLAIN

PLACES: list[tuple[str, str]] = [
    (r"(\+?best)=.*", r"\1={sweep}"),
    (r"(resume)=runs/match/.*", r"\1={match}"),
    (r"(resume)=runs/strength/.*", r"\1={strength}"),
    (r"(rates)=.*", r"\1={rates}"),
    (r"(net\.pretrained)=.*", r"\1={encoder}"),
    (r"(resume|init_from)=.*", r"\1={run}"),
    (r"(run|folder)=(FOLDER|RUN|runs/).*", r"\1={run}"),
    (r"runs=\[.*\]", r"runs=[{run},{run}]"),
    (r"runs/(quick|NAME|\w+-sweep)/.*", r"{sweep}"),
    (r"runs/match/.*", r"{match}"),
    (r"(?:runs/\S*|RUN|FOLDER)", r"{run}"),
    (r"(data\.path)=(games/.*|store)", r"\1={store}"),
    (r"(data\.path)=(readings|mine|levels)\.(csv|parquet)", r"\1={readings}"),
    (r"(task)=(NAME|\.\.\.)", r"\1=forecast"),
    (r"(experiment)=NAME", r"\1=quick"),
    (r"(target|output)=(?:FILE|FOLDER)", r"\1=new"),
    (r"(file)=.*\.sgf", r"\1={sgf}"),
    (r"(text)=\.\.\.", r"\1=some words"),
    (r"(trainer\.max_time)=HH:MM:SS", r"\1=00:01:00"),
    (r"(pid)=N", r"\1=1"),
]
"""A whole word of a command -> the word that stands in for it;
the first that fits counts. `{NAME}` is of the stage.
"""

INSIDE: list[tuple[str, str]] = [
    (r"runs/classify/[\w.{}/-]+", "{classify}"),
    (r"runs/forecast/[\w.{}/-]+", "{forecast}"),
    (
        r"\b(checkpoint|policy)=(?:runs/[\w.{}/-]+|RUN_OR_FILE|RUN\b|FOLDER\b|OTHER\b|FILE\b)",
        r"\1={run}",
    ),
]
"""The same for parts of a word, such as the players of a match;
before the whole words, all that fit.
"""


@dataclass(frozen=True)
class Whole:
    """How the commands that fit a pattern are run from their beginning to their end."""

    pattern: str
    """Fits the whole text of the command, its program `hexlit` left out."""
    small: Sequence[str] = ()
    """Overrides that make it a matter of seconds.
    A setting that the page searches stays as it is.
    """
    words: Sequence[tuple[str, str]] = ()
    """Further stand-ins for words of these commands, before those of `PLACES`."""
    quick: bool = False
    """Whether it is run whole in every run of the tests, and not under `-m slow` alone."""
    refused: str = ""
    """Why it is composed, and never run whole."""


LEARNS = [
    *PLAIN,
    "net.channels=8",
    "net.blocks=[1]",
    "trainer.max_epochs=1",
    "trainer.max_time=null",
]
EVALUATES = ["evaluation.simulations=8", "evaluation.positions=20", "evaluation.game_positions=20"]
UNMEASURED = ["evaluation.every_epochs=0", "trainer.monitor=train.loss", "trainer.monitor_mode=min"]
PLAYS = [
    "search.simulations=8",
    "selfplay.fast_simulations=4",
    "selfplay.positions=40",
    "selfplay.games=8",
]
SMALL_HEX = [
    "board=3",
    *LEARNS,
    *PLAYS,
    "selfplay.workers=0",
    "selfplay.smaller_boards=[]",
    "data.window=100",
    "data.replay_epochs=0",
]
MEASURES = [
    "repeats=2",
    "seconds=0.01",
    "compiled=false",
    "accelerator=cpu",
    "accelerator.threads=1",
]
RECORDED = ["board=5", "data.validation_share=0.5"]
"""The stage has few games of that board."""
TRIALS = ["hydra.sweeper.n_trials=2", "hydra.sweeper.n_jobs=1", "hydra.sweeper.timeout=null"]

COMMANDS: list[Whole] = [
    Whole(r".*(-h|--help|--cfg job)( .*)?", quick=True),
    Whole(
        r".*(where|ray\.address)=.*", refused="needs a cluster of Ray; tests/cluster starts some"
    ),
    Whole(
        r".*hydra/launcher=submitit.*",
        refused="needs Slurm; tests/commands/test_on_slurm.py starts it",
    ),
    Whole(
        r".*(accelerator=(cuda|mps)|\.device=cuda).*",
        refused="needs a device that may not be there",
    ),
    Whole(
        r"train .*accelerator\.devices=2.*",
        refused="tests/commands/test_train_ranks.py runs several ranks",
    ),
    Whole(
        r".*hydra\.sweeper\.storage=.*",
        refused="needs a database; tests/tuning/test_on_servers.py starts some",
    ),
    Whole(r"-sc .*", quick=True),
    Whole(
        r"train --multirun .*sweep\.resume=true.*",
        refused="needs a sweep that was killed; tests/tuning kills some",
    ),
    Whole(r"train .*resume=.*", ["trainer.max_epochs=3"]),
    Whole(r"match .*resume=.*"),
    Whole(r"train --multirun .*task=(forecast|NAME|\.\.\.).*", [*FORECAST[1:], *PLAIN, *TRIALS]),
    Whole(r"train .*task=(forecast|NAME|\.\.\.).*", [*FORECAST[1:], *PLAIN]),
    Whole(
        r"train --multirun .*task=classify.*",
        [*CLASSIFY[1:], *PLAIN, *TRIALS, "data.path={texts}", "data.text=text", "data.label=label"],
    ),
    Whole(
        r"train .*task=classify.*",
        [*CLASSIFY[1:], *PLAIN, "data.path={texts}", "data.text=text", "data.label=label"],
    ),
    Whole(
        r"train .*best=.* data\.max_length=.*",
        CLASSIFY[2:],
        words=[(r"(\+?best)=.*", r"\1={sweep_of_texts}")],
    ),
    Whole(
        r"train experiment=\w+ init_from=.*",
        [*SMALL_HEX, *EVALUATES, "board=5"],
    ),
    Whole(r"train .*(data=games|data\.path=|init_from=).*", [*RECORDED, *LEARNS]),
    Whole(r"train --multirun .*sweep=(experiments|supervised).*", [*RECORDED, *LEARNS, *TRIALS]),
    Whole(r"train --multirun .*sweep=.*", [*SMALL_HEX, *EVALUATES, *TRIALS]),
    Whole(r"train --multirun .*hydra/sweeper=optuna.*", [*SMALL_HEX, *EVALUATES, *TRIALS]),
    Whole(r"train .*experiment=hex(9|11).*", [*SMALL_HEX, *UNMEASURED]),
    # Its report is that of other runs, which tests/commands/test_train.py reads.
    Whole(r"train", [*SMALL_HEX, *EVALUATES, "report=false"], quick=True),
    Whole(r"train.*", [*SMALL_HEX, *EVALUATES]),
    Whole(r"solve board=[78] .*"),
    Whole(r"solve.*", quick=True),
    Whole(
        r"games (import|export|stats|show|verify).*",
        words=[(r"(source)=.*", r"\1={samples}")],
        quick=True,
    ),
    Whole(r"games puzzles.*", ["board=4", "count=2"]),
    Whole(r"report .*wandb=.*", refused="saves a page on the servers of Weights & Biases"),
    Whole(
        r"report .*watch=true.*",
        refused="watches a sweep to its end; tests/commands/test_report.py does",
    ),
    Whole(
        r"report .* by=.*",
        refused="groups the runs of a plain --multirun; tests/commands/test_report.py makes some",
    ),
    Whole(r"report.*"),
    Whole(r"(match|strength) resume=.*"),
    Whole(r"match.*", ["board=3", "pairs=4", "accelerator=cpu", "search.simulations=8"]),
    Whole(r"strength.*", ["board=3", "positions=20", "simulations=[4]", "accelerator=cpu"]),
    Whole(r"htp.*", quick=False),
    Whole(
        r"play.*",
        refused="serves until Ctrl-C; tests/commands/test_play.py and tests/web play on it",
    ),
    Whole(r"export.*format=onnx.*"),
    Whole(r"export.*"),
    Whole(r"predict .*text=.*", words=[(r"(checkpoint)=.*", r"\1={classify}")]),
    Whole(
        r"predict .*",
        words=[
            (r"(checkpoint)=.*", r"\1={forecast}"),
            (r"(source)=.*", r"\1={readings}"),
            (r"(target)=.*", r"\1=forecasts.csv"),
        ],
    ),
    Whole(r"bench .*task=.*", [*MEASURES[:2], *PLAIN[1:]]),
    Whole(r"bench .*what=solver.*", ["board=4"]),
    Whole(
        r"bench.*",
        ["board=3", "net.channels=8", "net.blocks=[1]", *PLAYS[:1], "selfplay.games=8", *MEASURES],
    ),
    Whole(r"plan.*", ["hosts=4"], quick=True),
    Whole(r"doctor.*", ["compile=false"]),
    Whole(
        r"monitor.*",
        refused="watches a run that is going on; tests/commands/test_monitor.py starts one",
    ),
]


def whole(words: Sequence[str]) -> Whole | None:
    """The entry for the arguments of `hexlit`; None without one."""
    text = " ".join(words)
    return next((entry for entry in COMMANDS if re.fullmatch(entry.pattern, text)), None)


def placed(words: Sequence[str], entry: Whole) -> list[str]:
    """`words` with their stand-ins; `{NAME}` is still to be filled in from a stage."""
    return [_placed(word, entry) for word in words if word not in ("...", "…")]


def _placed(word: str, entry: Whole) -> str:
    plain = word.replace("{", "{{").replace("}", "}}")
    for pattern, replacement in entry.words:
        if re.fullmatch(pattern, plain):
            return re.sub(rf"^{pattern}$", replacement, plain)
    inside = plain
    for pattern, replacement in INSIDE:
        inside = re.sub(pattern, replacement, inside)
    if inside != plain:
        return inside
    for pattern, replacement in PLACES:
        if re.fullmatch(pattern, plain):
            return re.sub(rf"^{pattern}$", replacement, plain)
    return plain


def is_searched(word: str) -> bool:
    """Whether an override gives several values: `seed=1,2,3`, or a function of Hydra's."""
    value = re.sub(r"\[[^\]]*\]|'[^']*'|\"[^\"]*\"", "", word.partition("=")[2])
    return "," in value or re.search(r"\b(tag|interval|choice|range|glob)\(", word) is not None


def shortened(words: Sequence[str], entry: Whole) -> list[str]:
    """`words` with the overrides that make the command small,
    in the place of those of the same key.
    """
    small = {word.partition("=")[0]: word for word in entry.small}
    kept = []
    for word in words:
        key = word.partition("=")[0]
        if key in small and "=" in word:
            word = word if is_searched(word) else small[key]
            del small[key]
        kept.append(word)
    return [*kept, *small.values()]
