"""Components in small: pictures, curves, terms, and which component is which at another rank."""

from __future__ import annotations

import io
from base64 import b64decode

import numpy as np
import pytest
from scipy import sparse

from autonmf.data import as_data
from autonmf.plotting.presentation import choose_presentation
from autonmf.report.components import (
    FULL,
    LEVELS,
    SMALL,
    block_side,
    encode_curve,
    encode_picture,
    fractions_of,
    match_components,
    shrink,
    signal_shares,
    thin,
    thin_axis,
    view_components,
    view_materials,
)
from autonmf.report.contents import row_energies, row_residuals
from autonmf.report.result import Factors
from autonmf.unmixing import Unmixing

SHADE = 0.51 / LEVELS + 0.51 / 255
"""Half a shade of grey, as LEVELS and as a byte."""

RNG = np.random.default_rng(0)


def pixels(packed: str) -> np.ndarray:
    """A PNG as another library reads it, from 0 to 1."""
    image = pytest.importorskip("PIL.Image", reason="the check of pictures needs Pillow")
    with image.open(io.BytesIO(b64decode(packed))) as opened:
        return np.asarray(opened) / 255.0


def heights(packed: str) -> np.ndarray:
    return np.frombuffer(b64decode(packed), "<u2") / 65535


@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (30, 40), (1, 300)])
def test_picture(shape: tuple[int, int]) -> None:
    values = 3.0 * RNG.random(shape)
    np.testing.assert_allclose(pixels(encode_picture(values, 10_000)), values / values.max(), atol=SHADE)


def test_picture_of_zeros_is_black() -> None:
    assert not pixels(encode_picture(np.zeros((4, 6)), 100)).any()


def test_large_pictures_are_block_means() -> None:
    values = RNG.random((60, 90))
    np.testing.assert_allclose(shrink(values, 600), values.reshape(20, 3, 30, 3).mean(axis=(1, 3)))
    ragged = shrink(RNG.random((61, 91)), 600)
    assert ragged.size <= 600
    np.testing.assert_allclose(shrink(np.full((61, 91), 2.0), 600), 2.0)


@pytest.mark.parametrize("shape", [(1000, 1), (1, 100_000), (317, 401), (128, 128)])
def test_blocks_are_large_enough_and_not_larger(shape: tuple[int, int]) -> None:
    def left(side: int) -> int:
        return -(-shape[0] // side) * -(-shape[1] // side)

    side = block_side(shape, FULL.pixels)
    assert left(side) <= FULL.pixels
    assert side == 1 or left(side - 1) > FULL.pixels


def test_curve() -> None:
    values = 7.0 * RNG.random(200)
    np.testing.assert_allclose(heights(encode_curve(values, 512)), values / values.max(), atol=1e-5)
    assert not heights(encode_curve(np.zeros(5), 512)).any()


def test_a_thinned_curve_keeps_its_peaks() -> None:
    values = np.zeros(1000)
    values[[17, 640, 999]] = [1.0, 3.0, 2.0]
    small = thin(values, 96)
    assert len(small) <= 96
    assert sorted(small[small > 0]) == [1.0, 2.0, 3.0]
    axis = thin_axis(np.arange(1000.0), 96)
    assert len(axis) == len(small)
    assert abs(axis[np.argmax(small)] - 640) < 11


def test_likeness_finds_a_permutation() -> None:
    V = RNG.random((50, 6)) ** 4
    order = RNG.permutation(6)
    matched = match_components(2.0 * V[:, order], V)
    assert [like for like, _ in matched] == (order + 1).tolist()
    np.testing.assert_allclose([cosine for _, cosine in matched], 1.0)


def test_likeness_across_ranks_uses_each_component_once() -> None:
    V = RNG.random((50, 3))
    matched = match_components(np.column_stack([V, V]), V)
    assert sorted(like for like, _ in matched if like) == [1, 2, 3]
    assert sum(like is None for like, _ in matched) == 3
    assert match_components(np.zeros((50, 1)), V)[0][1] == 0.0


def test_shares() -> None:
    U, V = RNG.random((20, 3)), RNG.random((10, 3))
    energies = [np.linalg.norm(np.outer(U[:, j], V[:, j])) ** 2 for j in range(3)]
    np.testing.assert_allclose(fractions_of(Factors(U, V, True)), np.array(energies) / sum(energies))
    assert fractions_of(Factors(None, V, True)) == [None] * 3


@pytest.mark.parametrize("order", ["C", "F"])
def test_images(order: str) -> None:
    image = RNG.random((4, 6))
    presentation = choose_presentation((5, 24), image_shape=(4, 6), order=order)
    V = image.ravel(order=order)[:, None]
    (view,) = view_components(Factors(np.ones((5, 1)), V, True), presentation, V, FULL)
    np.testing.assert_allclose(pixels(view["image"]), image / image.max(), atol=SHADE)
    assert "curve" not in view


@pytest.mark.parametrize("detail", [FULL, SMALL])
def test_spectra_with_maps(detail) -> None:
    U, V = RNG.random((12, 2)), RNG.random((30, 2))
    presentation = choose_presentation(
        (12, 30), map_shape=(3, 4), order="F", wavelengths=np.linspace(400, 900, 30)
    )
    for j, view in enumerate(view_components(Factors(U, V, True), presentation, V, detail)):
        np.testing.assert_allclose(heights(view["curve"]), V[:, j] / V[:, j].max(), atol=1e-5)
        shares = U[:, j] * V[:, j].sum() / (U @ V.T).sum(axis=1)
        drawn = (shares / shares.max()).reshape((3, 4), order="F")
        np.testing.assert_allclose(pixels(view["map"]), drawn, atol=SHADE)
        assert (view["map_mean"], view["map_top"]) == pytest.approx((shares.mean(), shares.max()))
        amounts = (U[:, j] / U[:, j].max()).reshape((3, 4), order="F")
        np.testing.assert_allclose(pixels(view["amounts"]), amounts, atol=SHADE)
        assert view["amounts_top"] == pytest.approx(U[:, j].max() * V[:, j].max())
        assert view["peak"] == pytest.approx(np.linspace(400, 900, 30)[np.argmax(V[:, j])])


def test_shares_of_a_sample_add_up_to_one_whatever_its_scale() -> None:
    U, H = RNG.random((12, 3)), RNG.random((3, 30))
    U[4] = 0.0
    shares = signal_shares(U, H)
    np.testing.assert_allclose(np.delete(shares, 4, axis=0).sum(axis=1), 1.0)
    assert not shares[4].any()
    scales = np.array([3.0, 1.0, 0.2])
    brighter = np.arange(1.0, 13.0)[:, None]
    np.testing.assert_allclose(signal_shares(brighter * U * scales, H / scales[:, None]), shares)


def test_words_and_where_they_are_strongest() -> None:
    V = np.array([[9.0, 1.0], [0.0, 8.0], [5.0, 5.0], [0.0, 0.0]])
    U = np.array([[1.0, 0.0], [3.0, 2.0], [2.0, 0.0]])
    presentation = choose_presentation(
        (3, 4), feature_names=["a", "b", "both", "none"], sample_names=["x", "y", "z"], n_top=3
    )
    first, second = view_components(Factors(U, V, True), presentation, V, FULL)
    assert [name for name, _ in first["by_weight"]] == ["a", "both"]
    assert [score for _, score in first["by_weight"]] == pytest.approx([1.0, 0.556])
    assert [name for name, _ in second["by_weight"]] == ["b", "both", "a"]
    assert [name for name, _ in second["by_specificity"]][:2] == ["b", "both"]
    assert (first["samples"], second["samples"]) == (["y", "z", "x"], ["y"])


def test_templates_in_decibels() -> None:
    V = np.array([[1.0, 0.1, 0.0, 1e-9]]).T
    presentation = choose_presentation((5, 4), kind="template", wavelengths=[100, 200, 300, 400])
    (view,) = view_components(Factors(np.arange(5.0)[:, None], V, True), presentation, V, FULL)
    np.testing.assert_allclose(heights(view["curve"]), [1.0, 2 / 3, 0.0, 0.0], atol=1e-4)
    np.testing.assert_allclose(heights(view["activity"]), np.arange(5) / 4, atol=1e-4)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_residuals_by_sample(low_rank: np.ndarray, storage: type, dtype: type) -> None:
    n, m = low_rank.shape
    U, V = RNG.random((n, 3)), RNG.random((m, 3))
    data = as_data(storage(low_rank.astype(dtype)))
    found = row_residuals(data, U, V, row_energies(data))
    np.testing.assert_allclose(found, ((low_rank - U @ V.T) ** 2).sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "kind"),
    [({}, "spectrum"), ({"feature_names": list("abcd")}, "words"), ({"image_shape": (2, 2)}, "image"),
     ({"wavelengths": range(4)}, "spectrum"), ({"map_shape": (3, 2)}, "spectrum"),
     ({"image_shape": (2, 2), "kind": "words"}, "words")],
)  # fmt: skip
def test_kind_follows_from_what_is_given(options: dict, kind: str) -> None:
    assert choose_presentation((6, 4), **options).kind == kind


