"""`component_stability`: which components are found again when samples are drawn again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import NMF
from sklearn.exceptions import NotFittedError

from autonmf import AutoNMF, ComponentStability
from autonmf.datasets import make_low_rank


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    X = make_low_rank(120, 60, rank=4, noise=0.2, random_state=0)[0]
    X.setflags(write=False)
    return X


@pytest.fixture(scope="module")
def model(X: np.ndarray) -> AutoNMF:
    return AutoNMF(max_rank=12, random_state=0).fit(X)


@pytest.fixture(scope="module")
def stability(X: np.ndarray, model: AutoNMF) -> ComponentStability:
    return model.component_stability(X, n_resamples=10)


def cosines_with(model: AutoNMF, V: np.ndarray) -> np.ndarray:
    """The largest cosine between the loadings of each component and a true one."""
    H = model.components_ / np.linalg.norm(model.components_, axis=1, keepdims=True)
    return np.asarray((H @ (V / np.linalg.norm(V, axis=0))).max(axis=1))


def test_what_is_returned(X: np.ndarray, model: AutoNMF, stability: ComponentStability) -> None:
    assert (stability.n_resamples, stability.rank) == (10, 4)
    assert stability.cosines.shape == (10, 4)
    assert ((stability.cosines >= 0) & (stability.cosines <= 1)).all()
    assert_array_equal(stability.components, model.components_)
    assert stability.lower.shape == stability.upper.shape == model.components_.shape
    assert (stability.lower <= stability.upper).all()
    assert stability.ranks.tolist() == list(range(1, 10))
    assert_allclose(stability.stability, np.quantile(stability.cosines, 1 / 3, axis=0))
    assert_allclose(stability.interval, np.quantile(stability.cosines, [0.05, 0.95], axis=0))
    assert stability.by_rank[3] == pytest.approx(stability.stability.mean(), abs=0.01)
    assert (stability.lowest_by_rank <= stability.by_rank).all()
    lines = str(stability).splitlines()
    assert lines[0] == "10 resamples"
    assert len(lines) == 6
    assert lines[2].split()[:2] == ["1", f"{stability.stability[0]:.2f}"]


def test_true_components_are_stable_and_superfluous_ones_are_not(X: np.ndarray, model: AutoNMF) -> None:
    _, _, V = make_low_rank(120, 60, rank=4, noise=0.2, random_state=0)
    assert model.n_components_ == 4
    assert model.component_stability(X, n_resamples=10).stability.min() > 0.9
    larger = model.at_rank(7, X)
    found = larger.component_stability(X, n_resamples=10).stability
    true = cosines_with(larger, V) > 0.9
    assert true.sum() == 4
    assert found[true].min() > 0.9
    assert found[~true].max() < 0.8


def test_the_curve_falls_beyond_the_rank(stability: ComponentStability) -> None:
    assert stability.by_rank[3] > 0.95
    assert stability.lowest_by_rank[5:].max() < 0.8


def test_intervals_hold_the_true_loadings_where_noise_is_all_that_varies(
    X: np.ndarray, stability: ComponentStability
) -> None:
    """The bootstrap's intervals cover most loadings of the matrix without noise, at the same norm."""
    _, _, V = make_low_rank(120, 60, rank=4, noise=0.2, random_state=0)
    H, unit = stability.components, V / np.linalg.norm(V, axis=0)
    rows, order = linear_sum_assignment(-(H @ unit))
    truth = (unit[:, order] * np.linalg.norm(H, axis=1)[rows]).T
    large = truth > 0.1 * truth.max()
    wide = 0.05 * truth.max()  # clipped noise shifts loadings a little
    inside = (truth >= stability.lower - wide) & (truth <= stability.upper + wide)
    assert inside[large].mean() > 0.8
    assert (stability.upper - stability.lower)[large].mean() < 0.2 * truth.max()


def test_it_agrees_with_a_bootstrap_by_scikit_learn(X: np.ndarray, model: AutoNMF) -> None:
    """The same procedure written out, with another solver: the same components are stable."""
    larger = model.at_rank(7, X)
    found = larger.component_stability(X, n_resamples=10).stability
    W, H = larger.transform(X), larger.components_
    rng, cosines = np.random.default_rng(1), []
    for seed in range(10):
        rows = rng.integers(len(X), size=len(X))
        other = NMF(7, init="random", random_state=seed, max_iter=2000)
        weights = other.fit_transform(X[rows])
        similar = unit(W[rows]).T @ unit(weights) * (unit(H.T).T @ unit(other.components_.T))
        cosines.append(similar[linear_sum_assignment(-similar)])
    assert_array_equal(np.quantile(cosines, 1 / 3, axis=0) > 0.85, found > 0.85)


