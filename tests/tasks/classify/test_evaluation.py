"""Scores beside those of scikit-learn,
the report on the test set, classes of new texts, and tables.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import accuracy_score, f1_score, log_loss

from hexlit.errors import UsageError
from hexlit.tasks.classify.config import ClassifyTrainConfig, TextDataConfig
from hexlit.tasks.classify.evaluation import (
    STRENGTHS,
    data_table,
    fit_baseline,
    judged_table,
    predict,
    predict_text,
    probabilities_of,
    report_on_test,
)
from hexlit.tasks.classify.module import calibration_error, scores_of, surprises
from tests.tasks.classify.texts import make_data, make_module, make_trainer, save, sentences

RANDOM = np.random.default_rng(0)
PROBABILITIES = RANDOM.dirichlet([0.5] * 4, 200)
TRUTH = RANDOM.choice(4, 200, p=[0.5, 0.3, 0.15, 0.05])


def test_scores_are_those_of_scikit_learn() -> None:
    chosen = PROBABILITIES.argmax(1)
    found = scores_of(PROBABILITIES, TRUTH)
    assert found["accuracy"] == pytest.approx(accuracy_score(TRUTH, chosen))
    assert found["macro_f1"] == pytest.approx(f1_score(TRUTH, chosen, average="macro"))
    assert found["log_loss"] == pytest.approx(log_loss(TRUTH, PROBABILITIES), rel=1e-6)


def test_calibration_by_hand() -> None:
    confidence = np.array([0.95, 0.95, 0.55, 0.55])
    right = np.array([True, True, True, False])
    assert calibration_error(confidence, right) == pytest.approx((2 * 0.05 + 2 * 0.05) / 4)
    assert calibration_error(np.array([1.0, 1.0]), np.array([True, True])) == 0
    assert calibration_error(np.array([1.0, 1.0]), np.array([False, False])) == 1


def test_brier_by_hand() -> None:
    found = scores_of(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]), np.array([0, 0, 0]))
    assert found["brier"] == pytest.approx((0 + 0.5 + 2) / 3)


def test_the_most_confident_errors_come_first() -> None:
    found = surprises(
        np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]]), np.array([1, 1, 1, 0]), 2
    )
    assert found == [0, 3]


def test_the_baseline_learns_from_training_texts_and_chooses_on_validation(tmp_path: Path) -> None:
    data, _ = make_data(save(*sentences(40), tmp_path / "t.csv"))
    pipeline, strength = fit_baseline(data)
    assert strength in STRENGTHS
    probabilities = pipeline.predict_proba(data.texts["test"])
    assert probabilities.shape == (18, 3)
    assert scores_of(probabilities, data.labels["test"])["accuracy"] > 0.8
    words = {word for text in data.texts["train"] for word in text.split()}
    assert {word for word in pipeline[0].vocabulary_ if " " not in word} <= words


def test_the_report_is_of_the_test_texts_and_lists_the_most_confident_errors(
    tmp_path: Path,
) -> None:
    data, tokens = make_data(save(*sentences(40), tmp_path / "t.csv"))
    net = make_module(data, tokens, kind="mean").net
    report = report_on_test(net, data)
    found = probabilities_of(net, data.in_order("test"), 18)
    truth, texts = data.labels["test"], data.texts["test"]
    assert report["texts"] == 18
    assert report["model"] == pytest.approx(scores_of(found, truth))
    assert report["baseline"]["accuracy"] > 0.8
    assert sum(map(sum, report["confusion"]["counts"])) == 18
    assert [row["support"] for row in report["classes"]] == [6, 6, 6]
    for shown, row in zip(report["errors"], surprises(found, truth, 5), strict=True):
        assert shown["text"] == texts[row][:80]
        assert shown["truth"] == data.classes[truth[row]] != shown["predicted"]
        assert shown["confidence"] == pytest.approx(found[row].max())


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    data, tokens = make_data(save(*sentences(60), folder / "t.csv"))
    module = make_module(data, tokens, kind="mean")
    trainer = make_trainer(6)
    trainer.fit(module, data)
    trainer.save_checkpoint(folder / "checkpoints" / "last.ckpt")
    return folder / "checkpoints" / "last.ckpt"


def test_one_text_is_classified_with_its_probabilities(checkpoint: Path) -> None:
    said = predict_text(checkpoint, "the comet and the galaxy")
    assert said.startswith("stars ")
    assert said.count("%") == 3
    assert predict_text(checkpoint, "saw " * 50).endswith("; cut to 32 tokens: 1 of 1")
    with pytest.raises(UsageError, match="text=' ': write the text to classify"):
        predict_text(checkpoint, " ")


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_a_file_is_classified_row_by_row(name: str, checkpoint: Path, tmp_path: Path) -> None:
    texts = ["apple and plum", "drill " * 40, "one moon", ""]
    pq.write_table(pa.table({"id": range(4), "text": texts}), tmp_path / "in.parquet")
    said = predict(checkpoint, tmp_path / "in.parquet", tmp_path / name)
    assert said == f"4 texts classified, written to {tmp_path / name}; cut to 32 tokens: 1 of 4"
    table = (pq.read_table if name.endswith("parquet") else pacsv.read_csv)(tmp_path / name)
    assert table["predicted"].to_pylist()[:3] == ["fruit", "tools", "stars"]
    parts = [table[f"p_{label}"].to_pylist() for label in ("fruit", "stars", "tools")]
    for confidence, *row in zip(table["confidence"].to_pylist(), *parts, strict=True):
        assert sum(row) == pytest.approx(1)
        assert max(row) == confidence


def test_tables_have_the_texts_of_a_run_and_what_its_network_says_of_them(tmp_path: Path) -> None:
    path = save(*sentences(20), tmp_path / "t.csv")
    data, tokens = make_data(path)
    module = make_module(data, tokens, kind="mean")
    trainer = make_trainer()
    trainer.fit(module, data)
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    settings = ClassifyTrainConfig(data=TextDataConfig(path=str(path), max_length=32))

    table = data_table(settings)
    for split, texts in data.texts.items():
        own = table.filter([one == split for one in table["split"].to_pylist()])
        assert own["text"].to_pylist() == texts
        assert own["label"].to_pylist() == [data.classes[label] for label in data.labels[split]]

    judged = judged_table(settings, tmp_path / "last.ckpt", "test")
    expected = probabilities_of(module.net, data.in_order("test"), len(data.texts["test"]))
    assert judged["text"].to_pylist() == data.texts["test"]
    assert judged["truth"].to_pylist() == [data.classes[label] for label in data.labels["test"]]
    found = np.column_stack([judged[f"p_{name}"].to_numpy() for name in data.classes])
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert judged["predicted"].to_pylist() == [data.classes[place] for place in expected.argmax(1)]