@pytest.mark.parametrize(
    ("options", "message"),
    [({"image_shape": (3, 2)}, r"image_shape \(3, 2\) does not match the 4 features"),
     ({"map_shape": (2, 4)}, r"map_shape \(2, 4\) does not match the 6 samples"),
     ({"map_shape": (2, 2)}, r"matches the 4 columns of X, not its 6 rows: pass the transpose"),
     ({"kind": "image"}, "images need image_shape"), ({"kind": "movie"}, "unknown kind 'movie'"),
     ({"order": "A"}, "order must be"), ({"n_top": 0}, "n_top must be at least 1"),
     ({"wavelengths": [1, 2]}, "pass one value per feature"), ({"wavelengths": [1, 2, 3, np.nan]}, "finite"),
     ({"feature_names": ["a"]}, "4 names, one for each of the features; got 1"),
     ({"sample_names": "abcdef"}, "6 names, one for each of the samples; got one string")],
)  # fmt: skip
def test_what_does_not_fit_is_refused(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        choose_presentation((6, 4), **options)


def test_names_by_default_and_in_short() -> None:
    nameless = choose_presentation((5, 1), kind="words")
    assert (nameless.feature(0), nameless.sample(4)) == ("column 1", "row 5")
    long = choose_presentation((1, 1), feature_names=["x" * 1000]).feature(0)
    assert len(long) == 80
    assert long.endswith("…")


def test_materials_share_their_scales() -> None:
    """Spectra relative to the largest of all, abundances from 0 to 1."""
    E = np.array([[0.0, 1.0, 2.0], [4.0, 1.0, 0.0]])
    A = np.array([[0.5, 0.5], [0.25, 0.75], [0.6, 0.4], [0.1, 0.9]])
    about = choose_presentation((4, 3), map_shape=(2, 2))
    views = view_materials(Unmixing(E, A, 0.0), about)
    for view, spectrum, abundances in zip(views, E, A.T, strict=True):
        np.testing.assert_allclose(heights(view["curve"]), spectrum / 4.0, atol=1e-4)
        assert view["mean"] == pytest.approx(abundances.mean())
        np.testing.assert_allclose(pixels(view["map"]), abundances.reshape(2, 2), atol=SHADE)
    assert "map" not in view_materials(Unmixing(E, A, 0.0), choose_presentation((4, 3)))[0]