def unit(factor: np.ndarray) -> np.ndarray:
    return np.asarray(factor / np.maximum(np.linalg.norm(factor, axis=0), 1e-300))


def equal(first: ComponentStability, second: ComponentStability) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(vars(first).values(), vars(second).values(), strict=True))


def test_the_seed_decides(X: np.ndarray, model: AutoNMF, stability: ComponentStability) -> None:
    assert equal(stability, model.component_stability(X, n_resamples=10))
    assert not equal(stability, model.component_stability(X, n_resamples=10, random_state=1))
    rng = np.random.default_rng(0)
    assert equal(stability, model.component_stability(X, 10, rng))
    assert not equal(stability, model.component_stability(X, 10, rng)), "a generator goes on"


def test_threads_change_nothing(X: np.ndarray, stability: ComponentStability) -> None:
    parallel = AutoNMF(max_rank=12, random_state=0, n_jobs=3).fit(X)
    assert equal(stability, parallel.component_stability(X, n_resamples=10))


def test_the_scale_of_X_does_not_matter(X: np.ndarray, stability: ComponentStability) -> None:
    scaled = AutoNMF(max_rank=12, random_state=0).fit(2.0**20 * X)
    assert_allclose(scaled.component_stability(2.0**20 * X, 10).cosines, stability.cosines, atol=1e-6)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
