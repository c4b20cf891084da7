"""TF-IDF and logistic regression: the reference beside every text classifier."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexlit.errors import UsageError
from hexlit.extras import install

STRENGTHS = (1.0, 10.0, 100.0)
"""Inverse penalties to choose from, by the log loss on validation."""


@dataclass(frozen=True)
class Baseline:
    """A fitted pipeline of scikit-learn, and its inverse penalty."""

    pipeline: Any
    strength: float

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Class probabilities, `[N, C]`."""
        found: NDArray[np.float64] = self.pipeline.predict_proba(list(texts))
        return found


def require_sklearn() -> None:
    """Raise `UsageError` if scikit-learn is not installed."""
    try:
        import sklearn  # noqa: F401
    except ModuleNotFoundError as error:
        raise UsageError(f"task=classify: needs the package scikit-learn; {install('text')}") from error


def fit_baseline(
    texts: Sequence[str], labels: NDArray[np.int64], validation: Sequence[str], validation_labels: NDArray[np.int64]
) -> Baseline:
    """The best of `STRENGTHS` on the validation texts, all fitted to the whole `texts` with their `labels` `[N]`.

    Words and pairs of words count. All classes must be among `labels`.
    """
    require_sklearn()
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2 if len(texts) > 200 else 1)
    inputs = words.fit_transform(list(texts))
    judged = words.transform(list(validation))
    fitted = []
    for strength in STRENGTHS:
        model = LogisticRegression(C=strength, max_iter=1000).fit(inputs, labels)
        own = model.predict_proba(judged)[np.arange(len(validation_labels)), validation_labels]
        fitted.append((float(-np.log(np.maximum(own, 1e-12)).mean()), strength, model))
    _, strength, model = min(fitted, key=lambda one: one[0])
    return Baseline(make_pipeline(words, model), strength)
