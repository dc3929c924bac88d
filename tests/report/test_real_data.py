"""Reports on real data that their field would recognise."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from autonmf import AutoNMF
from autonmf.datasets import fetch_pbmc3k, fetch_samson, fetch_wos
from autonmf.report import write_report


@pytest.mark.slow
def test_samson_shows_three_spectra_and_three_maps(
    tmp_path: Path, real_home: Path, opened: Callable, stored: Callable
) -> None:
    """Soil, tree and water of the reference, one component each, as the browser draws them.

    Solutions for Samson whose losses differ by 0.1 % have other spectra of dark water: hence the starts.
    """
    data = fetch_samson(data_home=real_home, download=False)
    model = AutoNMF(n_starts=3, random_state=0).fit(data.X)
    file = write_report(
        model, tmp_path / "samson.html", X=data.X, map_shape=data.image_shape, order=data.image_order,
        wavelengths=data.bands, axis_label="band",
    )  # fmt: skip
    assert file.stat().st_size < 8_000_000
    found = stored(file)
    view = next(view for view in found["views"] if view["rank"] == found["rank"])
    curves = np.array(
        [np.frombuffer(b64decode(part["curve"]), "<u2") for part in view["components"]], dtype=float
    )
    cosines = np.array([[_cosine(curve, spectrum) for spectrum in data.V.T] for curve in curves])
    ours, theirs = linear_sum_assignment(-cosines)
    assert len(curves) == 3
    assert cosines[ours, theirs].min() > 0.9
    page = opened(file)
    assert page.page.locator("#cards svg:visible").count() == 3
    drawn = page.page.evaluate(
        """() => Promise.all([...document.querySelectorAll("#cards img")].map(async (image) => {
            await image.decode();
            const canvas = document.createElement("canvas");
            canvas.width = image.naturalWidth;
            canvas.height = image.naturalHeight;
            const context = canvas.getContext("2d");
            context.drawImage(image, 0, 0);
            const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
            return [...data].filter((_, index) => index % 4 === 0);
        }))"""
    )
    assert [len(pixels) for pixels in drawn] == [95 * 95] * 3
    for our, their in zip(ours, theirs, strict=True):
        truth = data.image(data.U[:, their]).ravel()
        assert np.corrcoef(drawn[our], truth)[0, 1] > 0.75
    assert page.problems == []


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_web_of_science_shows_topic_words(tmp_path: Path, real_home: Path, stored: Callable) -> None:
    """The words of a topic are far more frequent in the abstracts where it is strongest."""
    data = fetch_wos(data_home=real_home, download=False)
    model = AutoNMF(random_state=0).fit(data.X)
    found = stored(write_report(model, tmp_path / "wos.html", X=data.X, feature_names=data.feature_names))
    view = next(view for view in found["views"] if view["rank"] == found["rank"])
    counts = np.asarray(data.X.sum(axis=0)).ravel()
    lift = []
    for part, weights in zip(view["components"], model.transform(data.X).T, strict=True):
        top = np.argsort(-weights)[:50]
        words = [data.feature_names.index(name) for name, _ in part["by_specificity"]]
        inside = np.asarray(data.X[top][:, words].sum()) / len(top)
        lift.append(inside / (counts[words].sum() / data.X.shape[0]))
    assert len(lift) == found["rank"]
    assert min(lift) > 3.0


def test_pbmc3k_shows_marker_genes(tmp_path: Path, real_home: Path, stored: Callable) -> None:
    """Markers of Seurat's tutorial (Satija Lab, PBMC3K) lead components of their own."""
    data = fetch_pbmc3k(normalize=True, data_home=real_home, download=False)
    model = AutoNMF(random_state=0, max_rank=20).fit(data.X)
    found = stored(write_report(model, tmp_path / "cells.html", X=data.X, feature_names=data.feature_names))
    view = next(view for view in found["views"] if view["rank"] == found["rank"])
    lists = [{name for name, _ in part["by_specificity"]} for part in view["components"]]
    markers = {"B": {"CD79A", "MS4A1"}, "NK": {"GNLY", "NKG7"}, "CD14+ monocyte": {"S100A8", "LYZ"}}
    where = {cell: [i for i, names in enumerate(lists) if genes <= names] for cell, genes in markers.items()}
    assert all(len(indices) == 1 for indices in where.values()), where
    assert len({indices[0] for indices in where.values()}) == len(markers)
