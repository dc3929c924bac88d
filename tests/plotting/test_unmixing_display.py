"""`UnmixingDisplay`: spectra on one scale, maps from 0 to 1 with one colour bar."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from autonmf import unmix
from autonmf.plotting import UnmixingDisplay

RNG = np.random.default_rng(0)
E = RNG.random((4, 10))
A = RNG.dirichlet(np.ones(4), 15)


@pytest.mark.parametrize("order", ["C", "F"])
def test_maps_from_zero_to_one_with_one_colour_bar(order: str) -> None:
    display = UnmixingDisplay(E, A, image_shape=(3, 5), order=order).plot()
    assert len(display.axes_) == 4
    for k, (spectrum, place) in enumerate(display.axes_):
        assert_array_equal(spectrum.lines[0].get_ydata(), E[k])
        (image,) = place.images
        assert_array_equal(image.get_array(), A[:, k].reshape((3, 5), order=order))
        assert image.get_clim() == (0.0, 1.0)
    assert display.colorbar_ is not None
    assert display.colorbar_.ax.get_ylabel() == "abundance"
    bars = [ax for ax in display.figure_.axes if ax.get_label() == "<colorbar>"]
    assert len(bars) == 1
    display.figure_.canvas.draw()


def test_dark_materials_are_seen_to_be_dark() -> None:
    display = UnmixingDisplay(E * np.array([[1.0], [0.01], [0.5], [1.0]])).plot()
    limits = {panel[0].get_ylim() for panel in display.axes_}
    assert len(limits) == 1
    assert all(len(panel) == 1 for panel in display.axes_)
    assert display.colorbar_ is None


def test_names_and_wavelengths() -> None:
    names = ["tree", "water", "dirt", "road"]
    display = UnmixingDisplay(E, names=names, wavelengths=np.arange(400, 500, 10), axis_label="nm").plot()
    assert [panel[0].get_title() for panel in display.axes_] == names
    assert_array_equal(display.axes_[0][0].lines[0].get_xdata(), np.arange(400, 500, 10))
    assert display.axes_[-1][0].get_xlabel() == "nm"
    assert [panel[0].get_title() for panel in UnmixingDisplay(E).plot().axes_] == ["1", "2", "3", "4"]


def test_a_result_plots_itself_also_in_given_axes() -> None:
    import matplotlib.pyplot as plt

    found = unmix(A @ E, rank=2)
    _, axes = plt.subplots(1, 2, layout="constrained")
    display = found.plot(axes[1], image_shape=(5, 3), cmap="magma")
    assert display.ax_ is axes[1]
    assert_array_equal(display.axes_[0][0].lines[0].get_ydata(), found.endmembers[0])
    assert display.axes_[0][1].images[0].get_cmap().name == "magma"
    display.figure_.canvas.draw()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((E[0],), {}, "a spectrum per row, got shape"),
        ((E, A[:, :3]), {}, "abundances must have 4 columns"),
        ((E,), {"image_shape": (3, 5)}, "maps need the abundances"),
        ((E, A), {"image_shape": (3, 4)}, r"image_shape .3, 4. does not match the 15 pixels.*\(3, 5\)"),
        ((E,), {"names": ["one"]}, "names must have 4 names, one for each of the materials; got 1"),
        ((E,), {"wavelengths": [1.0]}, "pass one value per feature"),
        ((E, A), {"order": "K"}, "order must be"),
    ],
)
def test_bad_input(arguments: tuple, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        UnmixingDisplay(*arguments, **options)
