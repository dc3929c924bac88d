"""Labelled arrays: as input of the estimator, and `autonmf.adapters.xarray.nmf`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from autonmf import AutoNMF
from autonmf.adapters.xarray import nmf

xarray = pytest.importorskip("xarray", reason="xarray is not installed")


@pytest.fixture
def scene(cube: np.ndarray) -> Any:
    """y, x and band, with coordinates of every kind."""
    return xarray.DataArray(
        cube,
        dims=("y", "x", "band"),
        coords={
            "y": np.arange(6) * 30.0,
            "wavelength": ("band", np.linspace(400, 800, 40)),
            "latitude": (("y", "x"), np.arange(60.0).reshape(6, 10)),
            "gain": (("x", "band"), np.ones((10, 40))),
            "time": 7,
        },
    )


def test_an_array_with_labels_is_an_array(low_rank: np.ndarray, plain: tuple[np.ndarray, AutoNMF]) -> None:
    data = xarray.DataArray(low_rank, dims=("pixel", "band"))
    model = AutoNMF(random_state=0)
    assert_array_equal(model.fit_transform(data), plain[0])
    assert_array_equal(model.transform(data), plain[0])


def test_factors_of_a_cube(scene: Any, plain: tuple[np.ndarray, AutoNMF]) -> None:
    W, model = plain
    found = nmf(scene, features="band")
    assert found.activations.dims == ("y", "x", "component")
    assert found.components.dims == ("component", "band")
    assert_array_equal(found.activations, W.reshape(6, 10, 3))
    assert_array_equal(found.components, model.components_)
    assert_array_equal(found.explained_variance, model.explained_variance_)
    assert_array_equal(found["rank"], model.path_.ranks)
    assert_array_equal(found.relative_loss, model.path_.relative_losses)
    assert found.attrs["n_components"] == 3
    assert found.attrs["why"] == model.rank_estimate_.why
    rebuilt = found.activations.dot(found.components, dim="component")
    assert_allclose(rebuilt.transpose("y", "x", "band"), (W @ model.components_).reshape(6, 10, 40))


def test_coordinates_stay_with_their_dimensions(scene: Any) -> None:
    found = nmf(scene, features="band")
    assert_array_equal(found.activations.latitude, scene.latitude)
    assert set(found.activations.coords) == {"y", "latitude", "time", "component"}
    assert set(found.components.coords) == {"wavelength", "time", "component"}
    assert_array_equal(found.components.wavelength, scene.wavelength)
    assert "gain" not in found.coords, "it belongs to x and band together"


def test_order_of_the_dimensions_does_not_matter(scene: Any) -> None:
    turned = nmf(scene.transpose("band", "x", "y"), features="band")
    assert turned.activations.dims == ("x", "y", "component")
    assert turned.sizes["component"] == 3
    assert_allclose(
        np.linalg.norm(scene - turned.activations.dot(turned.components, dim="component")),
        np.linalg.norm(scene - nmf(scene).activations.dot(nmf(scene).components, dim="component")),
        rtol=1e-2,
    )


def test_samples_of_several_dimensions(scene: Any, cube: np.ndarray) -> None:
    found = nmf(scene, AutoNMF(2, random_state=0), features=["x", "band"])
    assert found.components.dims == ("component", "x", "band")
    assert found.activations.dims == ("y", "component")
    assert "gain" in found.components.coords
    assert_array_equal(
        found.components, AutoNMF(2, random_state=0).fit(cube.reshape(6, 400)).components_.reshape(2, 10, 40)
    )
    assert "why" not in found.attrs, "nothing was chosen"


def test_the_model_can_be_asked_afterwards(scene: Any) -> None:
    model = AutoNMF(max_rank=6, random_state=1).set_output(transform="pandas")
    found = nmf(scene, model)
    assert model.n_components_ == found.sizes["component"]
    assert found.sizes["rank"] == 6


def test_a_stacked_index_is_kept(scene: Any) -> None:
    stacked = scene.drop_vars("gain").stack(pixel=("y", "x")).transpose("pixel", "band")
    found = nmf(stacked)
    maps = found.activations.unstack("pixel")
    assert_allclose(maps.transpose("y", "x", "component"), nmf(scene).activations)


def test_pixels_that_are_missing(scene: Any) -> None:
    """A pixel over the edge of the scene has no part in the fit and no activation."""
    holes = scene.copy()
    holes[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        nmf(holes)
    found = nmf(holes, AutoNMF(missing="mask", random_state=0))
    assert found.sizes["component"] == 3
    assert not found.activations[0, 0].any()


def test_the_result_can_be_written(scene: Any, tmp_path: Path) -> None:
    found = nmf(scene)
    found.to_netcdf(tmp_path / "factors.nc", engine="scipy")
    with xarray.open_dataset(tmp_path / "factors.nc", engine="scipy") as back:
        xarray.testing.assert_allclose(back, found)
        assert back.attrs["why"] == found.attrs["why"]


@pytest.mark.parametrize(
    ("change", "features", "message"),
    [
        (lambda a: a, "wave", "no dimension 'wave'; its dimensions"),
        (lambda a: a, ["y", "x", "band"], "leaves none for samples"),
        (lambda a: a, [], "leaves none for features"),
        (lambda a: a[0, 0], None, "at least two dimensions"),
        (lambda a: a.drop_vars("gain").rename(x="rank"), "band", "already has 'rank'"),
        (lambda a: a.assign_coords(component=1), "band", "already has 'component'"),
    ],
)
def test_mistakes_are_explained(scene: Any, change: Any, features: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nmf(change(scene), features=features)


def test_chunks_are_not_loaded_without_a_word(scene: Any) -> None:
    pytest.importorskip("dask", reason="dask is not installed")
    with pytest.raises(ValueError, match=r"is chunked.*pass data.load\(\)"):
        nmf(scene.chunk(y=2))


def test_an_array_without_labels_is_refused() -> None:
    with pytest.raises(TypeError, match="nmf needs a DataArray, got ndarray"):
        nmf(np.ones((3, 3)))
