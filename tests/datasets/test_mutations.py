"""Catalogues of mutations from small files of the layout of the data home."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from autonmf.datasets import DataUnavailableError, fetch_signatures
from autonmf.io import ReadError

TUMOURS = ("SP.Syn.Breast-AdenoCA::S.1", "SP.Syn.Breast-AdenoCA::MSI-H.S.2", "SP.Syn.Kidney-RCC::S.1")


def write_catalogue(file: Path, **other: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Five types x three tumours of two signatures; the counts, signatures and exposures as stored."""
    rng = np.random.default_rng(0)
    signatures, exposures = rng.dirichlet(np.ones(5), 2).T, rng.integers(50, 900, (2, 3)).astype(float)
    X = rng.poisson(signatures @ exposures).astype(float)
    stored = {
        "X": X, "signatures": signatures, "exposures": exposures, "samples": np.array(TUMOURS),
        "types": np.array(list("abcde")), "signature_names": np.array(["SBS1", "SBS2"]),
    }  # fmt: skip
    np.savez(file, **{name: array for name, array in {**stored, **other}.items() if array is not None})
    return X, signatures, exposures


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tumours_in_rows(tmp_path: Path, dtype: type) -> None:
    X, signatures, exposures = write_catalogue(tmp_path / "signatures_sbs_realistic.npz")
    data = fetch_signatures(data_home=tmp_path, dtype=dtype)
    assert data.X.dtype == data.U.dtype == data.V.dtype == dtype
    assert_array_equal(data.X, X.T)
    assert_allclose(data.U, exposures.T, rtol=1e-6)
    assert_allclose(data.V, signatures, rtol=1e-6)
    assert data.rank == 2
    assert data.component_names == ("SBS1", "SBS2")
    assert data.feature_names == tuple("abcde")
    assert data.label_names == ("Breast-AdenoCA", "Kidney-RCC")
    assert_array_equal(data.labels, [0, 0, 1])
    assert data.name == "signatures_sbs_realistic"


def test_kinds_and_noises_are_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, *_ = write_catalogue(tmp_path / "signatures_indel_moderate.npz", samples=None, types=None)
    monkeypatch.setenv("AUTONMF_DATA", str(tmp_path))
    data = fetch_signatures(kind="indel", noise="moderate")
    assert_array_equal(data.X, X.T)
    assert (data.rank, data.labels, data.label_names, data.feature_names) == (2, None, (), ())
    with pytest.raises(ValueError, match="kind must be 'sbs' or 'indel', got 'dbs'"):
        fetch_signatures(kind="dbs")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="noise must be 'noiseless', 'moderate' or 'realistic', got 'none'"):
        fetch_signatures(noise="none")  # type: ignore[arg-type]


def test_absent_and_other_files(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailableError) as refused:
        fetch_signatures(data_home=tmp_path)
    for words in ("no signatures_sbs_realistic.npz", str(tmp_path), "mSigHdp_sup_files", "docs/data.md"):
        assert words in str(refused.value)
    file = tmp_path / "signatures_sbs_realistic.npz"
    write_catalogue(file, exposures=None)
    with pytest.raises(ReadError, match="is not a catalogue of mutations: it holds no exposures"):
        fetch_signatures(data_home=tmp_path)
    write_catalogue(file, exposures=np.ones((2, 4)))
    with pytest.raises(ReadError, match=r"5 types x 3 tumours, .*exposures of shape \(2, 4\)"):
        fetch_signatures(data_home=tmp_path)


@pytest.mark.parametrize(("kind", "shape", "rank"), [("sbs", (540, 96), 23), ("indel", (1119, 83), 11)])
@pytest.mark.parametrize("noise", ["noiseless", "moderate", "realistic"])
def test_real_files(real_home: Path, kind: str, noise: str, shape: tuple, rank: int) -> None:
    """Without noise the counts are the rounded means; noise leaves their sums about the same."""
    if not (real_home / f"signatures_{kind}_{noise}.npz").is_file():
        pytest.skip(f"no signatures_{kind}_{noise}.npz in {real_home}: set AUTONMF_DATA")
    data = fetch_signatures(kind=kind, noise=noise, data_home=real_home)
    assert (data.X.shape, data.rank, data.V.shape[1]) == (shape, rank, rank)
    assert_allclose(data.V.sum(axis=0), 1.0, rtol=1e-6)
    assert_array_equal(data.X, np.rint(data.X))
    means = data.U @ data.V.T
    if noise == "noiseless":
        assert np.abs(data.X - means).max() <= 0.5
    assert_allclose(data.X.sum(axis=0), means.sum(axis=0), rtol=0.2, atol=200)
    assert len(data.label_names) == 9
