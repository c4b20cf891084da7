"""The report on the test set: the network beside the baseline, on the same texts."""

from pathlib import Path

import numpy as np
import pytest

from hexlit.tasks.classify.baseline import STRENGTHS, fit_baseline
from hexlit.tasks.classify.evaluation import probabilities_of, test_report
from hexlit.tasks.classify.metrics import scores_of, surprises
from tests.tasks.classify.texts import make_data, make_module, save, sentences


def test_the_baseline_learns_from_training_texts_and_chooses_on_validation() -> None:
    texts, labels = sentences(40)
    numbers = [("fruit", "stars", "tools").index(label) for label in labels]
    truth = np.array(numbers)
    baseline = fit_baseline(texts[:90], truth[:90], texts[90:105], truth[90:105])
    assert baseline.strength in STRENGTHS
    probabilities = baseline.probabilities(texts[105:])
    assert probabilities.shape == (15, 3)
    assert scores_of(probabilities, truth[105:]).accuracy > 0.8
    assert "n39" not in baseline.pipeline[0].vocabulary_


def test_the_report_is_of_the_test_texts_and_lists_the_most_confident_errors(tmp_path: Path) -> None:
    data, tokens = make_data(save(*sentences(40), tmp_path / "t.csv"))
    net = make_module(data, tokens, kind="mean").net
    report = test_report(net, data, 3)
    found = probabilities_of(net, data.in_order("test"), 18)
    truth, texts = data.labels["test"], data.texts["test"]
    assert report["texts"] == 18
    assert report["model"] == pytest.approx(scores_of(found, truth).to_dict())
    assert report["baseline"]["accuracy"] > 0.8
    assert sum(map(sum, report["confusion"]["counts"])) == 18
    assert [row["support"] for row in report["classes"]] == [6, 6, 6]
    for shown, row in zip(report["errors"], surprises(found, truth, 3), strict=True):
        assert shown["text"] == texts[row][:80]
        assert shown["truth"] == data.classes[truth[row]] != shown["predicted"]
        assert shown["confidence"] == pytest.approx(found[row].max())
    assert report["only_baseline_right"]["baseline"] == report["only_baseline_right"]["truth"]
