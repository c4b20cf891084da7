"""How far a plan has to go: epochs, games, or the strength that a measured run reached after so many games."""

import csv
import math
from pathlib import Path

from hexlit.errors import UsageError


def games_to_score(run: Path, score: float) -> float:
    """Number of self-play games until the run in the folder `run` first measured a `strength.score` of `score`.

    Raises:
        UsageError: the run has no metrics, or never measured as much.
    """
    file = run / "metrics.csv"
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except OSError as error:
        raise UsageError(f"target.run={run}: its metrics.csv cannot be read ({error.strerror})") from error
    best = -math.inf
    for row in rows:
        try:
            reached, games = float(row["strength.score"] or "nan"), float(row["selfplay.games"] or "nan")
        except (KeyError, TypeError, ValueError):
            continue
        if reached >= score and games > 0:
            return games
        best = max(best, reached) if reached == reached else best
    if best == -math.inf:
        raise UsageError(f"target.run={run}: measured no strength of self-play; choose another run")
    raise UsageError(f"target.score={score}: {run} reached {best:.3f} at best; ask for less, or name a stronger run")
