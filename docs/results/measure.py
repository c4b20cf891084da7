"""Runs the commands behind the pages of results, and keeps what each reports as a small JSON file.

    python docs/results/measure.py FOLDER [NAME ...] [--machine TEXT] [--commit HASH]

FOLDER keeps the whole output of each command: `FOLDER/NAME/`, or `FOLDER/NAME.json` of a command
that prints its result. A command with a result there is not run again. Without a NAME all are
measured, one after another, which takes hours. The small files are `docs/results/data/NAME.json`;
`python docs/results/make.py` writes the pages from them.
"""

import argparse
import csv
import datetime
import json
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hexlit.files import write_text_atomic

DATA = Path(__file__).resolve().parent / "data"
FLOAT32 = ("accelerator.precision=32-true", "accelerator.inference_precision=fp32")
INFERENCE32 = "accelerator.inference_precision=fp32"
CURVE = ("openings_right", "search_optimality", "policy_optimality")
FINAL = (*CURVE, "openings", "positions")

Result = dict[str, Any]


@dataclass(frozen=True)
class Measurement:
    """A command and what is kept of its result."""

    words: tuple[str, ...]
    """The command line, without the option that chooses the folder of the result."""
    keep: Callable[[Any], Result]
    """The part of the result that the pages use."""
    folder: str = ""
    """Option that chooses the folder of the result; empty for a command that prints its result."""
    file: str = ""
    """The file of the result in this folder."""


def training(*words: str) -> Measurement:
    """A run, kept by its summary and the evaluations of `metrics.csv`."""
    return Measurement(("hexlit", "train", *words), run_result, "hydra.run.dir", "summary.json")


def task(keep: Callable[[Any], Result], *words: str) -> Measurement:
    """A run of another task than Hex."""
    return Measurement(("hexlit", "train", *words), keep, "hydra.run.dir", "summary.json")


def frontier(*words: str) -> Measurement:
    """A run that plays the solver at every second epoch."""
    pairs = ("evaluation.perfect_pairs=50", "evaluation.begin_after=0", "evaluation.every_epochs=2")
    words = ("hexlit", "train", *words, *pairs, "seed=1")
    return Measurement(words, frontier_result, "hydra.run.dir", "summary.json")


def strength(keep: Callable[[Any], Result], *words: str) -> Measurement:
    """A measurement of `hexlit strength`."""
    return Measurement(("hexlit", "strength", *words), keep, "output", "strength.json")


def match(*words: str) -> Measurement:
    """A match of `hexlit match`."""
    return Measurement(("hexlit", "match", *words), match_result, "hydra.run.dir", "match.json")


def bench(*words: str) -> Measurement:
    """A measurement of `hexlit bench`."""
    return Measurement(("hexlit", "bench", *words), bench_result, "output", "bench.json")


def solve(*words: str) -> Measurement:
    """A result that `hexlit solve` prints."""
    return Measurement(("hexlit", "solve", *words, "json=true"), printed_result)


def run_result(path: Path) -> Result:
    """The end of a run, and its evaluations in order."""
    summary = json.loads(path.read_text(encoding="utf-8"))
    with (path.parent / "metrics.csv").open(encoding="utf-8", newline="") as file:
        epochs = list(csv.DictReader(file))
    evaluations = []
    for row in epochs:
        if row["strength.openings_right"]:
            figures = {name: float(row[f"strength.{name}"]) for name in CURVE}
            evaluation = {"epochs": int(row["epoch"]) + 1, "flops": float(row["cost.flops"])}
            evaluations.append(evaluation | figures)
    return {
        "seed": summary["seed"],
        "board": summary["board"],
        "why": summary["ending"]["why"],
        "epochs": summary["epochs"],
        "asked": summary["ending"]["asked"],
        "flops": summary["cost"]["flops"],
        "actor_macs": float(epochs[-1]["cost.actor_macs"]),
        "games": summary["games"],
        "evaluations": evaluations,
        **{name: summary["strength"][name] for name in FINAL},
    }


def several_result(path: Path) -> Result:
    """How long a run was."""
    summary = json.loads(path.read_text(encoding="utf-8"))
    return {name: summary[name] for name in ("epochs", "games", "wall_seconds")}


def texts_result(path: Path) -> Result:
    """The scores of a text classifier on the test set, and of its baseline."""
    summary = json.loads(path.read_text(encoding="utf-8"))
    test = summary["test"]
    kept = ("accuracy", "macro_f1", "log_loss", "ece")
    return {
        "seed": summary["seed"],
        "texts": summary["data"]["texts"],
        "tokens_saved": summary["padding"]["saved"],
        "model": {name: test["model"][name] for name in kept},
        "baseline": {name: test["baseline"][name] for name in kept},
    }


def forecasts_result(path: Path) -> Result:
    """The errors of a forecaster and of its baselines on the test set, by hours ahead."""
    summary = json.loads(path.read_text(encoding="utf-8"))
    errors = []
    for row in summary["test"]:
        if row["horizon"] in (1, 6, 12, 24, "all"):
            names = ("forecaster", "horizon", "mae", "rmse")
            errors.append({name: row[name] for name in names})
    return {"seed": summary["seed"], "windows": summary["data"]["windows"], "errors": errors}


