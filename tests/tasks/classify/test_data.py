"""Labelled texts: read, split without copies, as tokens,
in batches by length; one loader for all epochs.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from hexlit.errors import UsageError
from hexlit.tasks.classify.config import TextDataConfig
from hexlit.tasks.classify.data import (
    BEGIN,
    LabelledTexts,
    LengthBuckets,
    PaddedTexts,
    TextBatch,
    fit_tokens,
    read_labelled,
    split_texts,
)
from hexlit.tasks.tables import SPLITS
from tests.tasks.classify.signed import SignedTexts
from tests.tasks.classify.texts import make_data, make_module, make_trainer, save, sentences

TEXTS = ['He said "no",\nthen left', "NA", "1234", "Größe, naïve, £5"]
LABELS = ["a", "1", "b", "NA"]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl"])
def test_every_table_gives_the_same_texts_and_labels(name: str, tmp_path: Path) -> None:
    source = read_labelled(TextDataConfig(path=str(save(TEXTS, LABELS, tmp_path / name))))
    assert (source.texts, source.labels, source.latin1) == (TEXTS, LABELS, 0)


AS_TYPED = ["2020-01-01", "2020-01-01 10:00:00", "1e5", "1.50", "007", "true", "null", "NaN"]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl"])
def test_texts_and_labels_stay_as_typed_even_where_all_look_like_times_or_numbers(
    name: str, tmp_path: Path
) -> None:
    for texts in (AS_TYPED, AS_TYPED[:2], AS_TYPED[2:5]):
        found = read_labelled(TextDataConfig(path=str(save(texts, texts[::-1], tmp_path / name))))
        assert (found.texts, found.labels) == (texts, texts[::-1])


def test_numbers_in_json_lines_are_texts_as_they_stand_there(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(
        '{"text": 1.50, "label": 1e5}\n\n{"label": true, "text": 7, "more": [1]}\n{"label": "x"}\n'
    )
    found = read_labelled(TextDataConfig(path=str(path)))
    assert (found.texts, found.labels) == (["1.50", "7", ""], ["1e5", "true", "x"])
    for line, told in (
        ('["a"]', "text is no text"),
        ('{"text": {}}', "text is no text"),
        ("{", "line 4"),
    ):
        path.write_text('{"text": "a", "label": "b"}\n\n\n' + line)
        with pytest.raises(UsageError, match=told):
            read_labelled(TextDataConfig(path=str(path)))


def test_a_quote_that_is_never_closed_is_refused_and_one_within_a_text_is_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.csv"
    path.write_text('text,label\na 5" pipe,x\n"one ""two""",y\n')
    assert read_labelled(TextDataConfig(path=str(path))).texts == ['a 5" pipe', 'one "two"']
    path.write_text('text,label\n"one,x\ntwo,y\nthree,x\n')
    with pytest.raises(UsageError, match=r"t.csv: a quote is never closed"):
        read_labelled(TextDataConfig(path=str(path)))


def test_a_folder_a_class_is_read_and_files_in_latin_1_are_counted(tmp_path: Path) -> None:
    for label, name, content in (
        ("x", "1", "£5 näher".encode()),
        ("y", "1", "£5 näher".encode("latin-1")),
    ):
        (tmp_path / label).mkdir()
        (tmp_path / label / f"{name}.txt").write_bytes(content)
    source = read_labelled(TextDataConfig(path=str(tmp_path)))
    assert (source.texts, source.labels, source.latin1) == (["£5 näher"] * 2, ["x", "y"], 1)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.csv", None, "there is no such file"),
        ("t.xml", b"x", "the name of a table ends in .csv, .csv.gz, .parquet, .jsonl"),
        ("t.csv", b"body,label\nx,y\n", "cannot be read .*text"),
        ("t.csv", b"text,label\nx,\n", "column label is empty in 1 rows"),
        ("t.csv", b"text,label\n", "the table has no rows"),
        ("t.csv", b"text,label\n\xff,y\n", "cannot be read"),
        ("t.jsonl", b"{", "cannot be read"),
        ("t.parquet", b"x", "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_one_line(
    name: str, content: bytes | None, said: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=f"data.path=.*{said}") as caught:
        read_labelled(TextDataConfig(path=str(tmp_path / name)))
    assert "\n" not in str(caught.value)


def made(count: int = 60) -> LabelledTexts:
    return LabelledTexts(*sentences(count))


def test_every_text_is_in_one_split_and_every_class_has_its_share_of_each() -> None:
    texts = made(100)
    splits = split_texts(texts, TextDataConfig())
    assert sorted(np.concatenate(list(splits.rows.values())).tolist()) == list(range(300))
    for name, share in zip(SPLITS, (70, 15, 15), strict=True):
        labels = [texts.labels[row] for row in splits.rows[name]]
        assert {label: labels.count(label) for label in set(labels)} == dict.fromkeys(
            ("fruit", "stars", "tools"), share
        )


def test_copies_are_dropped_and_counted_so_that_no_text_is_in_two_splits() -> None:
    texts, labels = sentences(40)
    copies = [text.upper().replace(" ", "  ") for text in texts[:60]]
    wrong = [*labels[:59], "tools" if labels[59] != "tools" else "fruit"]
    splits = split_texts(
        LabelledTexts([*texts, *copies, " \n"], [*labels, *wrong, "fruit"]), TextDataConfig()
    )
    assert splits.dropped == {"blank": 1, "duplicate": 60, "conflicting": 1}
    assert sorted(np.concatenate(list(splits.rows.values())).tolist()) == list(range(120))


