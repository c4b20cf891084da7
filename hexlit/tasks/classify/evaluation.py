"""A text classifier next to TF-IDF with logistic regression; its answers as tables."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from torch import Tensor

from hexlit.errors import UsageError
from hexlit.tasks.classify.config import ClassifyTrainConfig, TextNetConfig, check_packages
from hexlit.tasks.classify.data import (
    PaddedTexts,
    TextBatch,
    TextTokens,
    read_columns,
    read_labelled,
    split_texts,
)
from hexlit.tasks.classify.module import ClassifyDataModule, TextNet, net_of, scores_of, surprises
from hexlit.tasks.supervised import evaluating, load_trained
from hexlit.tasks.tables import SPLITS, write_table

BATCH = 32
"""New texts that go through the network at once."""
ERRORS = 5
"""Most misclassified texts in the report."""
SHOWN = 80
"""Most characters of a text in the report."""
CLASS_COLUMNS = ("name", "precision", "recall", "f1", "support")
"""Columns of a row of a class."""
STRENGTHS = (1.0, 10.0, 100.0)
"""Inverse penalties of the baseline to choose from, by the log loss on validation."""


@dataclass(frozen=True)
class LoadedClassifier:
    """A network in evaluation mode on the CPU, and the facts about its texts."""

    net: TextNet
    tokens: TextTokens
    classes: list[str]
    column: str
    """Column of the texts."""


def load_classifier(path: Path) -> LoadedClassifier:
    """The classifier of the checkpoint `path`.

    Raises:
        UsageError: it is no checkpoint of a text classifier, or a package that it needs is not
            installed.
    """

    def make(settings: dict[str, Any], state: dict[str, Tensor]) -> LoadedClassifier:
        check_packages(settings["encoder"] is not None)
        config = TextNetConfig(**settings["net"])
        tokens = TextTokens(**settings["tokens"])
        classes = list(settings["classes"])
        net = net_of(config, tokens, len(classes), settings["encoder"])
        net.load_state_dict(state)
        return LoadedClassifier(net.eval(), tokens, classes, str(settings["column"]))

    return load_trained(path, "classifier", make)


def report_on_test(net: TextNet, data: ClassifyDataModule) -> dict[str, Any]:
    """Results of the network and the baseline on the test texts, in plain containers. Call it once,
    at the end.

    `model` and `baseline` have the scores, `classes` a row per class, `confusion` counts by true
    and chosen class. `errors` has at most `ERRORS` misclassified texts, the most confident first.
    The baseline learns from the whole training texts, and the network reads their first tokens.
    """
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    truth, texts, classes = data.labels["test"], data.texts["test"], data.classes
    own = probabilities_of(net, data.in_order("test"), len(texts))
    pipeline, strength = fit_baseline(data)
    chosen, labels = own.argmax(1), range(len(classes))
    columns = precision_recall_fscore_support(truth, chosen, labels=labels, zero_division=0)
    class_rows = zip(classes, *(column.tolist() for column in columns), strict=True)
    return {
        "texts": len(texts),
        "model": scores_of(own, truth),
        "baseline": {**scores_of(pipeline.predict_proba(texts), truth), "strength": strength},
        "classes": [dict(zip(CLASS_COLUMNS, row, strict=True)) for row in class_rows],
        "confusion": {
            "classes": classes,
            "counts": confusion_matrix(truth, chosen, labels=labels).tolist(),
        },
        "errors": [
            {
                "text": " ".join(texts[row].split())[:SHOWN],
                "truth": classes[truth[row]],
                "predicted": classes[chosen[row]],
                "confidence": float(own[row].max()),
            }
            for row in surprises(own, truth, ERRORS)
        ],
    }


def probabilities_of(net: TextNet, batches: Iterable[TextBatch], count: int) -> NDArray[np.float64]:
    """Class probabilities `[count, C]` in the order of the texts' rows, in float32 and without
    dropout.
    """
    probabilities = np.zeros((count, net.head.out_features))
    with evaluating(net) as device:
        for batch in batches:
            logits = (
                net(batch.tokens.to(device), batch.mask.to(device)).cpu().double()
            )  # mps has no float64
            probabilities[batch.row.numpy()] = logits.softmax(1).numpy()
    return probabilities


def fit_baseline(data: ClassifyDataModule) -> tuple[Any, float]:
    """TF-IDF and logistic regression as a pipeline of scikit-learn, and the inverse penalty.

    It is the best of `STRENGTHS` on the validation texts, all fitted to the whole training texts.
    Words and pairs of words count.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts, labels, fitted = data.texts["train"], data.labels["train"], []
    words = TfidfVectorizer(
        sublinear_tf=True, ngram_range=(1, 2), min_df=2 if len(texts) > 200 else 1
    )
    inputs, judged = words.fit_transform(texts), words.transform(data.texts["validation"])
    for strength in STRENGTHS:
        model = LogisticRegression(C=strength, max_iter=1000).fit(inputs, labels)
        loss = scores_of(model.predict_proba(judged), data.labels["validation"])["log_loss"]
        fitted.append((loss, strength, model))
    _, strength, model = min(fitted, key=lambda one: one[0])
    return make_pipeline(words, model), strength


