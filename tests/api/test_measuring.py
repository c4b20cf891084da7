"""Measurements of this machine from Python."""

import pytest

import hexlit


@pytest.mark.row("F10")
def test_a_bench_is_a_data_frame() -> None:
    found = hexlit.measure(what="games", board=3, seconds=0.01, repeats=2)
    assert (found.lines["median"] > 0).all()
    assert found.lines["what"].iloc[0] in found._repr_html_()


def test_a_mistake_is_one_line_of_the_task_or_the_bench() -> None:
    for settings, said in (
        ({"what": "nothing"}, "what=nothing: choose one of"),
        ({"what": "forward", "task": "forecast"}, "what=forward: other tasks than hex"),
        ({"what": "train", "task": "forecast", "net.hidden": 0}, "net.hidden=0: must be 1 or more"),
    ):
        with pytest.raises(hexlit.UsageError, match=said):
            hexlit.measure(**settings)
