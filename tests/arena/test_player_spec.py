"""The grammar of players: what is understood, and how what is not is answered."""

import pytest

from hexlit.arena.player_spec import LEVELS, PlayerSpec, parse_player, parse_players
from hexlit.errors import UsageError

RUN = "runs/hex5/2026-01-31_12-00-00_a1b2c3"
BEST, LAST = f"{RUN}/checkpoints/best.ckpt", f"{RUN}/checkpoints/last.ckpt"


@pytest.mark.parametrize(
    ("line", "expected", "label"),
    [
        ("random", PlayerSpec("random"), "random"),
        ("solver name=perfect", PlayerSpec("solver", "", "perfect"), "perfect"),
        (
            "rollouts simulations=500",
            PlayerSpec("rollouts", "", "", {"simulations": 500}),
            "rollouts@500",
        ),
        (
            "depth=3 two_distance",
            PlayerSpec("two_distance", "", "", {"depth": 3}),
            "two_distance-depth3",
        ),
        (
            "checkpoint='my runs/a.ckpt' simulations=16 algorithm=puct",
            PlayerSpec(
                "checkpoint", "my runs/a.ckpt", "", {"simulations": 16, "algorithm": "puct"}
            ),
            "a@16-puct",
        ),
        (f"policy={RUN}", PlayerSpec("policy", RUN), "policy-hex5-a1b2c3"),
        (f"policy={BEST}", PlayerSpec("policy", BEST), "policy-hex5-a1b2c3"),
        (f"policy={LAST}", PlayerSpec("policy", LAST), "policy-hex5-a1b2c3-last"),
        (
            "policy=a.ckpt temperature=0.5",
            PlayerSpec("policy", "a.ckpt", "", {"temperature": 0.5}),
            "policy-a",
        ),
        ("level=1", PlayerSpec("policy", "hexlit:large", "level-1", LEVELS[0]), "level-1"),
        ("level=10 name=x", PlayerSpec("checkpoint", "hexlit:large", "x", LEVELS[9]), "x"),
        (
            "htp=/opt/mohex/mohex --seed 1 name=x",
            PlayerSpec("htp", "/opt/mohex/mohex --seed 1 name=x"),
            "mohex",
        ),
        (
            "move_timeout=2.5 name=m htp='/opt/a b/mohex' --quiet",
            PlayerSpec("htp", "'/opt/a b/mohex' --quiet", "m", {"move_timeout": 2.5}),
            "m",
        ),
    ],
)
def test_a_line_names_kind_source_settings_and_name(
    line: str, expected: PlayerSpec, label: str
) -> None:
    found = parse_player(line)
    assert found == expected
    assert found.label == label


def test_a_mapping_gives_names() -> None:
    named = parse_players(
        {"deep": "checkpoint=a.ckpt simulations=16", "r": "random"}, simulations=1
    )
    assert [spec.name for spec in named] == ["deep", "r"]
    assert named[0] == parse_player("checkpoint=a.ckpt simulations=16 name=deep")


def test_a_checkpoint_that_says_nothing_has_the_common_number_of_simulations() -> None:
    specs = parse_players(["checkpoint=a.ckpt", "checkpoint=a.ckpt simulations=8"], simulations=64)
    assert [spec.label for spec in specs] == ["a@64", "a@8"]


@pytest.mark.parametrize(
    ("players", "message"),
    [
        ("random", "players=random: a list is needed"),
        (3, "players=3"),
        (["rnadom", "solver"], "'rnadom': must name one of checkpoint, policy, random"),
        (["random solver"], "must name one of"),
        (["random=3"], "write random alone"),
        (
            ["checkpoint"],
            "write checkpoint=SOURCE, a run's folder, a .ckpt, a .safetensors or hexlit:NAME",
        ),
        (["level=11"], "level=11: must be a whole number from 1 to 10"),
        (["htp="], "write htp=SOURCE, a command line"),
        (["random depth=3"], "random has no setting 'depth': it has name"),
        (["rollouts simulations=many"], "simulations=many of rollouts: must be of type int"),
        (["rollouts simulations=1 simulations=2"], "has a word twice"),
        (["checkpoint='a.ckpt"], "cannot be read: No closing quotation"),
        (["htp=mohex 'x"], "cannot be read: No closing quotation"),
        (["random", "random"], "two are named random; add name=NAME"),
        ([7], "7 is no player"),
        ({"a\nb": "random"}, "must be on one line"),
        ([{"checkpoint": "a.ckpt"}], "is no player; write a line"),
    ],
)
def test_what_cannot_be_understood_is_answered_with_what_would_be_right(
    players: object, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        parse_players(players, simulations=1)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_tilde_is_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert parse_player("policy=~/a.ckpt").source == "/home/ada/a.ckpt"
