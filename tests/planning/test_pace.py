"""Measured rates: read, refused, and what follows between them."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from hexlit.errors import UsageError
from hexlit.planning.pace import ActorRate, Pace

PACE = Pace(2, (ActorRate(1, 64, 100.0), ActorRate(1, 4, 60.0), ActorRate(2, 64, 150.0)), 400.0, 2, 10.0, 3.0, 1e3, 1e6)


def test_it_reads_what_was_written(tmp_path: Path) -> None:
    (tmp_path / "bench.json").write_text(json.dumps({"pace": asdict(PACE)}))
    assert Pace.read(tmp_path) == Pace.read(tmp_path / "bench.json") == PACE


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        ("{", "is no JSON"),
        ("[]", "no figures of what=pace"),
        (json.dumps({"pace": {"actors": []}}), "must list the rates of self-play"),
        (json.dumps({"pace": asdict(PACE) | {"positions_per_game": 0}}), "pace.positions_per_game=0 must be"),
        (json.dumps({"pace": asdict(PACE) | {"weights_bytes": None}}), "pace.weights_bytes=None must be"),
        (json.dumps({"pace": asdict(PACE) | {"actors": [asdict(ActorRate(2, 4, 1.0))]}}), "one process alone"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "bench.json").write_text(content)
    with pytest.raises(UsageError, match=said) as error:
        Pace.read(tmp_path)
    assert str(error.value).startswith(f"rates={tmp_path}")


def test_a_process_with_fewer_games_is_slower() -> None:
    assert [PACE.alone(games) for games in (1000, 64, 16, 4, 2)] == pytest.approx([100, 100, 80, 60, 30])


def test_busy_cores_slow_each_other_down_as_measured() -> None:
    assert [PACE.speed(busy) for busy in (0, 1, 2, 9)] == [1, 1, 0.75, 0.75]
