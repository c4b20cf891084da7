"""Folders and files that the pages speak of, small ones: a run, a sweep, recorded games, a table.

A page says `checkpoint=runs/hex5/...`; here `{run}` is such a run. Each is made when it is first
asked for.
"""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from tests.commands.preloaded import HEXLIT, run_apart
from tests.commands.tiny import TINY
from tests.docs.pages import ROOT
from tests.planning.test_plan import PACE

SAMPLES = ROOT / "tests" / "samples"
FORECAST = ["task=forecast", "net.hidden=8", "net.second=0", "net.head=8", "trainer.max_epochs=1"]
CLASSIFY = [
    "task=classify",
    "data.max_length=32",
    "net.vocabulary=400",
    "net.width=16",
    "trainer.max_epochs=1",
]
COLUMNS = [
    *("data.time=time", "data.timezone=null", "data.series=station", "data.targets=[level]"),
    "data.features=[rain]",
]
PLAIN = ["logger=csv", "accelerator=cpu", "accelerator.threads=1", "accelerator.precision=32-true"]
TABLES = ("readings", "texts")
"""What is a file in CSV."""


class Stage(dict[str, str]):
    """Name -> path. What stands there is real where `real`;
    otherwise it suffices to compose settings.
    """

    def __init__(self, folder: Path, *, real: bool) -> None:
        super().__init__(samples=str(SAMPLES), sgf=str(SAMPLES / "games_5x5.sgf"))
        self.folder, self.real = folder, real

    def __missing__(self, name: str) -> str:
        path = self.folder / (f"{name}.csv" if name in TABLES else name)
        (MAKERS if self.real else OUTLINES)[name](self, path)
        self[name] = str(path)
        return self[name]

    def hexlit(self, *arguments: str) -> None:
        """Run a command in the folder of the stage."""
        done = run_apart(HEXLIT, *arguments, folder=self.folder, seconds=900)
        assert done.returncode == 0, f"hexlit {' '.join(arguments)}\n{done.stdout}{done.stderr}"


def outlined_run(stage: Stage, path: Path) -> None:
    (path / ".hydra").mkdir(parents=True)
    needed = {"match": "players=[random,rollouts]", "strength": "checkpoint=hexlit:small"}
    setting = needed.get(path.name, "board=3")
    (path / ".hydra" / "overrides.yaml").write_text(f"- {setting}\n")
    (path / "parts.json").touch()  # of a strength run


def outlined_sweep(stage: Stage, path: Path) -> None:
    path.mkdir()
    task = "task=classify" if "texts" in path.name else "experiment=quick"
    (path / "best.yaml").write_text(f"overrides: [{task}, optimizer.lr=0.01]\n")


def run(stage: Stage, path: Path) -> None:
    stage.hexlit("train", *TINY, "report=true", f"hydra.run.dir={path}")


def sweep(stage: Stage, path: Path) -> None:
    grid = [
        "hydra/sweeper=optuna",
        "hydra/sweeper/sampler=grid",
        "optimizer.lr=0.003,0.03",
        f"hydra.sweep.dir={path}",
    ]
    tiny = [one for one in TINY if not one.startswith("optimizer.lr=")]
    stage.hexlit("train", "--multirun", *grid, *tiny)


def sweep_of_texts(stage: Stage, path: Path) -> None:
    data = [f"data.path={stage['texts']}", "optimizer.lr=0.003,0.03", f"hydra.sweep.dir={path}"]
    grid = ["hydra/sweeper=optuna", "hydra/sweeper/sampler=grid"]
    stage.hexlit("train", "--multirun", *CLASSIFY, *PLAIN, *grid, *data)


def match(stage: Stage, path: Path) -> None:
    stage.hexlit(
        "match",
        "players=[random,rollouts simulations=8]",
        "board=3",
        "pairs=4",
        f"hydra.run.dir={path}",
    )


def strength(stage: Stage, path: Path) -> None:
    small = ["board=3", "positions=20", "simulations=[4]", "accelerator=cpu", "report=false"]
    stage.hexlit("strength", "checkpoint=hexlit:small", *small, f"output={path}")


def store(stage: Stage, path: Path) -> None:
    stage.hexlit("games", "import", f"source={SAMPLES}", f"target={path}")


def readings(stage: Stage, path: Path) -> None:
    from tests.tasks.forecast.tables import hourly, save

    table = hourly()
    names = {"place": "station", "temp": "level", "wind": "rain"}
    save(table.rename_columns([names.get(name, name) for name in table.column_names]), path)


def forecast(stage: Stage, path: Path) -> None:
    stage.hexlit(
        "train",
        *FORECAST,
        *PLAIN,
        *COLUMNS,
        "data.horizon=6",
        f"data.path={stage['readings']}",
        f"hydra.run.dir={path}",
    )


def texts(stage: Stage, path: Path) -> None:
    from tests.tasks.classify.texts import save, sentences

    save(*sentences(60), path)


def classify(stage: Stage, path: Path) -> None:
    stage.hexlit("train", *CLASSIFY, *PLAIN, f"data.path={stage['texts']}", f"hydra.run.dir={path}")


def encoder(stage: Stage, path: Path) -> None:
    from tests.tasks.classify.encoder import save_encoder

    save_encoder(path)


def rates(stage: Stage, path: Path) -> None:
    path.mkdir()
    (path / "bench.json").write_text(json.dumps({"pace": asdict(PACE)}))


def nothing(stage: Stage, path: Path) -> None:
    """Composing does not look."""


MAKERS: dict[str, Callable[[Stage, Path], None]] = {
    make.__name__: make
    for make in (
        *(run, sweep, sweep_of_texts, match, strength, store),
        *(readings, forecast, texts, classify, encoder, rates),
    )
}
OUTLINES = {
    **dict.fromkeys(MAKERS, nothing),
    "run": outlined_run,
    "match": outlined_run,
    "strength": outlined_run,
}
OUTLINES |= {"sweep": outlined_sweep, "sweep_of_texts": outlined_sweep, "rates": rates}
