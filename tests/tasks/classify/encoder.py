"""A tiny encoder of Hugging Face on disk: stands in for a pretrained one."""

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from hexlit.tasks.classify.data import fit_tokens
from tests.tasks.classify.texts import sentences


def save_encoder(folder: Path) -> Path:
    """Write a BERT of one layer and its tokenizer to `folder`,
    as `save_pretrained` leaves them; returns it.
    """
    tokens = fit_tokens(sentences(60)[0], 400, 64)
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    sizes |= {"intermediate_size": 32, "max_position_embeddings": 40, "vocab_size": tokens.size}
    BertModel(BertConfig(**sizes), add_pooling_layer=False).save_pretrained(folder)
    tokenizer = Tokenizer.from_str(tokens.json)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]"
    ).save_pretrained(folder)
    return folder
