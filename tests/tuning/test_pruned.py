from pathlib import Path

import pytest

from hexlit.tuning.results import pruned_trials, read_results
from tests.tuning.sweeps import complete, failed, make_sweep, pruned


@pytest.mark.row("F10")
def test_a_pruned_trial_is_compared_with_those_that_were_complete_by_then(tmp_path: Path) -> None:
    trials = [
        complete(0.9, intermediate={0: 0.5, 1: 0.8, 2: 0.9}, end=60),
        complete(0.6, intermediate={0: 0.3, 1: 0.6, 2: 0.6}, end=70),
        complete(1.0, intermediate={0: 0.9, 1: 1.0, 2: 1.0}, end=200),  # ends after the next was given up
        pruned(intermediate={0: 0.65, 1: 0.2}, start=70, end=90),
        failed(intermediate={0: 0.1}),
    ]
    (found,) = pruned_trials(read_results(make_sweep(tmp_path / "sweep", trials)))
    assert (found["trial"], found["epochs"], found["best"], found["compared"]) == (3, 2, 0.65, 2)
    assert found["median"] == pytest.approx(0.7)
    assert found["why"] == "trial 3: at best strength.score 0.65 in 2 epochs; the median of 2 complete trials was 0.7"


def test_the_best_of_a_loss_is_the_lowest(tmp_path: Path) -> None:
    trials = [complete(0.2, intermediate={0: 0.4}, end=10), pruned(intermediate={0: 0.9}, start=10, end=20)]
    folder = make_sweep(tmp_path / "sweep", trials, {"val.loss": "minimize"})
    (found,) = pruned_trials(read_results(folder))
    assert (found["best"], found["median"]) == (0.9, 0.4)


def test_a_trial_that_was_first_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path / "sweep", [pruned(intermediate={2: 0.3}, end=5), pruned(end=6)])
    (found,) = pruned_trials(read_results(folder))
    assert (found["median"], found["compared"], found["epochs"]) == (None, 0, 3)
