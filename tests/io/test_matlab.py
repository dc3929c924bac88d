"""MATLAB's own files, as SciPy ships them with its tests: what we read is what SciPy reads."""

from __future__ import annotations

import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from scipy import sparse

from autonmf.io import ReadError, read_matrix

FOLDER = Path(scipy.io.__file__).parent / "matlab" / "tests" / "data"
FILES = sorted(FOLDER.glob("*.mat"))


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def by_scipy(file: Path) -> dict[str, np.ndarray]:
    """Real matrices by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: dense(X) for name, X in scipy.io.loadmat(file).items() if not name.startswith("__")}
    return {name: X for name, X in found.items() if X.ndim == 2 and X.dtype.kind in "biuf"}


@pytest.mark.skipif(not FILES, reason="SciPy is installed without its test data")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_same_as_scipy(file: Path) -> None:
    try:
        expected = by_scipy(file)
    except Exception:  # damaged on purpose, or of version 7.3
        with pytest.raises(ReadError):
            read_matrix(file, variable="nothing of that name")
        return
    for name, X in expected.items():
        found = read_matrix(file, variable=name)
        np.testing.assert_array_equal(dense(found.X), X)
        assert found.X.dtype.isnative


@pytest.mark.parametrize("version", ["4", "5"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csc_matrix])
def test_complex_numbers_are_refused(tmp_path: Path, version: str, kind) -> None:
    scipy.io.savemat(tmp_path / "x.mat", {"X": kind(np.array([[1j, 2], [3, 4]]))}, format=version)
    with pytest.raises(ReadError, match=r"no numeric matrix; it holds X \(2 x 2 complex"):
        read_matrix(tmp_path / "x.mat")


@pytest.mark.parametrize("dtype", ["f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"])
@pytest.mark.parametrize("compressed", [False, True])
def test_every_type(tmp_path: Path, dtype: str, compressed: bool) -> None:
    X = np.arange(12).reshape(3, 4).astype(dtype)
    scipy.io.savemat(tmp_path / "x.mat", {"X": X, "t": "text"}, do_compression=compressed)
    found = read_matrix(tmp_path / "x.mat").X
    np.testing.assert_array_equal(found, X)
    assert found.dtype == (np.uint8 if dtype == "?" else dtype)


def test_a_long_name(tmp_path: Path) -> None:
    scipy.io.savemat(tmp_path / "x.mat", {"n" * 63: np.eye(2)}, long_field_names=True)
    np.testing.assert_array_equal(read_matrix(tmp_path / "x.mat", variable="n" * 63).X, np.eye(2))


def test_a_negative_length_does_not_hang(tmp_path: Path) -> None:
    """SciPy would go back to the same variable for ever."""
    (tmp_path / "x.mat").write_bytes(struct.pack("<5i", 50, -22, 1, 0, 2) + b"a\0")
    with pytest.raises(ReadError, match="the header of a variable is not valid"):
        read_matrix(tmp_path / "x.mat")


@pytest.mark.parametrize("kind", [0, 8, 127, 255])
def test_an_unknown_type_does_not_crash(tmp_path: Path, kind: int) -> None:
    """SciPy would end the program."""
    file = tmp_path / "x.mat"
    scipy.io.savemat(file, {"X": np.eye(3)})
    content = bytearray(file.read_bytes())
    assert content[176] == 9  # the type of the numbers: double
    content[176] = kind
    file.write_bytes(content)
    with pytest.raises(ReadError, match=f"an element of type {kind} where numbers are expected"):
        read_matrix(file)
