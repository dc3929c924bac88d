"""Topics: the words that stand for each component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autonmf.plotting.terms import TOP_BY, scores_of, top_of


def top_words(
    model: Any,
    feature_names: Sequence[str] | None = None,
    *,
    n_top: int = 10,
    top_by: str = "weight",
) -> list[list[str]]:
    """The words that weigh most in each component, the heaviest first.

    Parameters
    ----------
    model : AutoNMF or Pipeline
        Fitted; a pipeline has it as its last step. Any estimator with ``components_`` will do.
    feature_names : sequence of str, optional
        One name a feature. Default: those of the steps before, if ``model`` is a pipeline, or those that
        the estimator saw.
    n_top : int
        Words of a component, at most: those of weight zero are left out.
    top_by : {"weight", "specificity"}
        What puts a word first: its weight in the component, or this times the component's share of the word,
        so that words of every component come last.

    Returns
    -------
    list of list of str
        One list a component, in the order of the components.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from autonmf import AutoNMF
    >>> from autonmf.adapters.text import top_words
    >>> texts = ["tea and cake", "cake with tea", "rain and wind", "wind with rain", "tea cake", "wind rain"]
    >>> topics = make_pipeline(TfidfVectorizer(), AutoNMF(2, random_state=0)).fit(texts)
    >>> sorted(sorted(words) for words in top_words(topics, n_top=2))
    [['cake', 'tea'], ['rain', 'wind']]
    """
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import check_is_fitted

    estimator = model[-1] if isinstance(model, Pipeline) else model
    check_is_fitted(estimator, "components_")
    names = _names(model, estimator) if feature_names is None else np.asarray(feature_names, dtype=object)
    components = estimator.components_
    if names.shape != (components.shape[1],):
        raise ValueError(
            f"feature_names has shape {names.shape}, but components have {components.shape[1]} features: "
            "pass one name a feature"
        )
    if n_top < 1:
        raise ValueError(f"n_top must be at least 1, got {n_top}")
    if top_by not in TOP_BY:
        raise ValueError(f"top_by must be one of {', '.join(TOP_BY)}, got {top_by!r}")
    return [[str(names[i]) for i in top_of(scores, n_top)] for scores in scores_of(components, top_by)]


def _names(model: Any, estimator: Any) -> Any:
    """The features' names as far as they are known."""
    if model is not estimator and len(model) > 1:
        return np.asarray(model[:-1].get_feature_names_out())
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            "the names of the features are not known: pass feature_names, for example "
            "vectorizer.get_feature_names_out()"
        )
    return np.asarray(names)
