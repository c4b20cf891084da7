"""`hexlit train selfplay.smaller_boards=...`: one network learns on several boards in turn."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from hexlit.nets.tower import forward_flops
from hexlit.selfplay.config import SelfPlayConfig, boards_in_turn
from hexlit.tasks.hex.checkpoint import load_network
from tests.commands.test_train import Run, same_games, same_weights, train
from tests.commands.tiny import TINY

SMALLER = (
    "board=4",
    "selfplay.smaller_boards=[2,3]",
    "selfplay.smaller_epochs=1",
    "trainer.max_epochs=5",
)
WORKER = ("selfplay.workers=1", "selfplay.ahead=true")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(tmp_path_factory.mktemp("mixed"), *SMALLER, "selfplay.smaller_share=0.5", *WORKER)


def boards(run: Run) -> list[int]:
    return [int(float(row["selfplay.board"])) for row in run.table("metrics.csv")]


@pytest.mark.slow
def test_the_smaller_boards_come_first_and_have_their_share_of_the_later_epochs(mixed: Run) -> None:
    config = SelfPlayConfig(smaller_boards=[5, 6], smaller_epochs=3, smaller_share=0.25)
    turns = "".join(str(config.board_of(epoch, 7)) for epoch in range(14))
    assert turns == "55566677757776"
    assert boards(mixed) == [2, 3, 4, 2, 4]
    sizes = [(record.size, record.network_version) for record in mixed.games.values()]
    assert {size for size, _ in sizes} == {2, 3, 4}
    assert (mixed.folder / "summary.json").exists()


@pytest.mark.slow
def test_the_cost_counts_every_position_at_the_size_of_its_board(mixed: Run) -> None:
    config, total = load_network(mixed.folder / "checkpoints" / "last.ckpt").net.config, 0
    evaluations = [
        int(row["evaluations"]) for row in mixed.table("phases.csv") if row["phase"] == "selfplay"
    ]
    examples = [int(row["examples"]) for row in mixed.table("steps.csv")]
    for size, evaluated, seen in zip(boards(mixed), evaluations, examples, strict=True):
        total += forward_flops(config, size) * (evaluated + 3 * seen)
    cost = mixed.summary["cost"]
    assert isinstance(cost, dict)
    assert cost["flops"] == total


def resumed(folder: Path, whole: Run, ends: Sequence[int], *settings: str) -> None:
    """Check that a run is `whole`, too, if it is ended after each of `ends` epochs, and resumed."""
    (folder / "part").mkdir()
    costs = [float(row["cost.flops"]) for row in whole.table("metrics.csv")]
    begin, base = settings, tuple(TINY)
    for end in ends:
        most = 1.001 * costs[end - 1]  # rounding leaves room for the last epoch
        part = train(folder / "part", *begin, f"trainer.max_flops={most}", base=base)
        assert boards(part) == boards(whole)[:end]
        begin, base = ("resume=run",), ()
    part = train(folder / "part", *begin, "trainer.max_flops=null", base=base)
    assert boards(part) == boards(whole)
    assert same_weights(whole, part)
    assert same_games(whole.games, part.games)


def test_a_resumed_run_is_the_uninterrupted_one(tmp_path: Path) -> None:
    """It ended in the middle, with games in progress on every board."""
    settings = (*SMALLER, "selfplay.smaller_share=0.5", "selfplay.workers=0")
    whole = train(tmp_path, *settings)
    assert boards(whole) == [2, 3, 4, 2, 4]
    resumed(tmp_path, whole, [3], *settings)


@pytest.mark.slow
def test_boards_are_left_the_last_epochs_learn_from_all_games_and_both_go_on(
    tmp_path: Path,
) -> None:
    """The run ends while it learns from all of its games."""
    boards_first = ("board=[2,3,4]", "selfplay.smaller_epochs=1")
    replay = ("trainer.max_epochs=9", "data.replay_epochs=5", "data.window=1")
    settings = (*boards_first, *replay, "optimizer.schedule=constant", *WORKER)
    whole = train(tmp_path, *settings)
    assert boards(whole) == [2, 3, *[4] * 7]
    rows = whole.table("metrics.csv")
    games = [record for record in whole.games.values() if record.size == 4]
    positions = sum(len(record.policy_plies) for record in games)
    windows = [int(float(row["selfplay.window"])) for row in rows]
    assert windows[4:] == [positions] * 5
    assert max(windows[:4]) < positions
    assert rows[3]["selfplay.games"] == rows[8]["selfplay.games"]
    assert rows[3]["cost.actor_macs"] == rows[8]["cost.actor_macs"]
    assert float(rows[4]["cost.flops"]) < float(rows[5]["cost.flops"])
    resumed(tmp_path, whole, [8], *settings)


def test_a_run_can_go_on_with_smaller_boards_that_it_did_not_begin_with(tmp_path: Path) -> None:
    run = train(tmp_path, "board=4", "trainer.max_epochs=3", "trainer.max_flops=1")
    smaller = "selfplay.smaller_boards=[3]", "selfplay.smaller_epochs=2"
    train(tmp_path, "resume=run", "trainer.max_flops=null", *smaller, base=())
    assert boards(run) == [4, 3, 4]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["board=[5, 6,7]", "a=b c"], ["board=7", "selfplay.smaller_boards=[5, 6]", "a=b c"]),
        (["board=7", "board=[7]", "board=5,6"], ["board=7", "board=[7]", "board=5,6"]),
        (["board=6", "selfplay.smaller_boards=[4]"], ["board=6", "selfplay.smaller_boards=[4]"]),
    ],
)
def test_a_list_of_boards_is_written_out(words: list[str], expected: list[str]) -> None:
    assert boards_in_turn(words) == expected
