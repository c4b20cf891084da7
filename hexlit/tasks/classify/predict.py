"""Classes of new texts, from a trained network."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.files import replacing
from hexlit.parquet import described, write_described
from hexlit.tasks.classify.batches import PaddedTexts, by_length
from hexlit.tasks.classify.checkpoint import LoadedClassifier, load_classifier
from hexlit.tasks.classify.evaluation import probabilities_of
from hexlit.tasks.classify.source import read_columns

BATCH = 32
"""Texts that go through the network at once."""


def predict_text(checkpoint: Path, text: str) -> str:
    """The class of `text` with its probability, and those of the others.

    Raises:
        UsageError: the checkpoint cannot be read, or the text is blank.
    """
    if not text.strip():
        raise UsageError(f"text={text!r}: write the text to classify")
    loaded = load_classifier(checkpoint)
    probabilities, cut = classify(loaded, [text])
    order = np.argsort(-probabilities[0], kind="stable")
    said = ", ".join(f"{loaded.classes[place]} {probabilities[0, place]:.1%}" for place in order)
    return said + cut_note(cut, 1, loaded.tokens.max_length)


def predict(checkpoint: Path, source: Path, target: Path) -> str:
    """Write the classes of the texts in the table `source` to `target`, CSV or Parquet; returns what to print.

    The column of the texts has the same name as in training, or `text` after a training on folders. The new table has
    `text`, `predicted`, `confidence` and for each class `p_CLASS`, row by row.

    Raises:
        UsageError: a file cannot be read, or the name of `target` gives no format.
    """
    if target.suffix not in (".csv", ".parquet"):
        raise UsageError(f"target={target}: the name of a table ends in .csv or .parquet")
    loaded = load_classifier(checkpoint)
    table = read_columns(source, [loaded.column], f"source={source}")
    texts = [text or "" for text in table[loaded.column].to_pylist()]
    probabilities, cut = classify(loaded, texts)
    found = pa.table({"text": texts, **answer_columns(loaded, probabilities)})
    with replacing(target) as temporary:
        if target.suffix == ".parquet":
            schema = described(
                found.schema, "Texts and the classes that a trained network gives them.", _columns(loaded)
            )
            write_described(found.cast(schema), temporary, distinct=("text",))
        else:
            pacsv.write_csv(found, temporary)
    return f"{len(texts)} texts classified, written to {target}" + cut_note(cut, len(texts), loaded.tokens.max_length)


def answer_columns(loaded: LoadedClassifier, probabilities: NDArray[np.float64]) -> dict[str, Any]:
    """Columns of a table: `predicted`, `confidence` and for each class `p_CLASS`, of probabilities `[N, C]`."""
    return {
        "predicted": [loaded.classes[place] for place in probabilities.argmax(1)],
        "confidence": probabilities.max(1),
        **{f"p_{name}": probabilities[:, place] for place, name in enumerate(loaded.classes)},
    }


def _columns(loaded: LoadedClassifier) -> dict[str, str]:
    """Column -> its description."""
    return {
        "text": "The text, as in the source.",
        "predicted": "The most probable class.",
        "confidence": "Probability of the class predicted, 0 to 1.",
        **{f"p_{name}": f"Probability of the class {name}, 0 to 1." for name in loaded.classes},
    }


def classify(loaded: LoadedClassifier, texts: Sequence[str]) -> tuple[NDArray[np.float64], int]:
    """Class probabilities `[N, C]` of `texts`, and the number of texts that were cut."""
    encoded = loaded.tokens.encode(texts)
    data = PaddedTexts(encoded, np.zeros(len(texts), np.int64), loaded.tokens.pad)
    batches = (data[rows] for rows in by_length(np.arange(len(texts)), encoded.lengths, BATCH))
    return probabilities_of(loaded.net, batches, len(texts)), encoded.cut


def cut_note(cut: int, texts: int, length: int) -> str:
    """The remark about texts that were cut; empty without any."""
    return f"; cut to {length} tokens: {cut} of {texts}" if cut else ""