def test_a_subset_is_seeded_by_class_and_apart_from_validation() -> None:
    texts = made(100)
    whole, part, again = (
        split_texts(texts, TextDataConfig(subset=subset)).rows for subset in (1.0, 0.3, 0.3)
    )
    assert np.array_equal(part["train"], again["train"])
    assert set(part["train"]) < set(whole["train"])
    labels = [texts.labels[row] for row in part["train"]]
    assert {label: labels.count(label) for label in set(labels)} == dict.fromkeys(
        ("fruit", "stars", "tools"), 21
    )
    for name in ("validation", "test"):
        assert np.array_equal(part[name], whole[name])
        assert not set(part["train"]) & set(part[name])


@pytest.mark.parametrize(
    ("texts", "labels", "said"),
    [
        (["a", "b", "c"], ["x"] * 3, "there must be two classes or more; the texts have x"),
        (["a", "b", "c", "d", "D"], ["x", "x", "x", "y", "y"], "class y has 1 different texts"),
        ([" "], ["x"], "the texts have none"),
    ],
)
def test_too_few_texts_are_refused(texts: list[str], labels: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        split_texts(LabelledTexts(texts, labels), TextDataConfig())


SENTENCES, _ = sentences(30)


def test_a_tokenizer_is_fitted_to_its_texts_and_comes_back_from_json() -> None:
    tokens = fit_tokens(SENTENCES, 400, 64)
    assert tokens == fit_tokens(SENTENCES, 400, 64)
    assert tokens.size <= 400
    encoded, cut = tokens.encode(["the Galaxy", ""])
    read = Tokenizer.from_str(tokens.json)
    assert [read.id_to_token(int(token)) for token in encoded[0]] == [BEGIN, "the", "galaxy"]
    assert encoded[1].tolist() == [read.token_to_id(BEGIN)]
    assert ([len(text) for text in encoded], cut) == ([3, 1], 0)


LENGTHS = np.random.default_rng(0).integers(1, 200, 1003)


def drawn(epoch: int = 0, seed: int = 0) -> list[list[int]]:
    order = LengthBuckets(LENGTHS, 16, seed)
    order.set_epoch(epoch)
    batches = list(order)
    assert len(batches) == len(order) == 63
    return batches


def test_every_text_comes_once_an_epoch() -> None:
    batches = drawn()
    assert sorted(row for batch in batches for row in batch) == list(range(1003))
    assert sorted(len(batch) for batch in batches) == [11, *[16] * 62]


def test_seed_and_epoch_alone_decide_the_batches() -> None:
    first = drawn()
    assert drawn() == first
    assert drawn(epoch=1) != first
    assert drawn(seed=1) != first


def test_batches_by_length_fill_up_far_less_than_random_ones_and_those_less_than_the_maximum() -> (
    None
):

    def filled(batches: list[list[int]]) -> int:
        return sum(len(batch) * int(LENGTHS[batch].max()) for batch in batches)

    order = np.random.default_rng(1).permutation(1003)
    random = [order[begin : begin + 16].tolist() for begin in range(0, 1003, 16)]
    assert LENGTHS.sum() <= filled(drawn()) < 1.1 * LENGTHS.sum()
    assert filled(drawn()) < 0.6 * filled(random) < 0.6 * 1003 * 199


def test_a_batch_is_filled_up_to_its_longest_text() -> None:
    texts = [np.array(tokens, np.int32) for tokens in ([5, 6], [7], [8, 9, 4])]
    data = PaddedTexts(texts, np.array([1, 0, 1]), pad=0)
    batch = data[[1, 0]]
    assert batch.tokens.tolist() == [[7, 0], [5, 6]]
    assert batch.mask.tolist() == [[True, False], [True, True]]
    assert (batch.label.tolist(), batch.row.tolist()) == ([0, 1], [1, 0])
    assert batch.tokens.dtype == torch.int64


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(*sentences(40), tmp_path_factory.mktemp("texts") / "t.jsonl")


def test_loading_processes_live_on_between_epochs(path: Path) -> None:
    """The same processes serve both epochs, with other batches in each."""
    data, tokens = make_data(path, accelerator={"workers": 1})
    padded = data._padded["train"]
    data._padded["train"] = SignedTexts(padded.texts, padded.labels, 0)
    module = make_module(data, tokens, kind="mean")
    pids: list[set[int]] = [set(), set()]
    labels: list[list[int]] = [[], []]
    step = type(module).training_step

    def noting(batch: TextBatch, batch_idx: int) -> Any:
        pids[module.current_epoch].update(batch.row.tolist())
        labels[module.current_epoch].extend(batch.label.tolist())
        return step(module, batch, batch_idx)

    module.training_step = noting  # type: ignore[method-assign]
    trainer = make_trainer(2)
    trainer.limit_val_batches = 0
    trainer.fit(module, data)
    assert len(pids[0]) == 1
    assert pids[0] == pids[1]
    assert os.getpid() not in pids[0]
    assert sorted(labels[0]) == sorted(labels[1])
    assert labels[0] != labels[1]


def test_other_texts_or_splits_are_refused_when_a_run_goes_on(path: Path, tmp_path: Path) -> None:
    saved = make_data(path)[0].state_dict()
    make_data(path)[0].load_state_dict(saved)
    for changed in ({"split_seed": 2}, {"subset": 0.5}):
        with pytest.raises(UsageError, match="data: train differs from that of the run"):
            make_data(path, **changed)[0].load_state_dict(saved)
