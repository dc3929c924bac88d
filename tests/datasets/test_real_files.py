"""The loaders on the files of the benchmark data, where they are present."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from autonmf.datasets import (
    Dataset,
    fetch_bbc,
    fetch_jasper_ridge,
    fetch_leukemia,
    fetch_olivetti,
    fetch_pbmc3k,
    fetch_samson,
    fetch_swimmer,
    fetch_wos,
    load_swimmer,
)
from experiments.rank_benchmark import real

Load = Callable[..., Dataset]

SHAPES = {
    "samson.npz": (fetch_samson, (9025, 156), 3),
    "jasper_ridge.npz": (fetch_jasper_ridge, (10_000, 198), 4),
    "swimmer_noisy.npz": (fetch_swimmer, (256, 1024), 16),
    "olivetti_faces.npz": (fetch_olivetti, (400, 4096), None),
    "pbmc3k.npz": (fetch_pbmc3k, (2700, 13_714), 9),
    "leukemia.npz": (fetch_leukemia, (38, 5000), 3),
    "bbc_news.npz": (fetch_bbc, (2225, 9635), 5),
    "wos_sample1000.tsv.gz": (fetch_wos, (1000, None), 7),
}


@pytest.fixture
def fetched(real_home: Path) -> Callable[..., Dataset]:
    def load(fetch: Load, **options: object) -> Dataset:
        file = next(file for file, (other, *_) in SHAPES.items() if other is fetch)
        if not (real_home / file).is_file():
            pytest.skip(f"no {file} in {real_home}: set AUTONMF_DATA to the folder of the benchmark data")
        return fetch(data_home=real_home, download=False, **options)

    return load


@pytest.mark.parametrize(("fetch", "shape", "rank"), SHAPES.values(), ids=SHAPES)
def test_samples_in_rows(fetch: Load, shape: tuple, rank: int | None, fetched) -> None:
    data = fetched(fetch)
    n, m = data.X.shape
    assert (n, shape[1] and m) == shape
    assert data.rank == rank
    assert data.X.dtype == np.float64
    assert data.X.min() >= 0
    assert data.X.max() > 0
    if data.labels is not None:
        assert data.labels.shape == (n,)
    if data.label_names:
        assert len(data.label_names) == rank == len(np.unique(data.labels[data.labels >= 0]))
    assert len(data.feature_names) in (0, m)
    assert data.preprocessing.endswith(".")
    assert data.source
    assert data.licence
    half = fetched(fetch, dtype=np.float32).X
    assert half.dtype == np.float32
    assert_allclose(half.sum(dtype=np.float64), data.X.sum(), rtol=1e-5)


@pytest.mark.parametrize(("fetch", "error"), [(fetch_samson, 0.1), (fetch_jasper_ridge, 0.17)])
def test_truth_explains_the_scene(fetch: Load, error: float, fetched) -> None:
    """Abundances and endmembers face X: their product misses it by little, in any other order by more."""
    data = fetched(fetch)
    n, m = data.X.shape
    assert (data.U.shape, data.V.shape) == ((n, data.rank), (m, data.rank))
    assert len(data.component_names) == data.rank
    assert data.X.max() == 1.0
    norm = np.linalg.norm(data.X)
    assert np.linalg.norm(data.X - data.U @ data.V.T) < error * norm
    assert np.linalg.norm(data.X - data.U[::-1] @ data.V.T) > 2 * error * norm
    assert_allclose(data.U.sum(axis=1), 1.0, atol=1e-5)


def test_vegetation_is_where_the_names_say(fetched) -> None:
    """Leaves absorb red light and reflect the near infrared; water reflects none of it."""
    for fetch, red, infrared in ((fetch_samson, 80, 120), (fetch_jasper_ridge, 28, 45)):
        data = fetched(fetch)
        spectra = dict(zip(data.component_names, data.V.T, strict=True))
        assert max(spectra, key=lambda name: spectra[name][infrared] / spectra[name][red]) == "tree"
        assert min(spectra, key=lambda name: spectra[name][infrared]) == "water"


def test_cells_express_the_markers_of_their_type(fetched) -> None:
    data = fetched(fetch_pbmc3k, normalize=True)
    markers = {"MS4A1": "B", "GNLY": "NK", "LYZ": "CD14+ Mono", "PPBP": "Platelet", "FCER1A": "DC"}
    for gene, expected in markers.items():
        column = data.X[:, [data.feature_names.index(gene)]].toarray().ravel()
        means = {name: column[data.labels == code].mean() for code, name in enumerate(data.label_names)}
        assert max(means, key=means.__getitem__) == expected
    counts = fetched(fetch_pbmc3k).X
    assert_array_equal(counts.data, np.rint(counts.data))
    assert counts.getnnz(axis=0).min() >= 3
    assert_allclose(np.expm1(data.X.data).sum(), 2700 * 1e4, rtol=1e-10)


def test_noisy_swimmer_is_swimmer_with_noise(fetched) -> None:
    noisy, clean = fetched(fetch_swimmer).X, load_swimmer()
    assert_allclose([noisy[clean == 0].mean(), noisy[clean == 1].mean()], [1, 11], rtol=0.02)


def test_faces_are_upright(fetched) -> None:
    """A face is alike left and right, not top and bottom; and one person's faces are alike."""
    data = fetched(fetch_olivetti)
    mean = data.image(data.X.mean(axis=0))
    assert abs(mean - mean[:, ::-1]).mean() < 0.5 * abs(mean - mean[::-1]).mean()
    centred = data.X - data.X.mean(axis=0)
    distances = ((centred[:, None, ::37] - centred[None, :, ::37]) ** 2).mean(axis=2)
    same = data.labels[:, None] == data.labels
    assert distances[same].mean() < 0.6 * distances[~same].mean()


def test_classes(fetched) -> None:
    assert_array_equal(np.bincount(fetched(fetch_leukemia).labels), [19, 8, 11])
    assert_array_equal(np.bincount(fetched(fetch_bbc).labels), [510, 386, 417, 511, 401])
    wos = fetched(fetch_wos)
    counted = dict(zip(wos.label_names, np.bincount(wos.labels), strict=True))
    assert counted["Medical"] == 300
    assert sum(counted.values()) == 1000
    norms = np.sqrt(wos.X.multiply(wos.X).sum(axis=1))
    assert_allclose(norms, 1.0, rtol=1e-12)


def test_benchmark_has_the_published_orientation(real_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTONMF_DATA", str(real_home))
    for name, load in {"samson": real.samson, "jasper_ridge": real.jasper, "leukemia": real.leukemia}.items():
        file = real_home / f"{name}.npz"
        if not file.is_file():
            pytest.skip(f"no {file.name} in {real_home}")
        with np.load(file) as stored:
            X = stored["X"].astype(np.float64)
        assert_array_equal(load(file.name), X / X.max())
