"""The single use of the test set, at the end of a run: the network beside TF-IDF with logistic regression."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hexlit.tasks.classify.baseline import fit_baseline
from hexlit.tasks.classify.batches import TextBatch
from hexlit.tasks.classify.data_module import ClassifyDataModule
from hexlit.tasks.classify.metrics import class_rows, confusion_of, scores_of, surprises
from hexlit.tasks.classify.nets import TextNet

SHOWN = 80
"""Most characters of a text in the report."""


def test_report(net: TextNet, data: ClassifyDataModule, errors: int) -> dict[str, Any]:
    """Results of the network and the baseline on the test texts, in plain containers. Call it once, at the end.

    `model` and `baseline` have the scores, `classes` a row per class, `confusion` counts by true and chosen class.
    `errors` has at most `errors` misclassified texts, the most confident first. `only_baseline_right` is a text that
    only the baseline got right. The baseline learns from the whole training texts, and the network reads their first
    tokens.
    """
    truth, texts = data.labels["test"], data.texts["test"]
    found = probabilities_of(net, data.in_order("test"), len(texts))
    baseline = fit_baseline(
        data.texts["train"], data.labels["train"], data.texts["validation"], data.labels["validation"]
    )
    reference = baseline.probabilities(texts)
    confusion = confusion_of(truth, found.argmax(1), len(data.classes))
    lost = [row for row in surprises(found, truth, len(texts)) if reference[row].argmax() == truth[row]]

    def shown(row: int) -> dict[str, Any]:
        return {
            "text": " ".join(texts[row].split())[:SHOWN],
            "truth": data.classes[truth[row]],
            "predicted": data.classes[found[row].argmax()],
            "confidence": float(found[row].max()),
            "baseline": data.classes[reference[row].argmax()],
        }

    return {
        "texts": len(texts),
        "model": scores_of(found, truth).to_dict(),
        "baseline": {**scores_of(reference, truth).to_dict(), "strength": baseline.strength},
        "classes": [asdict(row) for row in class_rows(confusion, data.classes)],
        "confusion": {"classes": data.classes, "counts": confusion.tolist()},
        "errors": [shown(row) for row in surprises(found, truth, errors)],
        "only_baseline_right": shown(lost[0]) if lost else None,
    }


test_report.__test__ = False  # type: ignore[attr-defined]  # not a test of pytest's


def probabilities_of(net: TextNet, batches: Iterable[TextBatch], count: int) -> NDArray[np.float64]:
    """Class probabilities `[count, C]` in the order of the texts' rows, in float32 and without dropout."""
    was_training = net.training
    net.eval()
    device = next(net.parameters()).device
    found: NDArray[np.float64] | None = None
    with torch.no_grad():
        for batch in batches:
            logits = net(batch.tokens.to(device), batch.mask.to(device)).cpu().double()  # mps has no float64
            if found is None:
                found = np.full((count, logits.shape[1]), np.nan)
            found[batch.row.numpy()] = logits.softmax(1).numpy()
    net.train(was_training)
    assert found is not None
    return found
