"""Writes the pages of results from `docs/results/data/*.json`: `python docs/results/make.py`.

`measure.py` writes these files. A file whose name begins with `recorded-` was copied by hand from
the output of a command of an earlier commit, and has `recorded` for that.
"""

import json
import statistics
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from scipy.stats import t as students_t

from hexlit.files import write_text_atomic
from hexlit.reporting.comparison import JONES
from hexlit.reporting.figures import BEST_COLOUR, FRONT_COLOUR, draw

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"
COMMAND = "python docs/results/make.py"
SEEDS = range(1, 11)
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

Entry = dict[str, Any]
Lines = list[str]


def entry(name: str) -> Entry:
    """The content of a data file."""
    content: Entry = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return content


def result(name: str) -> Entry:
    """The result in a data file."""
    content: Entry = entry(name)["result"]
    return content


def names_of(prefix: str) -> list[str]:
    """The data files whose name is `prefix` and a number, in the order of the numbers."""
    names = [path.stem for path in DATA.glob(f"{prefix}-*.json")]
    numbered = [name for name in names if name.removeprefix(f"{prefix}-").isdigit()]
    return sorted(numbered, key=lambda name: int(name.rpartition("-")[2]))


def power(value: float, digits: int = 2) -> str:
    """4598068061440 -> 4.60e12."""
    return f"{value:.{digits}e}".replace("e+", "e")


def percent(share: float) -> str:
    """0.9961 -> 99.6%."""
    return f"{share:.1%}"


def interval(low: float, high: float) -> str:
    """0.951, 0.987 -> (95.1–98.7)."""
    return f"({100 * low:.1f}–{100 * high:.1f})"


def share(measured: Entry) -> str:
    """A share with its interval: 99.6% (98.9–99.9)."""
    return f"{percent(measured['share'])} {interval(measured['low'], measured['high'])}"


def elo(player: Entry) -> str:
    """A rating with its interval: +471 (+449 to +497)."""
    rating = f"{player['elo']:+.0f}"
    if player["low"] == player["high"]:
        return "0"
    return f"{rating} ({player['low']:+.0f} to {player['high']:+.0f})"


