"""`ComponentsDisplay`: each form shows the numbers of the factors, in the order of their energy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import NMF
from sklearn.exceptions import NotFittedError

from autonmf import AutoNMF
from autonmf.datasets import load_swimmer
from autonmf.plotting import ComponentsDisplay
from autonmf.plotting.style import LIGHT

RNG = np.random.default_rng(0)
H = RNG.random((3, 12))
W = RNG.random((20, 3)) * np.array([1.0, 3.0, 2.0])
BY_ENERGY = [1, 2, 0]


def image_of(ax) -> np.ndarray:
    (image,) = ax.images
    return np.asarray(image.get_array())


def titles(display: ComponentsDisplay) -> list[str]:
    return [panels[0].get_title() for panels in display.axes_]


# Energy


def test_components_come_by_energy_with_their_shares() -> None:
    display = ComponentsDisplay(H, weights=W)
    energies = np.array([np.linalg.norm(np.outer(W[:, j], H[j])) ** 2 for j in BY_ENERGY])
    assert_array_equal(display.components, H[BY_ENERGY])
    assert_array_equal(display.weights, W[:, BY_ENERGY])
    assert_allclose(display.fractions, energies / energies.sum())
    percent = [f"{100 * fraction:.0f} %" for fraction in display.fractions]
    assert titles(display.plot()) == [f"1 · {percent[0]} energy", f"2 · {percent[1]}", f"3 · {percent[2]}"]


def test_without_weights_components_keep_their_order_and_have_no_share() -> None:
    display = ComponentsDisplay(H).plot()
    assert display.fractions is None
    assert_array_equal(display.components, H)
    assert titles(display) == ["1", "2", "3"]


def test_tiny_and_zero_shares() -> None:
    display = ComponentsDisplay(np.ones((3, 4)), energies=[1.0, 0.0, 4e-4])
    assert display.titles == ["1 · 100 % energy", "2 · 0.04 %", "3 · 0 %"]
    assert ComponentsDisplay(np.zeros((1, 4)), energies=[0.0]).titles == ["1 · 0 % energy"]


def test_shares_of_balanced_factors_are_those_of_the_weights(fitted: AutoNMF, low_rank: np.ndarray) -> None:
    """`AutoNMF` balances its factors, so that ‖H_j‖ tells the energy without X."""
    without = ComponentsDisplay.from_estimator(fitted).fractions
    assert_allclose(without, ComponentsDisplay.from_estimator(fitted, low_rank).fractions, rtol=0.01)


def test_weights_of_an_estimator_are_its_transform(fitted: AutoNMF, low_rank: np.ndarray) -> None:
    display = ComponentsDisplay.from_estimator(fitted, low_rank)
    rebuilt = display.weights @ display.components
    assert_allclose(rebuilt, fitted.transform(low_rank) @ fitted.components_)


def test_a_rank_of_a_path(fitted: AutoNMF) -> None:
    display = ComponentsDisplay.from_path(fitted.path_, 4)
    point = fitted.path_.at_rank(4)
    assert_allclose(display.weights @ display.components, point.U @ point.V.T)


def test_other_estimators_with_components(low_rank: np.ndarray) -> None:
    other = NMF(3, init="nndsvda", max_iter=500).fit(low_rank)
    assert ComponentsDisplay.from_estimator(other).fractions is None
    assert ComponentsDisplay.from_estimator(other, low_rank).fractions.sum() == pytest.approx(1.0)


# Images


@pytest.mark.parametrize("order", ["C", "F"])
def test_images_have_the_shape_and_order_that_were_given(order: str) -> None:
    display = ComponentsDisplay(H, weights=W, image_shape=(3, 4), order=order).plot()
    assert display.kind == "image"
    for panels, component in zip(display.axes_, H[BY_ENERGY], strict=True):
        image = image_of(panels[0])
        assert image.shape == (3, 4)
        assert_array_equal(image, component.reshape(3, 4, order=order))
        assert panels[0].images[0].get_clim() == (0.0, component.max())


def test_swimmer_parts_are_32_by_32() -> None:
    model = AutoNMF(n_components=16, max_rank=18, random_state=0).fit(load_swimmer())
    display = ComponentsDisplay.from_estimator(model, image_shape=(32, 32)).plot()
    assert len(display.axes_) == 16
    assert {image_of(panels[0]).shape for panels in display.axes_} == {(32, 32)}


def test_a_component_of_zeros_is_blank() -> None:
    display = ComponentsDisplay(np.zeros((1, 4)), image_shape=(2, 2)).plot()
    assert display.axes_[0][0].images[0].get_clim() == (0.0, 1.0)


# Spectra and maps


def test_spectra_and_maps_multiply_to_the_contribution() -> None:
    wavelengths = np.linspace(400, 900, 12)
    display = ComponentsDisplay(
        H, weights=W, wavelengths=wavelengths, map_shape=(4, 5), order="F", axis_label="wavelength (nm)"
    ).plot()
    assert display.kind == "spectrum"
    for (curve_ax, map_ax), j in zip(display.axes_, BY_ENERGY, strict=True):
        (curve,) = curve_ax.lines
        assert_array_equal(curve.get_xdata(), wavelengths)
        assert curve.get_ydata().max() == 1.0
        assert curve_ax.get_xlabel() == "wavelength (nm)"
        weights = image_of(map_ax).ravel(order="F")
        assert_allclose(np.outer(weights, curve.get_ydata()), np.outer(W[:, j], H[j]))
        assert map_ax.get_xlabel() == f"0 to {weights.max():.2g}"


def test_spectra_without_an_axis_are_drawn_over_the_features() -> None:
    display = ComponentsDisplay(H).plot()
    assert display.kind == "spectrum"
    (curve,) = display.axes_[0][0].lines
    assert_array_equal(curve.get_xdata(), np.arange(1, 13))
    assert display.axes_[-1][0].get_xlabel() == "feature"


# Words


NAMES = [f"word{i}" for i in range(12)]


def test_bars_are_the_largest_weights_by_name() -> None:
    display = ComponentsDisplay(H, feature_names=NAMES, n_top=4).plot()
    assert display.kind == "words"
    for (ax,), component in zip(display.axes_, H, strict=True):
        largest = np.argsort(-component)[:4]
        assert [label.get_text() for label in ax.get_yticklabels()] == [NAMES[i] for i in largest]
        assert_allclose([bar.get_width() for bar in ax.patches], component[largest])


def test_features_that_are_absent_are_not_listed() -> None:
    sparse = np.array([[0.0, 2.0, 0.0, 1.0]])
    (ax,) = ComponentsDisplay(sparse, feature_names=list("abcd")).plot().axes_[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "d"]


def test_specific_words_are_neither_large_everywhere_nor_rare() -> None:
    components = np.array([[0.1, 5.0, 4.0, 0.0], [0.0, 5.0, 0.0, 4.0]])
    display = ComponentsDisplay(
        components, feature_names=["rare", "all", "one", "two"], n_top=1, top_by="specificity"
    ).plot()
    assert [ax.get_yticklabels()[0].get_text() for (ax,) in display.axes_] == ["one", "two"]


def test_names_are_not_read_as_mathematics() -> None:
    display = ComponentsDisplay(np.array([[2.0, 1.0]]), feature_names=["$10 or \\bad$", "a_b^c"]).plot()
    display.figure_.canvas.draw()
    assert [label.get_text() for label in display.axes_[0][0].get_yticklabels()] == ["$10 or \\bad$", "a_b^c"]


def test_a_data_frame_names_its_features(low_rank: np.ndarray) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(low_rank, columns=[f"gene{i}" for i in range(40)])
    model = AutoNMF(n_components=2, max_rank=4, random_state=0).fit(frame)
    display = ComponentsDisplay.from_estimator(model)
    assert display.kind == "words"
    named = {label.get_text() for (ax,) in display.plot().axes_ for label in ax.get_yticklabels()}
    assert named <= set(frame.columns)
    assert ComponentsDisplay.from_estimator(model, image_shape=(5, 8)).kind == "image"


# Templates


def test_templates_are_columns_in_decibels() -> None:
    frequencies = np.linspace(0.0, 1100.0, 12)
    loud = np.maximum(H, 1e-3)
    loud[:, 3] = 0.0
    display = ComponentsDisplay(loud, frequencies=frequencies).plot()
    assert display.kind == "template"
    (mesh,) = display.ax_.collections
    drawn = np.asarray(mesh.get_array()).reshape(11, 3)  # zero has no place on a log axis
    relative = loud / loud.max(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        assert_allclose(drawn, np.maximum(20 * np.log10(relative[:, 1:].T), -60.0), atol=1e-9)
    assert display.ax_.get_ylabel() == "frequency (Hz)"
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == ["1", "2", "3"]


def test_templates_as_curves() -> None:
    display = ComponentsDisplay(H, frequencies=np.arange(12.0), kind="spectrum").plot()
    assert len(display.axes_) == 3
    assert display.axes_[-1][0].get_xlabel() == "frequency (Hz)"


# Layout


@pytest.mark.parametrize(
    ("form", "count"),
    [("image", 1), ("image", 50), ("spectrum", 1), ("spectrum", 7), ("words", 1), ("words", 50)],
)
def test_panels_do_not_overlap(form: str, count: int) -> None:
    components = np.random.default_rng(1).random((count, 12))
    about = {
        "image": {"image_shape": (3, 4)},
        "spectrum": {"wavelengths": np.arange(12.0)},
        "words": {"feature_names": NAMES, "n_top": 5},
    }[form]
    display = ComponentsDisplay(components, energies=np.ones(count), **about).plot()
    display.figure_.canvas.draw()
    boxes = [panels[0].get_tightbbox() for panels in display.axes_]
    assert len(boxes) == count
    for index, box in enumerate(boxes):
        assert box.width > 40
        assert not any(_overlap(box, other) for other in boxes[index + 1 :])


def _overlap(one, other) -> bool:
    """By more than a pixel."""
    across = min(one.x1, other.x1) - max(one.x0, other.x0)
    along = min(one.y1, other.y1) - max(one.y0, other.y0)
    return across > 1 and along > 1


def test_curves_have_the_colour_of_the_data() -> None:
    assert ComponentsDisplay(H).plot().axes_[0][0].lines[0].get_color() == LIGHT.data


# Errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"image_shape": (5, 5)}, r"12 features; pass image_shape=.* for instance \(3, 4\)"),
        ({"image_shape": (12,)}, r"image_shape=\(rows, columns\)"),
        ({"kind": "image"}, r"image_shape=\(rows, columns\)"),
        ({"wavelengths": np.arange(5)}, "wavelengths has shape .* pass one value per feature"),
        ({"map_shape": (4, 5)}, "from_estimator.model, X"),
        ({"map_shape": (3, 3), "weights": W}, r"20 samples; pass map_shape=.* \(4, 5\)"),
        ({"feature_names": NAMES[:3]}, "12 names, one for each of the features; got 3"),
        ({"feature_names": NAMES, "n_top": 0}, "n_top must be at least 1"),
        ({"feature_names": NAMES, "top_by": "luck"}, "weight, specificity"),
        ({"kind": "template"}, "frequencies="),
        ({"frequencies": np.arange(5)}, "frequencies has shape .* pass one value per feature"),
        ({"kind": "picture"}, "image, spectrum, words, template"),
        ({"order": "K"}, "'C' .along rows. or 'F'"),
        ({"weights": W[:, :2]}, "3 columns"),
        ({"energies": [1.0]}, "3 values"),
    ],
)
def test_errors_say_what_to_do(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ComponentsDisplay(H, **options)


def test_components_must_be_a_matrix() -> None:
    with pytest.raises(ValueError, match="one component per row"):
        ComponentsDisplay(H[0])
    with pytest.raises(NotFittedError):
        ComponentsDisplay.from_estimator(AutoNMF())