def test_sparse_data(kind: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.poisson(make_low_rank(80, 50, rank=3, random_state=0)[0] * 2.0).astype(float)
    model = AutoNMF(3, beta_loss="kullback-leibler", random_state=0)
    dense = model.fit(X).component_stability(X, 5)
    found = model.fit(kind(X)).component_stability(kind(X), 5)
    assert_allclose(found.cosines, dense.cosines, atol=1e-3)
    assert found.stability.min() > 0.9


def test_overdispersed_counts() -> None:
    """Whose rows and columns the fit weighs."""
    rng = np.random.default_rng(0)
    mean = 100.0 * make_low_rank(150, 40, rank=3, noise=0.0, random_state=0)[0]
    X = rng.negative_binomial(5, 5 / (5 + mean)).astype(float)
    model = AutoNMF(beta_loss="kullback-leibler", random_state=0).fit(X)
    assert model.at_rank(3, X).component_stability(X, 5).stability.min() > 0.9


def test_missing_entries(X: np.ndarray) -> None:
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = AutoNMF(missing="mask", max_rank=8, random_state=0).fit(holes)
    assert model.n_components_ == 4
    assert model.component_stability(holes, 5).stability.min() > 0.9


def test_weights_of_samples_and_entries(X: np.ndarray, model: AutoNMF) -> None:
    rng = np.random.default_rng(0)
    sample_weight = rng.uniform(0.5, 2.0, len(X))
    sample_weight[:7] = 0.0
    weighted = AutoNMF(4, random_state=0).fit(X, sample_weight=sample_weight)
    assert weighted.component_stability(X, 5, sample_weight=sample_weight).stability.min() > 0.9
    with pytest.raises(ValueError, match="pass the training data"):
        weighted.component_stability(X, 5)
    weights = rng.uniform(0.5, 2.0, X.shape)
    weighted = AutoNMF(4, random_state=0).fit(X, weights=weights)
    assert weighted.component_stability(X, 5, weights=weights).stability.min() > 0.9


def test_one_weight_for_all_samples(X: np.ndarray) -> None:
    model = AutoNMF(4, random_state=0).fit(X, sample_weight=2.0)
    assert model.component_stability(X, 3, sample_weight=2.0).stability.min() > 0.9
    with pytest.raises(ValueError, match="sample_weight must have shape"):
        model.component_stability(X, 3, sample_weight=np.ones(7))


@pytest.mark.filterwarnings("ignore:1 of the 4 components vanished")
def test_a_component_that_vanished_is_not_found_again() -> None:
    """NNDSVD of a matrix of rank three has three components, whatever was asked for."""
    X = np.repeat(np.diag([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]), 20, axis=0)
    model = AutoNMF(4, max_rank=4, init="nndsvd", random_state=0).fit(X)
    assert model.components_.any(axis=1).tolist() == [True, True, True, False]
    found = model.component_stability(X, 5).stability
    assert found[3] == 0.0
    assert found[:3].min() > 0.9


def test_samples_of_zeros_are_not_drawn(X: np.ndarray, stability: ComponentStability) -> None:
    padded = np.vstack([X, np.zeros((200, X.shape[1]))])
    model = AutoNMF(4, random_state=0).fit(padded)
    assert model.component_stability(padded, 5).stability.min() > 0.9
    few = np.zeros((50, 8))
    few[:2] = np.random.default_rng(0).random((2, 8))
    assert np.isfinite(AutoNMF(1, random_state=0).fit(few).component_stability(few, 5).cosines).all()


def test_one_component() -> None:
    X = np.outer(np.arange(1.0, 9.0), np.arange(1.0, 6.0))
    found = AutoNMF(1, random_state=0).fit(X).component_stability(X, 5)
    assert_allclose(found.cosines, 1.0, atol=1e-6)
    assert_allclose(found.lower, found.components, rtol=1e-4)


@pytest.mark.parametrize(
    "options", [{"grid": "adaptive", "max_rank": 6}, {"n_components": 3}, {"init": "nndsvd"}]
)
def test_other_paths(X: np.ndarray, options: dict[str, Any]) -> None:
    model = AutoNMF(random_state=0, rule="marginal", **options).fit(X)
    found = model.component_stability(X, 3)
    assert found.rank == model.n_components_
    assert set(found.ranks) <= set(model.path_.ranks) | {found.rank}


def test_a_loaded_model(X: np.ndarray, model: AutoNMF, stability: ComponentStability, tmp_path: Path) -> None:
    model.save(tmp_path / "model.npz")
    loaded = AutoNMF.load(tmp_path / "model.npz")
    assert equal(stability, loaded.component_stability(X, n_resamples=10))


@pytest.mark.parametrize("bad", [0, 1, -3, 2.5, True, "many", None])
def test_bad_numbers_of_resamples(X: np.ndarray, model: AutoNMF, bad: Any) -> None:
    with pytest.raises(ValueError, match="n_resamples must be an integer of at least 2"):
        model.component_stability(X, n_resamples=bad)


def test_what_cannot_be_resampled(X: np.ndarray, model: AutoNMF, tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        AutoNMF().component_stability(X)
    with pytest.raises(ValueError, match="fitted to 120: pass the training data"):
        model.component_stability(X[:50])
    with pytest.raises(ValueError, match="features"):
        model.component_stability(X[:, :5])
    with pytest.raises(ValueError, match=r"X has 1 sample that is not zero.* needs at least two"):
        AutoNMF(1).fit(X[:1]).component_stability(X[:1])
    file = np.memmap(tmp_path / "x.bin", dtype=np.int32, mode="w+", shape=X.shape)
    with pytest.raises(ValueError, match="needs X in memory: pass"):
        model.component_stability(file)


def test_plots(stability: ComponentStability) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    display = stability.plot()
    assert set(display.axes_) == {"components", "ranks"}
    (dots,) = display.axes_["components"].lines[:1]
    assert_allclose(dots.get_xdata(), stability.stability)
    ax = stability.plot_loadings(0, feature_names=[f"gene{i}" for i in range(60)], n_top=5)
    top = np.argsort(-stability.components[0])[:5]
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"gene{i}" for i in top]
    (curve,) = stability.plot_loadings(1).lines
    assert_allclose(curve.get_ydata(), stability.components[1])
    with pytest.raises(ValueError, match="component must be 0 to 3, got 4"):
        stability.plot_loadings(4)
    pyplot.close("all")


@pytest.mark.filterwarnings("error")
def test_a_data_frame(X: np.ndarray, model: AutoNMF, stability: ComponentStability) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"feature {j}" for j in range(X.shape[1])])
    named = AutoNMF(max_rank=12, random_state=0).fit(frame)
    assert_array_equal(named.component_stability(frame, n_resamples=10).cosines, stability.cosines)
