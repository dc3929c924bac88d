"""The page about X in a file or on a cluster says what the page about X in memory says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from autonmf import AutoNMF
from autonmf.data import Scaled, Streamed, streamed
from autonmf.distributed import as_data
from autonmf.report import health, write_report
from autonmf.report.health import Statistics, compute_statistics

Read = Callable[[Path], dict[str, Any]]


@pytest.fixture
def counts(low_rank: np.ndarray) -> np.ndarray:
    """Counts with zeros, an empty row, an empty column and two repeated rows."""
    X = np.round(20.0 * low_rank / low_rank.max())
    X[7], X[:, 3] = 0.0, 0.0
    X[[20, 50]] = X[[1, 2]]
    return X


@pytest.fixture(params=["hdf5", "zarr", "integers", "floats", "backed", "backed-columns"])
def kept(request: pytest.FixtureRequest, tmp_path: Path, counts: np.ndarray, in_file: Callable) -> Any:
    return in_file(request.param, tmp_path, counts)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the matrix were large: several blocks, and too large to load."""
    monkeypatch.setattr(streamed, "SMALL", 0)
    monkeypatch.setattr(Streamed, "block_entries", 13 * 40)


@pytest.fixture
def model(counts: np.ndarray) -> AutoNMF:
    return AutoNMF(max_rank=5, random_state=0).fit(counts)


def alike(found: Statistics, inside: Statistics) -> None:
    """But for how X is stored, and for repeated rows."""
    known = {field.name for field in fields(Statistics)} | {"zeros", "median", "zero_rows", "zero_columns"}
    for name in known - {"dtype", "sparse", "repeated_rows", "sample"}:
        assert_allclose(getattr(found, name), getattr(inside, name), rtol=1e-12, err_msg=name)


def test_the_survey_of_a_file_is_that_of_the_matrix(kept: Any, counts: np.ndarray) -> None:
    data = as_data(kept)
    found = compute_statistics(data)
    alike(found, compute_statistics(as_data(counts)))
    assert found.sparse == hasattr(kept, "format")
    assert found.repeated_rows == (None if isinstance(data, Scaled) else 2)


def test_only_a_float_map_is_not_read_in_blocks(kept: Any) -> None:
    floats = isinstance(kept, np.memmap) and kept.dtype == np.float64
    assert isinstance(as_data(kept), Streamed | Scaled) != floats


def test_the_page_about_a_file(
    kept: Any, counts: np.ndarray, model: AutoNMF, tmp_path: Path, stored: Read
) -> None:
    page = stored(write_report(model, tmp_path / "file.html", X=kept))
    inside = stored(write_report(model, tmp_path / "memory.html", X=counts))
    facts, expected = (one["health"]["facts"] for one in (page, inside))
    assert facts["Shape"] == "60 samples × 40 features"
    assert facts["Repeated rows"] in ("2", "not searched for")
    for name in ("Zeros", "Values", "Median of positive entries", "Zero rows, zero columns"):
        assert facts[name] == expected[name]
    assert_allclose(
        page["views"][2]["samples"]["quantiles"], inside["views"][2]["samples"]["quantiles"], atol=1e-3
    )


def test_a_fit_to_a_file_reports_on_it(kept: Any, tmp_path: Path, stored: Read) -> None:
    model = AutoNMF(max_rank=4, random_state=0).fit(kept)
    page = stored(model.report(tmp_path / "file.html", kept))
    assert any("are counts" in finding["text"] for finding in page["health"]["findings"])


def test_parts_put_together_are_the_whole(counts: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = health.count_entries(as_data(counts))
    monkeypatch.setattr(health, "SAMPLE_SIZE", 300)
    parts = health.count_entries(as_data(counts))
    for name in ("nonzero", "smallest", "largest", "at_largest", "integers", "sparse"):
        assert parts[name] == whole[name]
    assert_array_equal(np.sort(whole["sample"]), np.sort(counts[counts > 0]))
    assert len(parts["sample"]) <= 2 * 300
    low, high = np.quantile(whole["sample"], (0.4, 0.6))
    assert low <= np.median(parts["sample"]) <= high


@pytest.mark.slow
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_the_page_about_a_dask_array(
    storage: Callable[..., Any], counts: np.ndarray, tmp_path: Path, stored: Read
) -> None:
    distributed = pytest.importorskip("distributed", reason="dask and distributed are not installed")
    import dask.array as da

    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as workers,
        workers.get_client(),
    ):
        X = da.from_array(counts, chunks=(17, -1)).map_blocks(storage, dtype=counts.dtype)
        model = AutoNMF(max_rank=4, random_state=0).fit(X)
        found = compute_statistics(as_data(X))
        page = stored(model.report(tmp_path / "dask.html", X))
    alike(found, compute_statistics(as_data(counts)))
    assert found.sparse == (storage is not np.asarray)
    facts = page["health"]["facts"]
    empty = [int(np.count_nonzero(~counts.any(axis=axis))) for axis in (1, 0)]
    assert facts["Zero rows, zero columns"] == f"{empty[0]}, {empty[1]}"
    assert facts["Repeated rows"] == "2"
    assert page["views"][0]["samples"]


@pytest.mark.slow
def test_a_cluster_of_our_own_is_closed(counts: np.ndarray, model: AutoNMF, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="dask and distributed are not installed")
    import dask.array as da

    X = da.from_array(counts, chunks=(30, -1))
    write_report(model, tmp_path / "dask.html", X=X)
    with pytest.raises(ValueError, match="No clients found"):
        distributed.default_client()
    with pytest.raises(ValueError, match="not what the model was fitted to"):
        write_report(model, tmp_path / "dask.html", X=2.0 * X)
    with pytest.raises(ValueError, match="No clients found"):
        distributed.default_client()
