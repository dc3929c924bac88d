"""`AutoNMF(fixed_components=...)`: kinds of data, saving, cloning, and bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from autonmf import AutoNMF
from autonmf.report import write_report

N, M, RANK = 120, 40, 5
NAMES = [f"f{j}" for j in range(M)]


def make_data(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    H = rng.gamma(0.3, 1.0, (RANK, M))
    return rng.poisson(rng.gamma(0.5, 20.0, (N, RANK)) @ H).astype(float), H


X, H = make_data()
WEIGHTS = np.random.default_rng(1).uniform(0.5, 2.0, (N, M))
MASKED = np.where(np.random.default_rng(2).random((N, M)) < 0.1, np.nan, X)

KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "array": ({"X": X}, {}),
    "single precision": ({"X": X.astype(np.float32)}, {}),
    "CSR": ({"X": sparse.csr_matrix(X)}, {}),
    "CSC": ({"X": sparse.csc_matrix(X)}, {}),
    "missing": ({"X": MASKED}, {"missing": "mask"}),
    "weights": ({"X": X, "weights": WEIGHTS}, {}),
    "weights of rows and columns": ({"X": X, "weights": np.outer(WEIGHTS[:, 0], WEIGHTS[0])}, {}),
    "sample weights": ({"X": X, "sample_weight": np.arange(N) % 3}, {}),
    "several initial points": ({"X": X}, {"n_starts": 2}),
    "wide": ({"X": X[:30]}, {}),
}


@pytest.mark.parametrize("loss", ["frobenius", "kullback-leibler"])
@pytest.mark.parametrize("kind", KINDS)
def test_known_rows_stay_as_given(kind: str, loss: str) -> None:
    fit, options = KINDS[kind]
    model = AutoNMF(fixed_components=H[:3], beta_loss=loss, random_state=0, **options).fit(**fit)
    assert model.n_components_ == RANK
    given = H[:3].astype(fit["X"].dtype)
    assert_array_equal(model.components_[:3], given)
    for point in model.path_.points:
        assert_array_equal(point.V[:, :3].T, given.astype(point.V.dtype))
    assert (np.diff(model.path_.losses) < 0).all()
    for other in (model.at_rank(4), model.at_rank(4, **fit)):
        assert_array_equal(other.components_[:3], given)
        assert other.n_components_ == 4


def test_all_given_and_nothing_else_needed() -> None:
    model = AutoNMF(fixed_components=H, random_state=0).fit(X)
    assert_array_equal(model.components_, H)
    assert model.rank_estimate_ is not None
    assert model.rank_estimate_.why.startswith("no component beyond the 5 known ones")
    assert model.unused_components_ == ()
    assert model.transform(X).shape == (N, RANK)


@pytest.mark.parametrize("loss", ["frobenius", "kullback-leibler"])
@pytest.mark.parametrize("n_components", [None, RANK + 1])
def test_an_unused_component_is_reported(loss: str, n_components: int | None, tmp_path: Path) -> None:
    pytest.importorskip("plotly", reason="reports need plotly")
    known = np.vstack([H[:3], H[0, ::-1], H[3:]])
    model = AutoNMF(n_components, fixed_components=known, beta_loss=loss, random_state=0).fit(X)
    assert model.n_components_ == RANK + 1
    assert model.unused_components_ == (3,)
    if n_components is None:
        assert model.rank_estimate_ is not None
        assert "known component 4 is not used: the others fit X as well" in model.rank_estimate_.warnings
    page = write_report(model, tmp_path / "page.html", X=X).read_text(encoding="utf-8")
    assert "Known component 4 is not used: the others fit X as well." in page
    assert "6 components, all of them known" in page


def test_known_components_stay_the_same_in_resamples_and_in_the_tree() -> None:
    model = AutoNMF(fixed_components=H[:2], max_rank=8, random_state=0).fit(X)
    stability = model.component_stability(X, n_resamples=3)
    assert_array_equal(stability.components[:2], H[:2])
    assert_allclose(stability.lower[:2], stability.upper[:2], rtol=1e-5, atol=1e-9)
    assert len(model.path_.tree().ranks) == len(model.path_.ranks)


def test_a_given_rank_counts_the_known() -> None:
    model = AutoNMF(4, fixed_components=H[:2], random_state=0).fit(X)
    assert model.components_.shape == (4, M)
    assert_array_equal(model.components_[:2], H[:2])
    with pytest.raises(ValueError, match="n_components=1 is less than the 2 known components"):
        AutoNMF(1, fixed_components=H[:2]).fit(X)


def test_columns_are_matched_by_name() -> None:
    frame = pd.DataFrame(X, columns=NAMES)
    known = pd.DataFrame(H[:2], columns=NAMES)[NAMES[::-1]]
    model = AutoNMF(fixed_components=known, random_state=0).fit(frame)
    assert_array_equal(model.components_[:2], H[:2])
    by_place = AutoNMF(fixed_components=H[:2], random_state=0).fit(frame)
    assert_array_equal(model.components_, by_place.components_)
    with pytest.raises(ValueError, match="no column for 'f0' and columns that X does not have: 'g'"):
        AutoNMF(fixed_components=known.rename(columns={"f0": "g"})).fit(frame)


def test_saved_loaded_cloned_and_in_a_pipeline(tmp_path: Path) -> None:
    model = AutoNMF(fixed_components=H[:2], random_state=0).fit(X)
    model.save(tmp_path / "model.npz")
    loaded = AutoNMF.load(tmp_path / "model.npz")
    assert_array_equal(loaded.fixed_components, H[:2])
    assert_array_equal(loaded.at_rank(4, X).components_, model.at_rank(4, X).components_)
    for again in (clone(model), clone(loaded)):
        assert_array_equal(again.fit(X).components_, model.components_)
    pipeline = make_pipeline(MaxAbsScaler(), AutoNMF(fixed_components=H[:2] / X.max(axis=0), random_state=0))
    pipeline.set_output(transform="pandas")
    assert pipeline.fit_transform(X).shape == (N, RANK)


@pytest.mark.slow
def test_dask_arrays() -> None:
    array = pytest.importorskip("dask.array", reason="needs Dask")
    local = AutoNMF(fixed_components=H[:2], random_state=0).fit(X)
    model = AutoNMF(fixed_components=H[:2], random_state=0).fit(array.from_array(X, chunks=(50, M)))
    assert model.n_components_ == local.n_components_ == RANK
    assert_array_equal(model.components_[:2], H[:2])
    for point in model.path_.computed().points:
        assert_array_equal(point.V[:, :2].T, H[:2].astype(point.V.dtype))


@pytest.mark.parametrize("loss", ["frobenius", "kullback-leibler"])
def test_files(loss: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autonmf.data.streamed.SMALL", 0)
    np.save(tmp_path / "X.npy", X)
    model = AutoNMF(fixed_components=H[:3], beta_loss=loss, random_state=0)
    model.fit(np.load(tmp_path / "X.npy", mmap_mode="r"))
    assert_array_equal(model.components_[:3], H[:3])
    assert model.n_components_ == RANK


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (H[:2, :5], "fixed_components has 5 columns, but X has 40 features"),
        (H[0], "must be a matrix with a row for each known component"),
        (np.zeros((0, M)), "must be a matrix with a row for each known component"),
        (np.vstack([H[0], -H[1]]), "row 2 of fixed_components has negative entries"),
        (np.vstack([H[0], 0 * H[1]]), "row 2 of fixed_components is zero"),
        (np.vstack([H[0], np.nan * H[1]]), "row 2 of fixed_components has entries that are not finite"),
        (np.vstack([H[0], H[1], 2 * H[0]]), "rows 1 and 3 of fixed_components are the same up to a scale"),
        (1e35 * H[:2], "fixed_components has too large or too small entries"),
        (np.vstack([H] * 10) + np.random.default_rng(0).random((50, M)), "there are 50 known components"),
    ],
)
def test_bad_input(known: np.ndarray, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        AutoNMF(fixed_components=known).fit(X)


def test_known_components_of_text() -> None:
    with pytest.raises(TypeError, match="fixed_components must hold numbers only"):
        AutoNMF(fixed_components=np.full((2, M), "a")).fit(X)


@pytest.mark.parametrize("seed", range(3))
def test_noise_that_is_correlated_does_not_make_a_component_used(seed: int) -> None:
    """Errors in the direction of a component that is not in X are larger than elsewhere."""
    rng = np.random.default_rng(seed)
    W, V = rng.gamma(0.5, 1.0, (300, 3)), rng.gamma(0.5, 1.0, (3, 40))
    absent = np.zeros(40)
    absent[:8] = 1.0
    errors = 0.05 * rng.standard_normal((300, 40)) + 0.05 * rng.standard_normal((300, 1)) * absent
    data = np.maximum(W @ V + 3.0 + errors, 0.0)
    known = np.vstack([V, np.ones(40), absent])
    model = AutoNMF(n_components=5, fixed_components=known, random_state=0).fit(data)
    assert model.unused_components_ == (4,)
    used = np.maximum(data + 0.1 * np.maximum(rng.standard_normal((300, 1)), 0.0) * absent, 0.0)
    assert AutoNMF(n_components=5, fixed_components=known, random_state=0).fit(used).unused_components_ == ()
