"""Small sets of labelled texts, and what tests make of them."""

import json
from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import torch

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.accelerate.profile import DeviceProfile, build_profile
from hexlit.tasks.classify.config import ClassifyTrainConfig, TextDataConfig, TextNetConfig
from hexlit.tasks.classify.data import TextTokens, fit_tokens
from hexlit.tasks.classify.module import ClassifyDataModule, ClassifyModule, net_of
from hexlit.training.config import OptimizerConfig, TrainerConfig
from tests.training.trainers import quiet_trainer

WORDS = {
    "fruit": ["apple", "pear", "plum", "cherry", "grape", "melon"],
    "stars": ["comet", "galaxy", "planet", "orbit", "nebula", "moon"],
    "tools": ["hammer", "chisel", "wrench", "saw", "drill", "pliers"],
}
FILLERS = ["the", "one", "very", "and", "of", "with", "some", "near", "then", "seen"]


def sentences(count: int = 60, seed: int = 0) -> tuple[list[str], list[str]]:
    """`count` different texts of each class, of 4 to 30 words, and their labels."""
    random = np.random.default_rng(seed)
    texts, labels = [], []
    for place in range(count):
        for label, own in WORDS.items():
            words = [
                str(random.choice(own if random.random() < 0.4 else FILLERS))
                for _ in range(random.integers(3, 30))
            ]
            texts.append(" ".join([*words, str(random.choice(own)), f"n{place}"]))
            labels.append(label)
    return texts, labels


def save(texts: list[str], labels: list[str], path: Path) -> Path:
    """Write a table with the columns `text` and `label`,
    in the format that the name of `path` says.
    """
    table = pa.table({"text": texts, "label": labels})
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".jsonl":
        path.write_text(
            "".join(json.dumps(row) + "\n" for row in table.to_pylist()), encoding="utf-8"
        )
    else:
        pacsv.write_csv(table, path)
    return path


def make_profile(**settings: Any) -> DeviceProfile:
    fields: dict[str, Any] = {
        "device": "cpu",
        "threads": 1,
        "precision": "32-true",
        "train_batch": 16,
    }
    return build_profile(AcceleratorConfig(**fields | {"evaluation_batch": 16} | settings))


def make_data(
    path: Path, *, seed: int = 0, accelerator: dict[str, Any] | None = None, **settings: Any
) -> Any:
    """A data module with tokens fitted to its training texts, and these tokens."""
    config = TextDataConfig(path=str(path), **{"max_length": 32} | settings)
    data = ClassifyDataModule(config, seed=seed, profile=make_profile(**accelerator or {}))
    tokens = fit_tokens(data.texts["train"], 400, config.max_length)
    data.use_tokens(tokens)
    return data, tokens


def make_module(
    data: ClassifyDataModule, tokens: TextTokens, *, ema_decay: float = 0.0, **net: Any
) -> ClassifyModule:
    torch.manual_seed(0)
    config = TextNetConfig(**{"width": 16, "layers": 1, "dropout": 0.0, "token_dropout": 0.0} | net)
    learning = OptimizerConfig(lr=1e-2, warmup_steps=0, schedule="constant")
    settings = ClassifyTrainConfig(
        net=config, optimizer=learning, trainer=TrainerConfig(ema_decay=ema_decay)
    )
    built = net_of(config, tokens, len(data.classes), None)
    return ClassifyModule(built, settings, tokens, data.classes, data.profile)


def make_trainer(epochs: int = 1, precision: Any = "32-true", callbacks: Any = ()) -> L.Trainer:
    return quiet_trainer(
        epochs, precision=precision, num_sanity_val_steps=0, callbacks=list(callbacks)
    )
