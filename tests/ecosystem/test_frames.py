"""Data frames in, data frames out: pandas, polars, pyarrow; names and indices stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler

from autonmf import AutoNMF

NAMES = [f"gene {i}" for i in range(40)]


@pytest.fixture(params=["pandas", "polars"])
def library(request: pytest.FixtureRequest) -> Any:
    return pytest.importorskip(request.param, reason=f"{request.param} is not installed")


@pytest.fixture
def frame(library: Any, low_rank: np.ndarray) -> Any:
    made = library.DataFrame(dict(zip(NAMES, low_rank.T, strict=True)))
    if library.__name__ == "pandas":
        made.index = [f"cell {i}" for i in range(59, -1, -1)]
    return made


def test_a_frame_is_its_numbers(frame: Any, plain: tuple[np.ndarray, AutoNMF]) -> None:
    model = AutoNMF(random_state=0, engine="direct")
    W = model.fit_transform(frame)
    assert isinstance(W, np.ndarray)
    assert_allclose(W @ model.components_, plain[0] @ plain[1].components_, atol=1e-2)
    assert list(model.feature_names_in_) == NAMES


def test_the_whole_session_speaks_frames(library: Any, frame: Any) -> None:
    with config_context(transform_output=library.__name__):
        pipeline = make_pipeline(MaxAbsScaler(), AutoNMF(3, random_state=0))
        W = pipeline.fit_transform(frame)
        again = pipeline.transform(frame)
    for result in (W, again):
        assert isinstance(result, library.DataFrame)
        assert list(result.columns) == ["autonmf0", "autonmf1", "autonmf2"]
        if library.__name__ == "pandas":
            assert list(result.index) == list(frame.index)
    assert list(pipeline[-1].feature_names_in_) == NAMES
    assert list(pipeline.get_feature_names_out()) == list(W.columns)


def test_back_to_the_samples(library: Any, frame: Any) -> None:
    model = AutoNMF(3, random_state=0).set_output(transform=library.__name__)
    W = model.fit_transform(frame)
    back = model.inverse_transform(W)
    assert_allclose(back, W.to_numpy() @ model.components_)


def test_beside_other_columns(library: Any, frame: Any) -> None:
    left, right = NAMES[:25], NAMES[25:]
    both = make_column_transformer(
        (AutoNMF(2, random_state=0), left), (FunctionTransformer(), right)
    ).set_output(transform=library.__name__)
    names = list(both.fit_transform(frame).columns)
    assert names[:2] == ["autonmf__autonmf0", "autonmf__autonmf1"]
    assert len(names) == 2 + len(right)


def test_other_columns_than_seen_are_refused(frame: Any) -> None:
    model = AutoNMF(2, random_state=0).fit(frame)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[NAMES[::-1]])


def test_pandas_keeps_an_index_of_several_levels(low_rank: np.ndarray) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    index = pandas.MultiIndex.from_product([range(6), list("abcdefghij")], names=["plate", "well"])
    W = (
        AutoNMF(2, random_state=0)
        .set_output(transform="pandas")
        .fit_transform(pandas.DataFrame(low_rank, index=index))
    )
    assert W.index.equals(index)


def test_numbers_as_column_names_are_no_feature_names(low_rank: np.ndarray) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    model = AutoNMF(2, random_state=0).fit(pandas.DataFrame(low_rank))
    assert not hasattr(model, "feature_names_in_")


def test_sparse_columns_of_pandas(low_rank: np.ndarray) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    holes = np.where(low_rank > 1, low_rank, 0.0)
    frame = pandas.DataFrame(holes).astype(pandas.SparseDtype(float, 0.0))
    assert_allclose(
        AutoNMF(2, random_state=0, engine="direct").fit(frame).components_,
        AutoNMF(2, random_state=0, engine="direct").fit(holes).components_,
        atol=1e-6,
    )


def test_columns_that_are_no_numbers_are_refused(library: Any, frame: Any) -> None:
    data = {name: frame[name].to_list() for name in NAMES[:3]} | {"kind": ["a"] * 60}
    with pytest.raises((TypeError, ValueError), match=r"numeric columns|could not convert string"):
        AutoNMF(2).fit(library.DataFrame(data))


def test_evidence_is_a_table(plain: tuple[np.ndarray, AutoNMF], library: Any) -> None:
    evidence = library.DataFrame(plain[1].rank_estimate_.evidence)
    assert evidence.shape == (8, 8)  # to five ranks above the last beyond which X is not noise
    assert_array_equal(evidence["rank"].to_numpy(), np.arange(1, 9))
