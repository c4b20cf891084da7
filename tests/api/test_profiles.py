"""Profiles of devices from Python."""

import hexlit


def test_profiles_are_those_of_the_task_and_what_is_set_wins() -> None:
    found = hexlit.profiles(task="classify")
    assert found.loc["train_batch"].to_dict() == {"cpu": 16, "cuda": 32, "mps": 64}
    assert found.loc["workers"].to_dict() == {"cpu": 0, "cuda": 2, "mps": 4}
    assert found["cpu"]["on this machine"] == "yes"
    assert set(
        hexlit.profiles("accelerator.train_batch=8", task="classify").loc["train_batch"]
    ) == {8}
