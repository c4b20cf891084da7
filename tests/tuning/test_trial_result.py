"""The fields of a trial, the source of all files of results."""

from dataclasses import fields

from hexlit.tuning.result_files import schema
from hexlit.tuning.trial_result import MEANINGS, STATES, TrialResult, as_row, trial_schema

KEPT_BACK = {"intermediate", "saved_seconds", "curves"}
"""Inputs of the results that they do not contain."""


def test_the_schema_that_ships_is_the_one_of_the_fields() -> None:
    """After a change of a field, `$defs.trial` of the schema file is `trial_schema()`, and the version another."""
    assert schema()["$defs"]["trial"] == trial_schema()
    assert list(schema()["$defs"]["trial"]["properties"]) == list(MEANINGS)


def test_every_field_has_a_meaning_or_is_kept_back_on_purpose() -> None:
    assert {one.name for one in fields(TrialResult)} - set(MEANINGS) == KEPT_BACK
    assert [name for name, meaning in MEANINGS.items() if not meaning.description] == []


def test_a_row_has_every_field_with_a_meaning() -> None:
    row = as_row(TrialResult(3, STATES[0], seconds=1.5))
    assert list(row) == list(MEANINGS)
    assert (row["number"], row["state"], row["seconds"], row["attempts"]) == (3, "complete", 1.5, 1)


def test_columns_have_headings_of_their_own_and_a_clear_order_of_dropping() -> None:
    single = [meaning for meaning in MEANINGS.values() if not meaning.several]
    headings = [meaning.column for meaning in single if meaning.column is not None]
    assert len(headings) == len(set(headings))
    dropped = [meaning.dropped for meaning in MEANINGS.values() if meaning.heading is not None]
    assert sorted(map(str, dropped)) == sorted(str(place) for place in range(1, len(dropped) + 1))
