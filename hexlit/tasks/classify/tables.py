"""Texts, and a trained network's answers, as tables to look at."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from hexlit.tasks.classify.checkpoint import load_classifier
from hexlit.tasks.classify.predict import answer_columns, classify
from hexlit.tasks.classify.source import read_labelled
from hexlit.tasks.classify.splits import SPLITS, split_texts
from hexlit.tasks.classify.train_config import ClassifyTrainConfig


def data_table(settings: ClassifyTrainConfig) -> pa.Table:
    """The texts that a run with `settings` would read, without those it would drop.

    Columns are those of the source, `data.text` and `data.label`, and `split`.

    Raises:
        UsageError: they cannot be read, or are too few.
    """
    found = read_labelled(settings.data)
    rows = split_texts(found, settings.data).rows
    order = np.concatenate([rows[split] for split in SPLITS])
    return pa.table(
        {
            settings.data.text: [found.texts[row] for row in order],
            settings.data.label: [found.labels[row] for row in order],
            "split": np.repeat(SPLITS, [len(rows[split]) for split in SPLITS]),
        }
    )


def judged_table(settings: ClassifyTrainConfig, checkpoint: Path, split: str) -> pa.Table:
    """The texts of `split` with the classes that the network of `checkpoint` gives them, a row each.

    The columns are `text`, `truth`, `predicted`, `confidence`, and for each class its probability `p_CLASS`.

    Raises:
        UsageError: the texts or the checkpoint cannot be read.
    """
    loaded = load_classifier(checkpoint)
    data = data_table(settings)
    own = data.filter(pa.compute.equal(data["split"], split))
    texts = own[settings.data.text].to_pylist()
    probabilities, _ = classify(loaded, texts)
    return pa.table({"text": texts, "truth": own[settings.data.label], **answer_columns(loaded, probabilities)})