def frontier_result(path: Path) -> Result:
    """The evaluations of a run against the solver, and the multiply-adds within 50 Elo of it."""
    with (path.parent / "metrics.csv").open(encoding="utf-8", newline="") as file:
        epochs = list(csv.DictReader(file))
    evaluations = []
    for row in epochs:
        if row["strength.elo_to_perfect"]:
            elo = float(row["strength.elo_to_perfect"])
            evaluations.append({"actor_macs": float(row["cost.actor_macs"]), "elo": elo})
            within = float(row["strength.macs_to_perfect"])
    return {"macs_to_perfect": within, "evaluations": evaluations}


def truth_result(path: Path) -> Result:
    """Openings, optimality and calibration of a network, by simulations."""
    report = json.loads(path.read_text(encoding="utf-8"))
    levels = []
    for index, level in enumerate(report["openings"]["levels"]):
        games = report["optimality"]["games"][index]["all"]
        cells = report["optimality"]["random"][index]["all"]
        calibration = report["calibration"]["games"][index]
        levels.append(
            {
                "simulations": level["simulations"],
                "openings_right": level["right"],
                "games": games,
                "random": cells,
                "brier": calibration["brier"],
                "right_side": calibration["sign_accuracy"],
            }
        )
    return {
        "board": report["board"],
        "openings": len(report["openings"]["truth"]),
        "random_move": report["positions"]["games"]["random_move"],
        "levels": levels,
    }


def perfect_result(path: Path) -> Result:
    """Elo of a network's players below perfect play."""
    report = json.loads(path.read_text(encoding="utf-8"))
    return {"board": report["board"], "players": report["players"]}


def search_result(path: Path) -> Result:
    """What each way of searching wins against the policy alone; times are left out."""
    report = json.loads(path.read_text(encoding="utf-8"))
    names = ("algorithm", "simulations", "leaves", "root_batch", "opponent", "match", "optimality")
    rows = []
    for measured in report["rows"]:
        row = {name: measured[name] for name in names}
        row["leaves_a_call"] = measured["one_game"]["leaves_a_call"]
        rows.append(row)
    return {"board": report["board"], "rows": rows}


def match_result(path: Path) -> Result:
    """Ratings and results of a match."""
    report = json.loads(path.read_text(encoding="utf-8"))
    names = ("board", "pairs", "games", "anchor", "openings", "players", "cross")
    return {name: report[name] for name in names}


def bench_result(path: Path) -> Result:
    """Medians and quartiles of a benchmark."""
    report = json.loads(path.read_text(encoding="utf-8"))
    names = ("what", "unit", "precision", "threads", "batch", "median")
    rows = []
    for measured in report["measurements"]:
        row = {name: measured[name] for name in names}
        row["quartiles"] = [measured["lower_quartile"], measured["upper_quartile"]]
        rows.append(row)
    return {"board": report["board"], "processor": report["machine"], "measurements": rows}


def printed_result(path: Path) -> Result:
    """A printed object, without its seconds."""
    result: Result = json.loads(path.read_text(encoding="utf-8"))
    result.pop("seconds", None)
    return result


SMALL = "checkpoint=hexlit:small"
LARGE = "checkpoint=hexlit:large"
DRAWN_LEVELS = "level=1,level=2,level=3,level=4,level=5,level=6,level=7"
LARGE_PLAYERS = (
    '"policy=hexlit:large name=policy","checkpoint=hexlit:large simulations=32 name=s32"'
)

NORMS = ("batch", "boards")
SEVERAL = (
    *("experiment=hex8", "net=mini", "selfplay.smaller_epochs=8", "selfplay.smaller_share=0.75"),
    *("trainer.max_epochs=150", "data.replay_epochs=0", "selfplay.opening_skew_after=50"),
    *("evaluation.every_epochs=0", "trainer.monitor=cost.flops", "trainer.monitor_mode=max"),
    *("logger=csv", "seed=1"),
)
"""A small network of four boards, in turn."""

