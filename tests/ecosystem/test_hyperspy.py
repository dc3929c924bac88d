"""HyperSpy: `decomposition(algorithm=AutoNMF())`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from autonmf import AutoNMF

hyperspy = pytest.importorskip("hyperspy.api", reason="hyperspy is not installed")


@pytest.fixture
def signal(cube: np.ndarray) -> Any:
    return hyperspy.signals.Signal1D(cube.copy())


def test_the_rank_is_found(
    signal: Any, cube: np.ndarray, plain: tuple[np.ndarray, AutoNMF], capsys: pytest.CaptureFixture[str]
) -> None:
    model = AutoNMF(random_state=0)
    signal.decomposition(algorithm=model)
    assert "AutoNMF(random_state=0)" in capsys.readouterr().out
    assert model.n_components_ == 3, "the model that was passed is fitted"
    results = signal.learning_results
    assert_array_equal(results.loadings, plain[0])
    assert_array_equal(results.factors, plain[1].components_.T)
    assert_allclose(
        signal.get_decomposition_model().data, (plain[0] @ plain[1].components_).reshape(cube.shape)
    )
    assert signal.get_decomposition_loadings().data.shape == (3, 6, 10)
    assert signal.get_decomposition_factors().data.shape == (3, 40)


def test_scree_plot(signal: Any, plain: tuple[np.ndarray, AutoNMF]) -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("agg")
    from matplotlib import pyplot

    signal.decomposition(algorithm=AutoNMF(random_state=0), print_info=False)
    variance = plain[1].explained_variance_
    assert_allclose(signal.learning_results.explained_variance_ratio, variance / variance.sum())
    draw = getattr(signal, "plot_scree_plot", None) or signal.plot_explained_variance_ratio
    draw()
    pyplot.close("all")


def test_pixels_left_out(signal: Any, cube: np.ndarray) -> None:
    """A navigation mask, in HyperSpy's order of axes."""
    left_out = np.zeros((6, 10), dtype=bool)
    left_out[0] = True
    mask = left_out.T if signal.axes_manager.navigation_shape == (10, 6) else left_out
    signal.decomposition(algorithm=AutoNMF(random_state=0), navigation_mask=mask, print_info=False)
    loadings = signal.learning_results.loadings
    assert np.isnan(loadings[:10]).all()
    alone = AutoNMF(random_state=0).fit_transform(cube[1:].reshape(50, 40))
    assert_array_equal(loadings[10:], alone)


def test_a_given_rank(signal: Any) -> None:
    signal.decomposition(algorithm=AutoNMF(2, random_state=0), print_info=False)
    assert signal.learning_results.factors.shape == (40, 2)


def test_poissonian_noise_normalised(signal: Any) -> None:
    """HyperSpy scales rows and columns first and scales the factors back."""
    signal.decomposition(
        algorithm=AutoNMF(3, random_state=0), normalize_poissonian_noise=True, print_info=False
    )
    error = np.linalg.norm(signal.get_decomposition_model().data - signal.data)
    assert error < 0.3 * np.linalg.norm(signal.data)


def test_lazy_signals(signal: Any, plain: tuple[np.ndarray, AutoNMF]) -> None:
    lazy = signal.as_lazy()
    lazy.decomposition(algorithm=AutoNMF(random_state=0), print_info=False)
    assert_allclose(lazy.learning_results.factors, plain[1].components_.T)


def test_the_results_can_be_saved(signal: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As docs/ecosystem.md says: HyperSpy stores the algorithm as text, not as an object."""
    pytest.importorskip("h5py", reason="h5py is not installed")
    model = AutoNMF(random_state=0)
    signal.decomposition(algorithm=model, print_info=False)
    signal.learning_results.decomposition_algorithm = str(model)
    signal.save(tmp_path / "signal.hspy")
    assert "could not write" not in caplog.text
    back = hyperspy.load(tmp_path / "signal.hspy").learning_results
    assert back.decomposition_algorithm == "AutoNMF(random_state=0)"
    assert_array_equal(back.factors, signal.learning_results.factors)
