"""Texts and answers as tables: those of a run, row by row."""

from pathlib import Path

import numpy as np

from hexlit.tasks.classify.config import TextDataConfig
from hexlit.tasks.classify.evaluation import probabilities_of
from hexlit.tasks.classify.tables import data_table, judged_table
from hexlit.tasks.classify.train_config import ClassifyTrainConfig
from tests.tasks.classify.texts import make_data, make_module, make_trainer, save, sentences


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