MEASUREMENTS: dict[str, Measurement] = {
    **{f"hex5-{seed}": training(f"seed={seed}", *FLOAT32) for seed in range(1, 11)},
    "hex6-1": training("experiment=hex6", "seed=1"),
    "hex7-1": training("experiment=hex7", "seed=1"),
    "hex8-1": training("experiment=hex8", "seed=1"),
    **{f"several-{norm}": task(several_result, *SEVERAL, f"net.norm={norm}") for norm in NORMS},
    **{
        f"several-{norm}-truth": strength(
            truth_result,
            *(f"checkpoint=runs/results/several-{norm}", "board=8", "positions=500"),
            *("simulations=[64]", INFERENCE32),
        )
        for norm in NORMS
    },
    "hex8-2": training(
        *("experiment=hex8", "seed=2", "net.blocks=[8]", "trainer.max_epochs=640"),
        *("data.replay_epochs=240", "selfplay.opening_skew_after=200"),
    ),
    **{f"texts-{seed}": task(texts_result, "task=classify", f"seed={seed}") for seed in (1, 2, 3)},
    **{
        f"forecasts-{seed}": task(forecasts_result, "task=forecast", f"seed={seed}", FLOAT32[0])
        for seed in (1, 2, 3)
    },
    "perfect-4": frontier("board=4", "trainer.max_epochs=30"),
    "perfect-5": frontier(),
    "hex7-1-truth": strength(
        truth_result,
        *("checkpoint=runs/results/hex7-1", "board=7", "positions=1000"),
        *("simulations=[64,256]", INFERENCE32),
    ),
    "small-truth": strength(
        truth_result, SMALL, "board=7", "positions=1000", "simulations=[16,64,256]", INFERENCE32
    ),
    "small-perfect": strength(
        perfect_result, "what=perfect", SMALL, "simulations=[16,64,256]", "pairs=50", INFERENCE32
    ),
    "small-search": strength(
        search_result,
        *("what=search", SMALL, "board=7", "pairs=50", "positions=500"),
        *("simulations=[16,64]", "leaves=[8]", INFERENCE32),
    ),
    "large-truth": strength(
        truth_result, LARGE, "board=7", "positions=500", "simulations=[64]", INFERENCE32
    ),
    "large-9": match(
        f"players=[{LARGE_PLAYERS},two_distance]",
        *("board=9", "pairs=50", "anchor=two_distance", INFERENCE32),
    ),
    "levels": match(
        f"players=[{DRAWN_LEVELS},two_distance]",
        *("board=11", "pairs=50", "anchor=two_distance", INFERENCE32),
    ),
    "levels-8": match("players=[level=7,level=8]", "board=11", "pairs=50", INFERENCE32),
    "openings-7": solve("board=7", "openings=true"),
    "openings-7-large": solve("board=7", "openings=true", LARGE),
    "solve-8-d5": solve("board=8", "moves=d5"),
    "solve-8-d5-large": solve("board=8", "moves=d5", LARGE),
    "solve-8-b7": solve("board=8", "moves=b7"),
    "solve-8-b7-large": solve("board=8", "moves=b7", LARGE),
    "solve-8-e5": solve("board=8", "moves=e5"),
    "solve-8-e5-large": solve("board=8", "moves=e5", LARGE),
    "certificate-6-b4": solve("board=6", "moves=b4", "certificate=6-b4.txt"),
    "certificate-7-b4": solve("board=7", "moves=b4", "certificate=7-b4.txt"),
    "certificate-8-d5": solve("board=8", "moves=d5", "certificate=8-d5.txt"),
    "certificate-8-d1": solve("board=8", "moves=d1", "certificate=8-d1.txt"),
    "solver-ideas": Measurement(("python", "docs/results/solver_ideas.py", "6"), printed_result),
    "bench-forward": bench("what=forward", "compiled=false", "accelerator.threads=1"),
    "bench-train": bench("what=train", "compiled=false", "accelerator.threads=1"),
    "bench-selfplay": bench("what=selfplay", "repeats=2", "accelerator.threads=1"),
    "bench-search": bench("what=search", "accelerator.threads=1"),
}


def result_of(name: str, folder: Path) -> Path:
    """The file of a result, measured now where it is not there yet."""
    measurement = MEASUREMENTS[name]
    printed = folder / f"{name}.json"
    path = folder / name / measurement.file if measurement.folder else printed
    if path.exists():
        return path
    program = Path(sys.executable).parent / measurement.words[0]
    words = [str(program), *measurement.words[1:]]
    if not measurement.folder:
        done = subprocess.run(words, stdout=subprocess.PIPE, encoding="utf-8", check=True)
        write_text_atomic(path, done.stdout)
        return path
    unfinished = folder / f"{name}.unfinished"
    subprocess.run([*words, f"{measurement.folder}={unfinished}"], check=True)
    unfinished.rename(folder / name)
    return path


def rounded(value: Any) -> Any:
    """`value` with six digits of each float."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def commit_of_checkout() -> str:
    """The commit that is checked out, shortened."""
    words = ["git", "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(
        words, cwd=DATA, stdout=subprocess.PIPE, encoding="utf-8", check=True
    ).stdout.strip()


def main() -> None:
    """Measure what has no result yet, and write the small files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*MEASUREMENTS, []])
    parser.add_argument("--machine", default=platform.processor() or platform.machine())
    parser.add_argument("--commit", default=commit_of_checkout())
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names or MEASUREMENTS:
        path = result_of(name, options.folder.resolve())
        ended = datetime.datetime.fromtimestamp(path.stat().st_mtime, datetime.UTC)
        entry = {
            "command": shlex.join(MEASUREMENTS[name].words),
            "machine": options.machine,
            "date": ended.date().isoformat(),
            "commit": options.commit,
            "result": rounded(MEASUREMENTS[name].keep(path)),
        }
        write_text_atomic(DATA / f"{name}.json", json.dumps(entry, indent=1) + "\n")
        print(DATA / f"{name}.json")


if __name__ == "__main__":
    main()