def data_table(settings: ClassifyTrainConfig) -> pa.Table:
    """The texts that a run with `settings` would read, without those it would drop.

    Columns are those of the source, `data.text` and `data.label`, and `split`.

    Raises:
        UsageError: they cannot be read, or are too few.
    """
    source = read_labelled(settings.data)
    rows = split_texts(source, settings.data).rows
    order = np.concatenate([rows[split] for split in SPLITS])
    return pa.table(
        {
            settings.data.text: [source.texts[row] for row in order],
            settings.data.label: [source.labels[row] for row in order],
            "split": np.repeat(SPLITS, [len(rows[split]) for split in SPLITS]),
        }
    )


def judged_table(settings: ClassifyTrainConfig, checkpoint: Path, split: str) -> pa.Table:
    """The texts of `split` with the classes that the network of `checkpoint` gives them, a row
    each.

    The columns are `text`, `truth`, `predicted`, `confidence`, and for each class its probability
    `p_CLASS`.

    Raises:
        UsageError: the texts or the checkpoint cannot be read.
    """
    data = data_table(settings)
    own = data.filter(pc.equal(data["split"], split))
    texts = own[settings.data.text].to_pylist()
    answers, _ = classify(load_classifier(checkpoint), texts)
    return pa.table({"text": texts, "truth": own[settings.data.label], **answers})


def predict_text(checkpoint: Path, text: str) -> str:
    """The class of `text` with its probability, and those of the others.

    Raises:
        UsageError: the checkpoint cannot be read, or the text is blank.
    """
    if not text.strip():
        raise UsageError(f"text={text!r}: write the text to classify")
    answers, note = classify(load_classifier(checkpoint), [text])
    shares = {
        name.removeprefix("p_"): share[0]
        for name, share in answers.items()
        if name.startswith("p_")
    }
    return (
        ", ".join(
            f"{name} {share:.1%}" for name, share in sorted(shares.items(), key=lambda one: -one[1])
        )
        + note
    )


def predict(checkpoint: Path, source: Path, target: Path) -> str:
    """Write the classes of the texts in the table `source` to `target`, CSV or Parquet; returns
    what to print.

    The column of the texts has the same name as in training, or `text` after a training on folders.
    The new table has `text`, `predicted`, `confidence` and for each class `p_CLASS`, row by row.

    Raises:
        UsageError: a file cannot be read, or the name of `target` gives no format.
    """
    loaded = load_classifier(checkpoint)
    table = read_columns(source, [loaded.column], "source")
    texts = [text or "" for text in table[loaded.column].to_pylist()]
    answers, note = classify(loaded, texts)
    write_table(pa.table({"text": texts, **answers}), target)
    return f"{len(texts)} texts classified, written to {target}{note}"


def classify(loaded: LoadedClassifier, texts: Sequence[str]) -> tuple[dict[str, Any], str]:
    """The columns `predicted`, `confidence` and for each class `p_CLASS`; and a remark if texts
    were cut, else "".
    """
    encoded, cut = loaded.tokens.encode(texts)
    data = PaddedTexts(encoded, np.zeros(len(texts), np.int64), loaded.tokens.pad)
    batches = (data[rows] for rows in data.in_order(BATCH))
    probabilities = probabilities_of(loaded.net, batches, len(texts))
    columns: dict[str, Any] = {
        f"p_{name}": probabilities[:, label] for label, name in enumerate(loaded.classes)
    }
    predicted = [loaded.classes[label] for label in probabilities.argmax(1)]
    note = f"; cut to {loaded.tokens.max_length} tokens: {cut} of {len(texts)}" if cut else ""
    return {"predicted": predicted, "confidence": probabilities.max(1), **columns}, note
