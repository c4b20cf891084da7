"""Encoders of Hugging Face: read from a folder or the hub, and built again from a checkpoint's own settings."""

import json
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from hexlit.errors import UsageError
from hexlit.extras import install
from hexlit.tasks.classify.config import TextNetConfig
from hexlit.tasks.classify.nets import TextNet
from hexlit.tasks.classify.tokens import TextTokens


class HuggingFaceEncoder(nn.Module):
    """A model of `transformers`; its last hidden states are the outputs."""

    def __init__(self, model: Any) -> None:
        """Wrap `model`."""
        super().__init__()
        self.model = model.train()  # it is loaded in evaluation mode, without dropout
        self.width = int(model.config.hidden_size)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Outputs `[B, L, D]`."""
        found: Tensor = self.model(input_ids=tokens, attention_mask=mask.long()).last_hidden_state
        return found


def load_pretrained(name: str, max_length: int) -> tuple[HuggingFaceEncoder, TextTokens]:
    """The encoder and the tokenizer of the folder or hub name `name`, for texts of up to `max_length` tokens.

    Raises:
        UsageError: they cannot be loaded, they are no encoder, or it reads fewer tokens.
    """
    library = require_transformers()
    where = "folder" if Path(name).is_dir() else "model of the hub"
    try:
        tokenizer = library.AutoTokenizer.from_pretrained(name)
        model = library.AutoModel.from_pretrained(name, use_safetensors=True)
    except Exception as error:  # a broken folder can make the library raise anything
        said = (str(error).splitlines() or [""])[0][:160]
        raise UsageError(
            f"net.pretrained={name}: this {where} cannot be loaded ({type(error).__name__}: {said}); name a folder "
            "with an encoder and its tokenizer, or null for a small encoder from scratch"
        ) from error
    if model.config.is_encoder_decoder or not hasattr(model.config, "hidden_size"):
        raise UsageError(f"net.pretrained={name}: a {model.config.model_type} is no encoder; name one such as BERT")
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or tokenizer.pad_token_id is None:
        raise UsageError(f"net.pretrained={name}: its tokenizer has no JSON form with a padding token; name another")
    places = _places(model.config)
    if places is not None and max_length > places:
        raise UsageError(f"data.max_length={max_length}: {name} reads at most {places} tokens")
    return HuggingFaceEncoder(model), TextTokens(backend.to_str(), tokenizer.pad_token_id, len(tokenizer), max_length)


def settings_of(encoder: nn.Module) -> str | None:
    """The settings of a pretrained encoder as JSON, for a checkpoint; None for an encoder from scratch."""
    if not isinstance(encoder, HuggingFaceEncoder):
        return None
    found: str = encoder.model.config.to_json_string(use_diff=False)
    return found


def encoder_of(settings: str) -> HuggingFaceEncoder:
    """The encoder of `settings_of`, with fresh weights."""
    library = require_transformers()
    fields = json.loads(settings)
    config = library.AutoConfig.for_model(**fields)
    return HuggingFaceEncoder(library.AutoModel.from_config(config))


def with_classes(encoder: HuggingFaceEncoder, classes: int, config: TextNetConfig) -> TextNet:
    """A network of the pretrained `encoder` with a fresh layer for the classes."""
    return TextNet(encoder, encoder.width, classes, config)


def require_transformers() -> Any:
    """The package `transformers`, which takes seconds to import.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import transformers
    except ModuleNotFoundError as error:
        raise UsageError(f"net.pretrained: needs the package transformers; {install('text')}") from error
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return transformers


def _places(config: Any) -> int | None:
    """Most tokens that a model reads; None if its positions have no end."""
    found = getattr(config, "max_position_embeddings", None)
    if found is None or found < 1:
        return None
    # RoBERTa and similar models count places from the padding token on.
    offset = config.pad_token_id + 1 if config.model_type in ("roberta", "xlm-roberta", "camembert") else 0
    return int(found) - offset