def games_of_two(match: Entry) -> int:
    """Games that the first player of a match played with the second."""
    first, second, *_ = match["cross"]
    games: int = match["cross"][first][second]["games"]
    return games


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1) -> Lines:
    """A table whose first `left` columns are words."""
    marks = ["---"] * left + ["---:"] * (len(columns) - left)
    lines = [f"| {' | '.join(columns)} |", f"|{'|'.join(marks)}|"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return [*lines, ""]


def prose(*sentences: str) -> Lines:
    """A paragraph, in lines of 120 characters at most."""
    paragraph = " ".join(sentences)
    lines = textwrap.wrap(paragraph, 120, break_long_words=False, break_on_hyphens=False)
    return [*lines, ""]


def commands(names: Iterable[str]) -> Lines:
    """The commands of data files, each once. Those recorded by hand needed another machine."""
    measured: dict[str, None] = {}
    recorded: dict[str, None] = {}
    for name in names:
        content = entry(name)
        lines = recorded if "recorded" in content else measured
        lines[content["command"]] = None
    fences = []
    if measured:
        fences += ["```sh", *measured, "```", ""]
    if recorded:
        fences += ["```shell", *recorded, "```", ""]
    return fences


def sources(names: Iterable[str]) -> Lines:
    """The data files of a page, with machine, date and commit."""
    files: dict[tuple[str, str, str], list[str]] = {}
    for name in names:
        content = entry(name)
        machine = content["machine"]
        if "recorded" in content:
            machine = f"{machine}; recorded by hand"
        origin = (machine, content["date"], f"`{content['commit']}`")
        files.setdefault(origin, []).append(f"[{name}](data/{name}.json)")
    rows = [(", ".join(links), *origin) for origin, links in files.items()]
    return ["## Data", "", *table(("file", "machine", "date", "commit"), rows, left=4)]


def map_of(rows: str) -> Lines:
    """The winners of all first moves as a board: `W` where Black wins."""
    lines = rows.split("/")
    columns = "abcdefgh"[: len(lines)]
    board = [" ".join(columns)]
    for number, row in enumerate(lines, 1):
        board.append(f"{' ' * (number - 1)}{' '.join(row)}  {number}")
    return ["```text", *board, "```", ""]


def hex5() -> Lines:
    """Ten seeds of the default recipe."""
    names = [f"hex5-{seed}" for seed in SEEDS]
    runs = [result(name) for name in names]
    reached = [run for run in runs if run["why"] == "target"]
    operations = [run["flops"] for run in runs]
    mean = statistics.mean(operations)
    quantile = students_t.ppf(0.975, len(runs) - 1)
    half = quantile * statistics.stdev(operations) / len(runs) ** 0.5
    rows = []
    for run in runs:
        openings = f"{run['openings_right']} of {run['openings']}"
        shares = percent(run["search_optimality"]), percent(run["policy_optimality"])
        rows.append((run["seed"], run["epochs"], power(run["flops"]), openings, *shares))
    columns = ("seed", "epochs", "operations", "openings", "search optimal", "policy optimal")
    return [
        "# Ten seeds of hex5",
        "",
        *prose(
            f"{NUMBERS[len(reached)].capitalize()} of {NUMBERS[len(runs)]} seeds of the default "
            "recipe reach their target.",
            f"They take {power(mean)} operations in the mean.",
            f"Its 95% interval by Student's t is ± {power(half)}.",
        ),
        *commands(names[:1]),
        *prose(
            "The other rows have another `seed`.",
            f"The shares are of {runs[0]['positions']:,} new positions after the run.",
            "[Strength](../strength.md#operations-to-perfect-play) explains them.",
        ),
        *table(columns, rows, left=0),
        "![Openings right over operations, one line a seed](hex5.svg)",
        "",
        *sources(names),
    ]


def hex5_figure(runs: Sequence[Entry]) -> Figure:
    """Openings right at each evaluation, over operations, one line a seed."""
    figure = Figure(figsize=(6.5, 3.0), layout="constrained")
    axes = figure.subplots()
    for run in runs:
        operations = [one["flops"] / 1e12 for one in run["evaluations"]]
        right = [one["openings_right"] for one in run["evaluations"]]
        axes.plot(operations, right, color=FRONT_COLOUR, alpha=0.5, linewidth=1.2)
        axes.plot(operations[-1], right[-1], "o", color=BEST_COLOUR, markersize=4)
    axes.set_xlabel("operations of self-play and training, 1e12")
    axes.set_ylabel(f"openings right of {runs[0]['openings']}")
    return figure


NORMS = ("batch", "boards")


def larger_boards() -> Lines:
    """Runs of hex6 to hex9."""
    measured = [*names_of("hex6"), *names_of("hex7"), *names_of("hex8")]
    nine = result("recorded-hex9")
    several = [f"several-{norm}{part}" for norm in NORMS for part in ("", "-truth")]
    rows = []
    for name in measured:
        run = result(name)
        board = f"{run['board']}×{run['board']}"
        ending = "target" if run["why"] == "target" else "last epoch"
        openings = f"{run['openings_right']} of {run['openings']}"
        shares = percent(run["search_optimality"]), percent(run["policy_optimality"])
        costs = power(run["flops"]), power(run["actor_macs"])
        epochs = f"{run['epochs']} of {run['asked']}"
        rows.append((board, run["seed"], epochs, ending, openings, *shares, *costs))
    columns = (
        *("board", "seed", "epochs", "ended by", "openings", "search optimal", "policy optimal"),
        *("operations", "multiply-adds of self-play"),
    )
    return [
        "# hex6 to hex9",
        "",
        *prose(
            "The recipes of 6×6 and 7×7 end with all or nearly all openings right.",
            "That of 8×8 keeps nearly all wins, and misjudges four or five openings, which are nearly even.",
            "The shares are of new positions after the run.",
        ),
        *commands(measured),
        *table(columns, rows),
        *prose("The best checkpoint of this run of `hex7`, on solved positions:"),
        *commands(["hex7-1-truth"]),
        *table(TRUTH, truth_rows("hex7-1-truth"), left=0),
        *prose(
            "Three [seeds of hex7](data/recorded-hex7.json) with gambles in self-play reached the "
            "target after 350 to 500 epochs.",
            "Gambles [made no difference](levers.md) on 5×5, and the recipe no longer has them.",
        ),
        "## hex9",
        "",
        *prose(
            "One run on one core with AMX, next to other work, took 66 minutes, with "
            f"{power(nine['actor_macs'])} multiply-adds of self-play.",
            "No opening of 9×9 is solved by the project, so its last network played `hexlit:large`:",
        ),
        *commands(["recorded-hex9"]),
        *table(nine["columns"], nine["rows"], left=1),
        "## One network of several boards",
        "",
        *prose(
            "Here 5×5 to 8×8 take turns to the end.",
            "Plain batch norm (`net.norm=batch`) learns with the statistics of one board at a time,",
            "and plays with a mean over the latest, so its values have a wrong zero:",
            "by them the mover wins after 62 of the first stones of 8×8, where 32 win.",
            "`net.norm=boards` keeps statistics for each board. On 8×8:",
        ),
        *commands(several[2:]),
        *table(("`net.norm`", *TRUTH), several_rows(), left=1),
        *sources([*measured, "hex7-1-truth", *several, "recorded-hex7", "recorded-hex9"]),
    ]


def several_rows() -> Iterable[Sequence[object]]:
    """The rows of `truth_rows` for each kind of normalisation."""
    for norm in NORMS:
        for row in truth_rows(f"several-{norm}-truth"):
            yield f"`{norm}`", *row


def other_tasks() -> Lines:
    """Three seeds of the text classifier and of the forecaster, next to their baselines."""
    texts = names_of("texts")
    forecasts = names_of("forecasts")
    return [
        "# Texts and forecasts",
        "",
        *prose(
            "Neither small network beats the simplest good method on its small data set.",
            "Both are examples of a task, and their baselines are part of every run.",
        ),
        *commands([texts[0], forecasts[0]]),
        "## Classes of BBC News",
        "",
        *text_scores([result(name) for name in texts]),
        "## Temperature of the next day",
        "",
        *forecast_errors([result(name) for name in forecasts]),
        *sources([*texts, *forecasts]),
    ]


def text_scores(runs: Sequence[Entry]) -> Lines:
    """Scores on the test set of news, a row a seed and one of the baseline."""
    scores = ("accuracy", "macro_f1", "log_loss", "ece")
    rows: list[Sequence[object]] = []
    for run in runs:
        rows.append((f"seed {run['seed']}", *(f"{run['model'][name]:.3f}" for name in scores)))
    baseline = runs[0]["baseline"]
    rows.append(
        ("TF-IDF, logistic regression", *(f"{baseline[name]:.3f}" for name in scores)),
    )
    counts = runs[0]["texts"]
    columns = ("model", "accuracy", "macro F1", "log loss", "calibration error")
    return [
        *prose(
            f"{counts['test']} articles are the test set, and {counts['train']:,} are learned from.",
            f"Batches of similar length save {percent(runs[0]['tokens_saved'])} of the tokens.",
        ),
        *table(columns, rows),
    ]


def forecast_errors(runs: Sequence[Entry]) -> Lines:
    """Mean absolute errors on the test set by hours ahead, a row a forecaster."""
    horizons = (1, 6, 12, 24, "all")
    rows: list[Sequence[object]] = []
    for run in runs:
        rows.append((f"LSTM, seed {run['seed']}", *errors_of(run, "model", horizons)))
    others = dict.fromkeys(row["forecaster"] for row in runs[0]["errors"])
    for name in others:
        if name != "model":
            rows.append((name, *errors_of(runs[0], name, horizons)))
    columns = ("forecaster", "+1 h", "+6 h", "+12 h", "+24 h", "all", "RMSE")
    return [
        *prose(
            "Mean absolute errors in °F on the last part of the year, which no choice has seen:"
        ),
        *table(columns, rows),
    ]


def errors_of(run: Entry, forecaster: str, horizons: Sequence[object]) -> list[str]:
    """The mean absolute error for each of the `horizons`, and the root mean squared one of all."""
    by_horizon = {}
    for row in run["errors"]:
        if row["forecaster"] == forecaster:
            by_horizon[row["horizon"]] = row
    cells = [f"{by_horizon[horizon]['mae']:.2f}" for horizon in horizons]
    return [*cells, f"{by_horizon['all']['rmse']:.2f}"]


def perfect() -> Lines:
    """Elo to perfect play, with the operations of Jones 2021."""
    measured = names_of("perfect")
    rows = []
    ratios: list[float] = []
    for board, operations in result("recorded-frontier")["rows"]:
        jones = JONES[board][1]
        cheapest, dearest = min(operations), max(operations)
        fewer = jones / dearest, jones / cheapest
        ratios += fewer
        ours = f"{power(cheapest, 1)} to {power(dearest, 1)}"
        times = f"{fewer[0]:.0f} to {fewer[1]:.0f}"
        again = "–"
        if f"perfect-{board}" in measured:
            again = power(result(f"perfect-{board}")["macs_to_perfect"], 1)
        rows.append((f"{board}×{board}", ours, again, power(jones, 1), times))
    columns = ("board", "multiply-adds, three seeds", "again, seed 1", "Jones 2021", "times fewer")
    small = []
    for player in result("small-perfect")["players"]:
        won = f"{player['wins']} of {player['games']}"
        small.append((player["name"], elo(player), won))
    return [
        "# Elo to perfect play",
        "",
        *prose(
            f"Self-play comes within 50 Elo of perfect play with at least {min(ratios):.0f} times "
            "fewer multiply-adds than Jones 2021.",
        ),
        *commands(measured),
        *prose(
            "The table has the first evaluation within 50 Elo, and the figures of Jones "
            "(arXiv 2104.03113).",
            "An evaluation of 100 games has an interval of about 60 Elo.",
            "6×6 has `experiment=hex6`. 7×7 has `experiment=hex6 board=7`, with "
            "`selfplay.smaller_boards=[5,6]` and `selfplay.smaller_epochs=16`.",
        ),
        *table(columns, rows),
        "![Elo to perfect play over multiply-adds of self-play, 4×4 to 7×7](../images/frontier.svg)",
        "",
        *prose(
            "`hexlit report 'runs=[RUN,RUN]'` draws this for any runs.",
            "Dashed lines are those of Jones 2021, from 500 to 50 Elo below perfect play.",
            "The packaged network `hexlit:small` plays the solver on 7×7:",
        ),
        *commands(["small-perfect"]),
        *table(("player", "Elo (95% interval)", "games won"), small),
        *sources([*measured, "recorded-frontier", "small-perfect"]),
    ]


def openings() -> Lines:
    """Maps of first moves, and certificates."""
    board, hard, hardest = result("recorded-openings-8")["rows"][0]
    rows = []
    names = ["certificate-6-b4", "certificate-7-b4", "certificate-8-d5", "certificate-8-d1"]
    for name in names:
        _, size, move = name.split("-")
        found = result(name)
        winner = found["winner"].capitalize()
        rows.append((f"{size}×{size}", move, winner, f"{found['claims']:,}"))
    return [
        "# Openings and certificates",
        "",
        *prose(
            f"All {board.count('W') + board.count('L')} first moves of 8×8 are solved.",
            f"Black wins with {board.count('W')} of them.",
        ),
        *commands(["recorded-openings-8", *names]),
        *prose("`W`: Black wins with this first move."),
        *map_of(board),
        *prose(
            f"The openings h4 and h2 cost most: {hardest:,} and {hard:,} nodes.",
            "A certificate proves the winner of a position.",
            "[The solver](../solver.md#certificates) explains its claims.",
        ),
        *table(("board", "first move", "winner", "claims"), rows, left=3),
        *sources(["recorded-openings-8", *names]),
    ]


IDEAS = {
    "or_rule": "connections out of alternatives, not only chains of bridges",
    "fill_in": "filling in dead and captured cells",
    "widening": "searching the best moves first",
    "must_play": "the must-play region of the opponent's threats",
    "carriers": "carriers of refutations",
    "inferior": "leaving out inferior moves",
    "stones": "carriers that won with the same stones",
}


def solver() -> Lines:
    """What each idea of the solver saves, and the order by a network."""
    nodes = result("solver-ideas")["nodes"]
    everything = nodes[""]
    rows = []
    for idea in sorted(IDEAS, key=lambda idea: -nodes[idea]):
        rows.append((IDEAS[idea], f"{nodes[idea]:,}", f"{nodes[idea] / everything:.2f}"))
    pairs = {
        "7×7, all openings": "openings-7",
        "8×8 after d5": "solve-8-d5",
        "8×8 after b7": "solve-8-b7",
        "8×8 after e5": "solve-8-e5",
    }
    names = []
    ordered = []
    for title, name in pairs.items():
        plain, network = result(name)["nodes"], result(f"{name}-large")["nodes"]
        names += [name, f"{name}-large"]
        ordered.append((title, f"{plain:,}", f"{network:,}", f"{network / plain:.2f}"))
    return [
        "# Ideas of the solver",
        "",
        *prose(
            "Each idea of the solver saves nodes, up to a factor of "
            f"{max(nodes.values()) / everything:.1f} on 6×6.",
        ),
        *commands(["solver-ideas"]),
        *prose(
            f"All ideas together solve the openings of 6×6 in {everything:,} nodes.",
            "Each row leaves one idea out:",
        ),
        *table(("left out", "nodes", "ratio"), rows),
        *prose(
            "`checkpoint=hexlit:large` orders the moves of costly positions by its policy.",
            "The answers stay the same, and the nodes may be fewer or more.",
        ),
        *commands(names),
        *table(("position", "nodes", "with `hexlit:large`", "ratio"), ordered),
        *prose("A single row moves by a fifth or more with any change of the order of moves."),
        *sources(["solver-ideas", *names]),
    ]


TRUTH = (
    *("simulations", "openings right", "keeps the win, games", "keeps the win, random cells"),
    *("sees the better side", "Brier score"),
)


def truth_rows(name: str) -> Iterable[Sequence[object]]:
    """One row for each number of simulations."""
    measured = result(name)
    for level in measured["levels"]:
        yield (
            f"{level['simulations']:,}" if level["simulations"] else "none",
            f"{level['openings_right']} of {measured['openings']}",
            share(level["games"]),
            share(level["random"]),
            percent(level["right_side"]),
            f"{level['brier']:.3f}",
        )


def networks() -> Lines:
    """The packaged networks against the truth and against others."""
    best = result("large-truth")["levels"][-1]
    training = result("recorded-large-training")
    match = result("large-9")
    players = {
        "s32": "`hexlit:large`, 32 simulations",
        "policy": "`hexlit:large`, the policy alone",
        "two_distance": "`two_distance`",
    }
    rated = [(players[player["name"]], elo(player)) for player in match["players"]]
    gates = result("recorded-gates")
    names = ["small-truth", "large-truth", "large-9", "recorded-large-training"]
    return [
        "# The packaged networks",
        "",
        *prose(
            f"With {best['simulations']} simulations `hexlit:large` keeps the win in "
            f"{percent(best['random']['share'])} of won positions on random cells of 7×7.",
            f"A random move keeps it in {percent(result('small-truth')['random_move'])} of positions "
            "from games.",
        ),
        *commands(names[:3]),
        *prose("`hexlit:small` on 7×7:"),
        *table(TRUTH, truth_rows("small-truth"), left=0),
        *prose("`hexlit:large` on 7×7:"),
        *table(TRUTH, truth_rows("large-truth"), left=0),
        *prose(f"`hexlit:large` on 9×9, {games_of_two(match)} games for each two players:"),
        *table(("player", "Elo (95% interval)"), rated),
        *prose(
            "`hexlit:large` has changed twice since the run of the last table.",
            "First, batch norm got statistics for each board from 10×10 on, without any training.",
            "Then 330 epochs of self-play followed, see [Networks](../networks.md#hexlitlarge).",
            "Each time it played itself before, from paired openings:",
        ),
        *commands(["recorded-gates"]),
        *table(gates["columns"], gates["rows"], left=2),
        *prose(
            "The last test was stopped before it was decided.",
            "The policy during the first run, with `two_distance` at 0:",
        ),
        *commands(names[3:]),
        *table(training["columns"], training["rows"], left=0),
        *sources([*names, "recorded-gates"]),
    ]


LEVELS = {
    1: "draws from the policy, temperature 2.4",
    2: "temperature 2.0",
    3: "1.7",
    4: "1.45",
    5: "1.2",
    6: "0.9",
    7: "the likeliest move",
    8: "64 simulations",
    9: "200 simulations",
    10: "500 simulations",
}


def levels() -> Lines:
    """The ten levels to play against."""
    match, upper = result("levels"), result("levels-8")
    rated = {player["name"]: player for player in match["players"]}
    rows = []
    for level in range(1, 8):
        rows.append((level, LEVELS[level], elo(rated[f"level-{level}"])))
    eighth = next(player for player in upper["players"] if player["name"] == "level-8")
    gap = f"{eighth['elo']:.0f} ({eighth['low']:.0f} to {eighth['high']:.0f})"
    rows.append((8, LEVELS[8], f"{gap} above level 7"))
    for lower, name, _, difference, least, most in result("recorded-levels-10")["rows"]:
        level = int(name.removeprefix("level "))
        rows.append((level, LEVELS[level], f"{difference} ({least} to {most}) above {lower}"))
    names = ["levels", "levels-8", "recorded-levels-10"]
    return [
        "# Levels",
        "",
        *prose("Each of the ten levels is stronger than the one below."),
        *commands(names),
        *prose(
            "The first seven levels and `two_distance` played each other, each two of them "
            f"{games_of_two(match)} games.",
            "`two_distance` is 0.",
            f"Level 8 played {upper['games']} games with the one below.",
        ),
        *table(("level", "how it plays", "Elo on 11×11 (95% interval)"), rows, left=2),
        *sources(names),
    ]


def search() -> Lines:
    """What search adds to the policy."""
    rows = []
    measured = result("small-search")["rows"]
    gumbel = [row for row in measured if row["algorithm"] == "gumbel" and not row["root_batch"]]
    alone, together = gumbel[-2:]
    for row in measured:
        leaves = f"{row['leaves']}, root" if row["root_batch"] else str(row["leaves"])
        opponent = "the policy" if row["opponent"] == "policy" else "leaf by leaf"
        counts = row["simulations"], leaves, f"{row['leaves_a_call']:.1f}"
        rows.append(
            (row["algorithm"], *counts, opponent, share(row["match"]), share(row["optimality"]))
        )
    columns = (
        *("search", "simulations", "`search.leaves`", "leaves a call"),
        *("opponent", "won", "keeps the win"),
    )
    return [
        "# What search is worth",
        "",
        *prose(
            f"With {alone['simulations']} simulations `hexlit:small` wins "
            f"{percent(alone['match']['share'])} of its games against its policy alone.",
            f"With eight leaves a call it wins {percent(together['match']['share'])} against the "
            "same search leaf by leaf.",
        ),
        *commands(["small-search"]),
        *prose(
            "`search.leaves` evaluates several leaves of a tree in one call.",
            "Such a search plays the same search leaf by leaf.",
            "*root*: the leaves of a call lie under different root moves.",
            "*keeps the win*: the share of won positions that the move keeps won.",
        ),
        *table(columns, rows),
        *sources(["small-search"]),
    ]


def speed() -> Lines:
    """Rates of processors."""
    names = ["bench-forward", "bench-train", "bench-search"]
    forward: dict[str, dict[int, float]] = {}
    for row in result("bench-forward")["measurements"]:
        if row["median"] is not None:
            forward.setdefault(row["precision"], {})[row["batch"]] = row["median"]
    smallest, largest = min(forward["eager float32"]), max(forward["eager float32"])
    evaluated = []
    for precision, rates in forward.items():
        evaluated.append((precision, f"{rates[smallest]:,.0f}", f"{rates[largest]:,.0f}"))
    others = []
    for name in names[1:]:
        for row in result(name)["measurements"]:
            rate = f"{row['median']:,.0f}"
            others.append((row["what"], row["precision"], row["unit"], rate))
    fastest = max(forward, key=lambda precision: forward[precision][largest])
    ratio = forward[fastest][largest] / forward["eager float32"][largest]
    recorded = result("recorded-speed")
    return [
        "# Speed of processors",
        "",
        *prose(
            f"At batch {largest} `{fastest}` evaluates {ratio:.1f} times as many positions as "
            "plain torch in float32.",
        ),
        *commands(names),
        *prose(
            "All rows are of one thread on 11×11, with the network 6×64.",
            "Positions/s of the forward pass:",
        ),
        *table(("format", f"batch {smallest}", f"batch {largest}"), evaluated),
        *prose("Training steps and the search with a free evaluator:"),
        *table(("measurement", "format", "unit", "median"), others, left=3),
        *prose("Positions/s of the forward pass on a processor without AMX:"),
        *table(recorded["columns"], recorded["rows"]),
        *sources([*names, "recorded-speed"]),
    ]


def devices() -> Lines:
    """What was measured on which device."""
    recorded = result("recorded-devices")
    return [
        "# Devices",
        "",
        *prose("One H100 and one H200 at a time ran training, self-play and the tests of CUDA."),
        *commands(["recorded-devices"]),
        *table(recorded["columns"], recorded["rows"], left=3),
        *prose(
            "These are single runs with the recipes of their commit.",
            "[Hardware](../hardware.md#what-was-measured) lists what was not measured.",
        ),
        *sources(["recorded-devices"]),
    ]


def levers() -> Lines:
    """One line for each setting that was tried."""
    boards = {
        "recorded-levers-5": "5×5",
        "recorded-levers-7": "7×7",
        "recorded-levers-search": "7×7",
    }
    rows = []
    for name, board in boards.items():
        for setting, seeds, effect, state in result(name)["rows"]:
            rows.append((board, setting, seeds, effect, state))
    kept = [row for row in rows if row[-1] == "kept"]
    return [
        "# Levers",
        "",
        *prose(f"Of {len(rows)} changes that were measured, {len(kept)} are part of the recipes."),
        *commands(boards),
        *prose(
            "The setting of a row is added to the command of its board.",
            "On 5×5 the effect is in operations to the target.",
            "The recipe of these rows took 6.9e12 to 8.2e12 with three blocks.",
            "On 7×7 it is in figures after so many multiply-adds of self-play.",
            "A setting that is *not kept* can still be chosen.",
        ),
        *table(("board", "setting", "seeds", "effect", "state"), rows, left=5),
        *sources(boards),
    ]


PAGES: dict[str, Callable[[], Lines]] = {
    "hex5": hex5,
    "larger-boards": larger_boards,
    "perfect": perfect,
    "openings": openings,
    "solver": solver,
    "networks": networks,
    "levels": levels,
    "search": search,
    "speed": speed,
    "devices": devices,
    "other-tasks": other_tasks,
    "levers": levers,
}


def page_text(lines: Lines) -> str:
    """The lines of a page, and one about its origin."""
    note = f"This page is generated by `{COMMAND}` from the files of its last table."
    return "\n".join([*lines, note]) + "\n"


def pages() -> dict[Path, str]:
    """Path -> text of each page."""
    return {HERE / f"{name}.md": page_text(make()) for name, make in PAGES.items()}


def pictures() -> dict[Path, str]:
    """Path -> SVG of each picture."""
    runs = [result(f"hex5-{seed}") for seed in SEEDS]
    return {HERE / "hex5.svg": draw(hex5_figure, runs).decode()}


def main() -> None:
    """Write all pages and pictures."""
    for path, text in {**pictures(), **pages()}.items():
        write_text_atomic(path, text)
        print(path)


if __name__ == "__main__":
    main()
