"""Plots in any axes and any style; matplotlib only where something is drawn."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from autonmf import AutoNMF
from autonmf.plotting import AgreementDisplay, ComponentsDisplay, PathDisplay, RankDisplay
from autonmf.plotting.style import DARK, LIGHT, PlotStyle, style_of

H = np.random.default_rng(0).random((5, 12))


def every_display(fitted: AutoNMF) -> dict[str, object]:
    return {
        "path": PathDisplay.from_estimator(fitted),
        "rank": RankDisplay.from_estimator(fitted),
        "agreement": AgreementDisplay({"auto": 3, "bic": 5, "ard": None}, ours="auto"),
        "images": ComponentsDisplay(H, image_shape=(3, 4)),
        "spectra": ComponentsDisplay(H, weights=np.ones((6, 5)), map_shape=(2, 3)),
        "words": ComponentsDisplay(H, feature_names=list("abcdefghijkl")),
        "templates": ComponentsDisplay(H, frequencies=np.arange(12)),
    }


def luminance(color) -> float:
    """Relative luminance of the Web Content Accessibility Guidelines."""
    from matplotlib.colors import to_rgb

    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.parametrize("name", ["path", "rank", "agreement", "images", "spectra", "words", "templates"])
@pytest.mark.parametrize("style", ["default", "dark_background", "ggplot"])
def test_every_display_is_drawn_in_every_style(fitted: AutoNMF, name: str, style: str) -> None:
    import matplotlib.pyplot as plt

    with plt.style.context(style):
        shown = every_display(fitted)[name]
        assert shown.plot() is shown
        shown.figure_.canvas.draw()
        assert style_of(shown.ax_) is (DARK if style == "dark_background" else LIGHT)


@pytest.mark.parametrize(("style", "background"), [(LIGHT, "white"), (DARK, "black")])
def test_colours_stand_out(style: PlotStyle, background: str) -> None:
    """At least 3:1, what the guidelines ask of graphics."""
    for color in (style.data, style.choice, style.quiet):
        light, dark = sorted([luminance(color), luminance(background)], reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3.0


@pytest.mark.parametrize("name", ["rank", "images", "spectra", "words"])
def test_panels_stay_in_the_place_of_the_given_axes(fitted: AutoNMF, name: str) -> None:
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2)
    shown = every_display(fitted)[name].plot(right)
    assert shown.ax_ is right
    assert shown.figure_ is figure
    place = right.get_position()
    panels = [ax for ax in figure.axes if ax not in (left, right)]
    assert len(panels) > 1
    for ax in panels:
        box = ax.get_position()
        assert place.x0 - 1e-9 <= box.x0 < box.x1 <= place.x1 + 1e-9
        assert place.y0 - 1e-9 <= box.y0 < box.y1 <= place.y1 + 1e-9
    assert plt.get_fignums() == [figure.number]


def test_axes_that_are_in_no_grid_can_be_divided() -> None:
    import matplotlib.pyplot as plt

    figure = plt.figure()
    place = figure.add_axes((0.2, 0.3, 0.4, 0.5))
    shown = ComponentsDisplay(H, image_shape=(3, 4)).plot(place)
    for panels in shown.axes_:
        box = panels[0].get_position(original=True)
        assert 0.2 - 1e-9 <= box.x0 < box.x1 <= 0.6 + 1e-9
        assert 0.3 - 1e-9 <= box.y0 < box.y1 <= 0.8 + 1e-9


def test_a_part_of_a_figure_is_a_figure() -> None:
    import matplotlib.pyplot as plt

    part = plt.figure().subfigures(1, 2)[1]
    shown = ComponentsDisplay(H, image_shape=(3, 4)).plot(part.subplots())
    assert shown.figure_ is part
    assert {panels[0].figure for panels in shown.axes_} == {part}


def test_several_axes_are_refused() -> None:
    import matplotlib.pyplot as plt

    with pytest.raises(TypeError, match="one matplotlib Axes, got ndarray"):
        ComponentsDisplay(H).plot(plt.subplots(1, 2)[1])


def test_results_plot_themselves(fitted: AutoNMF) -> None:
    assert isinstance(fitted.path_.plot(panels="loss"), PathDisplay)
    assert isinstance(fitted.rank_estimate_.plot(), RankDisplay)


def test_displays_import_nothing_that_they_draw() -> None:
    code = (
        "import sys, autonmf.plotting;"
        "print(*sorted({name.split('.')[1] for name in sys.modules if name.startswith('autonmf.')}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["_types", "plotting"]


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "autonmf\[plot\]"'):
        ComponentsDisplay(H).plot()


def test_displays_are_made_without_matplotlib() -> None:
    code = (
        "import sys, numpy as np; from autonmf.plotting import ComponentsDisplay, PathDisplay;"
        "ComponentsDisplay(np.ones((2, 4)), image_shape=(2, 2)); PathDisplay([1], [0.5], []);"
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
