"""Imports without searches for garbage."""

import gc

import pytest

from hexlit.commands.quick_imports import quick_imports


def test_garbage_is_looked_for_again_afterwards_even_where_an_import_fails() -> None:
    def fail() -> None:
        with quick_imports():
            assert not gc.isenabled()
            raise ImportError("nothing is there")

    with pytest.raises(ImportError):
        fail()
    assert gc.isenabled()


def test_who_looks_for_no_garbage_is_left_alone() -> None:
    gc.disable()
    try:
        with quick_imports():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
