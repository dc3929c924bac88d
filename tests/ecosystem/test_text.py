"""Topics: tf-idf, `AutoNMF` and the words of its components, in one pipeline."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import NMF
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import Pipeline, make_pipeline

from autonmf import AutoNMF
from autonmf.adapters.text import top_words

SUBJECTS = (
    "tea cake butter sugar oven bread flour",
    "rain wind cloud storm thunder snow frost",
    "goal match league coach referee penalty striker",
    "violin piano opera choir concert sonata cello",
)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """120 texts, each of one subject's words and of words that all subjects share."""
    rng = np.random.default_rng(0)
    written = []
    for i in range(120):
        own = rng.choice(SUBJECTS[i % 4].split(), size=12)
        shared = rng.choice(["people", "day", "time", "new"], size=4)
        written.append(" ".join([*own, *shared]))
    return written


@pytest.fixture(scope="module")
def topics(texts: list[str]) -> Pipeline:
    return make_pipeline(TfidfVectorizer(), AutoNMF(random_state=0)).fit(texts)


def test_the_pipeline_finds_the_subjects(texts: list[str], topics: Pipeline) -> None:
    assert topics[-1].n_components_ == 4
    found = {frozenset(words) for words in top_words(topics, n_top=7)}
    assert found == {frozenset(subject.split()) for subject in SUBJECTS}
    W = topics.transform(texts)
    strongest = W.argmax(axis=1)
    assert len({tuple(set(strongest[k::4])) for k in range(4)}) == 4, "one component a subject"
    assert all(len(set(strongest[k::4])) == 1 for k in range(4))


def test_new_texts_and_back(topics: Pipeline) -> None:
    W = topics.transform(["cake with tea and sugar", "storm and thunder", "nothing that was seen"])
    assert W.shape == (3, 4)
    assert W[0].argmax() != W[1].argmax()
    assert not W[2].any()
    assert list(topics.get_feature_names_out()) == [f"autonmf{k}" for k in range(4)]


def test_words_come_by_decreasing_weight(topics: Pipeline) -> None:
    names = list(topics[0].get_feature_names_out())
    for words, component in zip(top_words(topics, n_top=5), topics[-1].components_, strict=True):
        weights = [component[names.index(word)] for word in words]
        assert len(words) == 5
        assert weights == sorted(weights, reverse=True)
        assert weights[-1] >= np.sort(component)[-5]


def test_specificity_puts_shared_words_last() -> None:
    model = AutoNMF()
    model.components_ = np.array([[3.0, 2.0, 0.0], [3.0, 0.0, 2.0]])
    names = ["people", "tea", "rain"]
    assert top_words(model, names) == [["people", "tea"], ["people", "rain"]]
    assert top_words(model, names, top_by="specificity") == [["tea", "people"], ["rain", "people"]]


def test_names_from_everywhere(texts: list[str], topics: Pipeline) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    vectorizer = CountVectorizer()
    counts = vectorizer.fit_transform(texts)
    names = vectorizer.get_feature_names_out()
    frame = pandas.DataFrame(counts.toarray(), columns=names)
    expected = top_words(AutoNMF(4, random_state=0).fit(counts), names)
    assert top_words(AutoNMF(4, random_state=0).fit(counts), list(names)) == expected
    assert {frozenset(w) for w in top_words(AutoNMF(4, random_state=0).fit(frame), n_top=7)} == {
        frozenset(subject.split()) for subject in SUBJECTS
    }
    assert len(top_words(NMF(2, random_state=0).fit(counts), names)) == 2, "any model with components_"


def test_a_component_with_few_words_has_few() -> None:
    model = AutoNMF(2, random_state=0).fit(np.kron(np.eye(2), np.ones((5, 3))))
    assert {frozenset(words) for words in top_words(model, list("abcdef"), n_top=5)} == {
        frozenset("abc"),
        frozenset("def"),
    }


def test_mistakes_are_explained(texts: list[str], topics: Pipeline) -> None:
    model = AutoNMF(2, random_state=0).fit(CountVectorizer().fit_transform(texts))
    with pytest.raises(ValueError, match="pass feature_names, for example vectorizer"):
        top_words(model)
    with pytest.raises(ValueError, match="names, one for each of the features; got 2"):
        top_words(model, ["a", "b"])
    with pytest.raises(ValueError, match="n_top must be at least 1"):
        top_words(topics, n_top=0)
    with pytest.raises(ValueError, match="top_by must be one of weight, specificity"):
        top_words(topics, top_by="size")
    with pytest.raises(NotFittedError):
        top_words(AutoNMF())


def test_a_part_of_a_larger_model(texts: list[str]) -> None:
    """Topics as features of a classifier."""
    from sklearn.linear_model import LogisticRegression

    subjects = np.arange(120) % 4
    model = make_pipeline(TfidfVectorizer(), AutoNMF(random_state=0), LogisticRegression(C=100))
    model.fit(texts[:80], subjects[:80])
    assert_allclose(model.score(texts[80:], subjects[80:]), 1.0)


def test_words_at_another_rank(topics: Pipeline) -> None:
    for rank in (2, 5):
        other = topics[-1].at_rank(rank)
        names = topics[:-1].get_feature_names_out()
        assert top_words(topics, rank=rank) == top_words(other, names)
        assert len(top_words(topics, rank=rank)) == rank
    with pytest.raises(ValueError, match="rank 999"):
        top_words(topics, rank=999)


def test_a_model_with_one_rank_has_no_other(texts: list[str]) -> None:
    model = make_pipeline(TfidfVectorizer(), NMF(2, random_state=0)).fit(texts)
    with pytest.raises(ValueError, match="NMF has one rank only: leave out rank=3"):
        top_words(model, rank=3)
