"""Term weights: the same tf-idf for every collection of documents."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

WEIGHTED = "tf-idf with smoothed natural idf, rows of unit length"


def weighted(counts: Any) -> Any:
    """Counts as tf-idf with scikit-learn's defaults."""
    from sklearn.feature_extraction.text import TfidfTransformer

    return sparse.csr_matrix(TfidfTransformer().fit_transform(counts))


def weighted_texts(
    texts: list[str], min_df: int, max_df: float, dtype: np.dtype[Any]
) -> tuple[Any, tuple[str, ...], str]:
    """The tf-idf of texts with scikit-learn's defaults, their terms, and a sentence about both."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(stop_words="english", min_df=min_df, max_df=max_df, dtype=dtype)
    X = sparse.csr_matrix(vectorizer.fit_transform(texts))
    did = (
        "Lower-case words of two letters or more without scikit-learn's English stop words, in at least "
        f"{min_df} documents and at most {max_df:.0%} of them; {WEIGHTED}."
    )
    return X, tuple(map(str, vectorizer.get_feature_names_out())), did
