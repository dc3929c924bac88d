"""Topics: the top words of each component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autonmf.plotting.presentation import check_names, check_top, score_features, top_features


def top_words(
    model: Any,
    feature_names: Sequence[str] | None = None,
    *,
    rank: int | None = None,
    n_top: int = 10,
    top_by: str = "weight",
) -> list[list[str]]:
    """The top words of each component, in decreasing order.

    Parameters
    ----------
    model : AutoNMF or Pipeline
        A fitted estimator with ``components_``, or a pipeline that ends with one.
    feature_names : sequence of str, optional
        One name per feature. Default: those of the preceding steps of a pipeline, or those the estimator was
        fitted with.
    rank : int, optional
        Another rank of the model's path. Default: the rank of the model.
    n_top : int
        Maximum number of words per component; words of weight zero are left out.
    top_by : {"weight", "specificity"}
        How words are ranked: by their weight in the component, or by the weight times the fraction of the
        word that belongs to the component, which gives words that are common to all components a lower rank.

    Returns
    -------
    list of list of str
        One list per component, in the order of the components.

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
    >>> len(top_words(topics, rank=3))
    3
    """
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import check_is_fitted

    estimator = model[-1] if isinstance(model, Pipeline) else model
    check_is_fitted(estimator, "components_")
    names: Any = feature_names
    if names is None and model is not estimator and len(model) > 1:
        names = model[:-1].get_feature_names_out()
    elif names is None:
        names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        raise ValueError("pass feature_names, for example vectorizer.get_feature_names_out()")
    if rank is not None and not hasattr(estimator, "at_rank"):
        raise ValueError(f"{type(estimator).__name__} has one rank only: leave out rank={rank}")
    components = (estimator if rank is None else estimator.at_rank(rank)).components_
    check_names(names, components.shape[1], "feature_names", "features")
    check_top(n_top, top_by)
    return [
        [str(names[i]) for i in top_features(scores, n_top)] for scores in score_features(components, top_by)
    ]
