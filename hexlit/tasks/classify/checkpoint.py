"""Reading a text classifier back from a checkpoint of Lightning."""

from dataclasses import dataclass
from pathlib import Path

import torch

from hexlit.errors import UsageError
from hexlit.tasks.classify.config import TextNetConfig
from hexlit.tasks.classify.nets import TextNet, build_net
from hexlit.tasks.classify.pretrained import encoder_of, with_classes
from hexlit.tasks.classify.tokens import TextTokens
from hexlit.training.checkpoint import check_whole, weights_in_use


@dataclass(frozen=True)
class LoadedClassifier:
    """A network in evaluation mode on the CPU, and the facts about its texts."""

    net: TextNet
    tokens: TextTokens
    classes: list[str]
    column: str
    """Column of the texts."""


def load_classifier(path: Path) -> LoadedClassifier:
    """The classifier of the checkpoint `path`, with averaged weights if it has them.

    Raises:
        UsageError: it is no checkpoint of a text classifier, or a package that it needs is not installed.
    """
    check_whole(path, "checkpoint")
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        settings = saved["hyper_parameters"]
        tokens, classes = TextTokens(**settings["tokens"]), list(settings["classes"])
        net = net_of(TextNetConfig(**settings["net"]), tokens, len(classes), settings["encoder"])
        net.load_state_dict(weights_in_use(saved["state_dict"]))
        return LoadedClassifier(net.eval(), tokens, classes, str(settings["column"]))
    except UsageError:
        raise
    except Exception as error:  # a broken file can make torch raise anything
        raise UsageError(f"checkpoint={path}: not a checkpoint of a classifier ({type(error).__name__})") from error


def net_of(config: TextNetConfig, tokens: TextTokens, classes: int, encoder: str | None) -> TextNet:
    """A fresh network with the settings of a checkpoint; `encoder` has those of a pretrained one."""
    if encoder is not None:
        return with_classes(encoder_of(encoder), classes, config)
    return build_net(config, vocabulary=tokens.size, length=tokens.max_length, classes=classes)
