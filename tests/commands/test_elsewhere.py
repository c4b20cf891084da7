"""Matches and strength with `where=ray`, and a stand-in for Ray:
games and figures are those of this machine.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from hexlit.arena.config import SprtConfig
from hexlit.arena.matches import Block, MatchWorker
from hexlit.commands import kernels, strength
from hexlit.commands.match import MatchConfig, main
from hexlit.commands.match_run import games_at_once
from tests.cluster.fake_ray import FakeRay, stand_in
from tests.commands.test_match import played
from tests.commands.test_train import as_a_process
from tests.commands.tiny import save_untrained

pytestmark = pytest.mark.row("E14")


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    monkeypatch.setattr(
        kernels, "is_compiled", lambda name: True
    )  # what is not, is compiled where it is called
    return stand_in(monkeypatch)


def test_the_games_are_those_of_a_match_here_also_when_a_process_is_lost_and_when_it_is_resumed(
    ray: FakeRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seed in (("a", 1), ("b", 2)):
        save_untrained(tmp_path / f"{name}.ckpt", size=4, seed=seed)
    players = (
        f"players=[checkpoint={tmp_path}/a.ckpt simulations=4,policy={tmp_path}/b.ckpt,random]"
    )
    settings = (players, "pairs=6", "at_once=2", "report=false")
    played(tmp_path / "here", *settings)
    expected = (tmp_path / "here" / "run" / "games.csv").read_bytes()

    inner, begun = MatchWorker.play, []

    def play(self: MatchWorker, block: Block) -> Any:
        begun.append(block)
        return inner(self, block)

    monkeypatch.setattr(MatchWorker, "play", play)
    ray.losses = {3, 5}
    played(tmp_path / "there", *settings, "where=ray", "workers=2")
    assert (tmp_path / "there" / "run" / "games.csv").read_bytes() == expected
    assert len(begun) == 9 + len(ray.losses)

    path = tmp_path / "there" / "run" / "games.csv"
    path.write_bytes(b"\n".join(expected.splitlines()[: 1 + 2 * 5]) + b"\n")
    begun.clear()
    with as_a_process(tmp_path / "there"):
        assert main([f"resume={tmp_path}/there/run", "workers=1"]) == 0
    assert path.read_bytes() == expected
    assert sum(len(block.openings) for block in begun) == 13, "nothing is played a second time"


@pytest.mark.parametrize(
    ("settings", "meetings", "expected"),
    [
        ({}, 1, 50),
        ({"workers": 2, "where": "ray"}, 1, 25),
        ({"workers": 16, "where": "ray"}, 6, 19),
        ({"workers": 16, "where": "ray", "at_once": 8}, 6, 8),
        ({"workers": 4, "where": "ray", "sprt": SprtConfig(elo1=30.0, every=10)}, 1, 3),
    ],
)
def test_a_block_is_as_large_as_leaves_work_for_all(
    settings: dict[str, Any], meetings: int, expected: int
) -> None:
    assert games_at_once(MatchConfig(**settings), meetings) == expected


def test_strength_is_that_which_is_measured_here(
    ray: FakeRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    checkpoint = save_untrained(tmp_path / "net.ckpt", size=3)
    settings = [
        f"checkpoint={checkpoint}",
        "accelerator=cpu",
        "accelerator.threads=1",
        "games=8",
        "positions=24",
    ]
    settings += ["simulations=[4]", "json=true", "report=false"]
    found = []
    for name, place in (("here", ["where=here"]), ("there", ["where=ray", "workers=2"])):
        assert strength.main([*settings, *place, f"output={tmp_path / name}"]) == 0
        found.append(json.loads(capfd.readouterr().out))
    places = [[document.pop(key) for key in ("where", "workers", "device")] for document in found]
    assert places[0][:2] == ["here", 0]
    assert places[1] == ["ray", 2, "cpu, 1 threads"]
    assert found[0] == found[1]


def test_a_match_goes_on_here_though_it_was_begun_on_a_cluster(
    ray: FakeRay, tmp_path: Path
) -> None:
    settings = ("players=[random,two_distance]", "board=4", "pairs=2", "report=false")
    played(tmp_path, *settings, "where=ray", "workers=1")
    with as_a_process(tmp_path):
        assert main([f"resume={tmp_path}/run", "where=here"]) == 0
