"""Measurements of this machine from Python."""

import hexlit


def test_a_bench_is_a_data_frame() -> None:
    found = hexlit.measure(what="selfplay", board=3, seconds=0.01, repeats=2)
    assert (found.lines["median"] > 0).all()
    assert found.lines["what"].iloc[0] in found._repr_html_()
