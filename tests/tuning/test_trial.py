"""A trial from the process that works on it."""

from pathlib import Path
from typing import Any

import optuna
import pytest

from hexlit.tuning.storage import open_storage
from hexlit.tuning.trial import RunningTrial, TrialTicket


@pytest.mark.row("F24")
def test_a_process_that_is_begun_again_has_the_seeds_that_ended(tmp_path: Path) -> None:
    study = optuna.create_study(study_name="s", storage=open_storage(None, tmp_path))
    told: dict[str, Any] = {
        "storage": None,
        "folder": str(tmp_path),
        "study": "s",
        "pruner": None,
        "report_every": None,
    }
    trial = study.ask()
    ticket = TrialTicket(
        **told, trial_id=trial._trial_id, number=0, objectives=["a"], monitor="a", seeds=2, group="g", sweep_id="i"
    )
    first = RunningTrial(ticket)
    assert first.seeds_ended == 0
    first.end_seed({"a": 1.0}, 3, 3)
    first.note(failure="SystemExit: -1")
    again = RunningTrial(ticket)
    assert again.seeds_ended == 1
    again.end_seed({"a": 2.0}, 3, 3)
    again.tell()
    (found,) = study.get_trials()
    assert (found.value, found.user_attrs["epochs"], found.user_attrs["failure"]) == (1.5, 6, None)
