"""The configuration of `hexlit train task=classify`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hexlit.accelerate.config import LoadingDefaults
from hexlit.errors import UsageError
from hexlit.extras import require
from hexlit.tasks.classify.config import TextDataConfig, TextNetConfig
from hexlit.tasks.run_config import RunConfig

PACKAGES = {"sklearn": "scikit-learn", "tokenizers": "tokenizers"}
"""Modules of every run, and the packages that have them."""

DEVICE_DEFAULTS = {
    "mps": LoadingDefaults(train_batch=64, evaluation_batch=64, workers=4),
    "cuda": LoadingDefaults(train_batch=32, evaluation_batch=32, workers=2),
    "cpu": LoadingDefaults(train_batch=16, evaluation_batch=16, workers=0),
}


@dataclass
class ClassifyTrainConfig(RunConfig):
    """Settings of `hexlit train task=classify`."""

    errors: int = 5
    """Number of errors on the test set in the final list, the most confident first; 0: none."""
    net: TextNetConfig = field(default_factory=TextNetConfig)
    data: TextDataConfig = field(default_factory=TextDataConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.errors < 0:
            raise UsageError(f"errors={self.errors}: must be 0 or more")

    def check_installed(self) -> None:
        require("task=classify", PACKAGES, "text")
        if self.net.pretrained is not None:
            require(f"net.pretrained={self.net.pretrained}", {"transformers": "transformers"}, "text")
        if self.data.path is None:
            from hexlit.tasks.classify.source import packaged_news

            packaged_news()

    @property
    def subject(self) -> str:
        return f"{self.net.pretrained or self.net.kind}, texts of up to {self.data.max_length} tokens"

    @property
    def device_defaults(self) -> Mapping[str, LoadingDefaults]:
        return DEVICE_DEFAULTS
