"""Damaged files end in a message, never in a crash or in silence."""

from __future__ import annotations

import gzip
import io as streams
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import io, sparse

from autonmf.readers import ReadError, read_matrix

X = np.round(np.random.default_rng(0).random((12, 7)), 3) * (np.arange(7) % 3 > 0)
TEXT = "\n".join(
    ["id," + ",".join("abcdefg"), *(f"r{i}," + ",".join(map(str, row)) for i, row in enumerate(X))]
)


def saved(write: Callable[..., None], *content: object, **options: object) -> bytes:
    stream = streams.BytesIO()
    write(stream, *content, **options)
    return stream.getvalue()


def write_parquet() -> bytes:
    pandas = pytest.importorskip("pandas", reason="pandas writes the file")
    pytest.importorskip("pyarrow", reason="pyarrow reads the file")
    return bytes(pandas.DataFrame(X, columns=list("abcdefg")).to_parquet())


def write_hdf5(array: np.ndarray) -> bytes:
    h5py = pytest.importorskip("h5py", reason="h5py writes and reads the file")
    stream = streams.BytesIO()
    with h5py.File(stream, "w") as content:
        content.create_dataset("X", data=array)
    return stream.getvalue()


MAKERS: dict[str, Callable[[], bytes]] = {
    "x.npy": lambda: saved(np.save, X),
    "x.npz": lambda: saved(np.savez, X=X),
    "compressed.npz": lambda: saved(np.savez_compressed, X=X),
    "sparse.npz": lambda: saved(sparse.save_npz, sparse.csr_matrix(X)),
    "x.mat": lambda: saved(io.savemat, {"X": X}),
    "compressed.mat": lambda: saved(io.savemat, {"X": X}, do_compression=True),
    "four.mat": lambda: saved(io.savemat, {"X": X}, format="4"),
    "sparse.mat": lambda: saved(io.savemat, {"X": sparse.csc_matrix(X)}),
    "seven.mat": lambda: write_hdf5(X.T),
    "x.h5ad": lambda: write_hdf5(X),
    "x.parquet": write_parquet,
    "x.mtx": lambda: saved(io.mmwrite, sparse.coo_matrix(X)),
    "x.mtx.gz": lambda: gzip.compress(saved(io.mmwrite, X)),
    "x.csv": lambda: TEXT.encode(),
    "x.csv.gz": lambda: gzip.compress(TEXT.encode()),
}
READABLE_IN_PART = ("x.csv", "x.mtx")
"""A cut inside the last number cannot be seen."""

UNCHECKED = ("x.mat", "four.mat", "sparse.mat")
"""SciPy ends the program at some wrong bytes in these, which carry no checksum."""


def outcome(file: Path) -> np.ndarray | None:
    """What is read, or None after an error that says what is wrong."""
    try:
        found = read_matrix(file).X
    except ReadError as caught:
        message = str(caught)
    except MemoryError:  # wrong bytes in a shape
        return None
    else:
        return found.toarray() if sparse.issparse(found) else found
    assert file.name in message
    assert "\n" not in message
    return None


@pytest.mark.parametrize("name", MAKERS)
def test_truncated(tmp_path: Path, name: str) -> None:
    content, file = MAKERS[name](), tmp_path / name
    file.write_bytes(content)
    np.testing.assert_array_equal(outcome(file), X)
    ends = {2, 5, 9, 17, 64, 129, len(content) - 1, *range(1, len(content), len(content) // 23)}
    for end in sorted(ends):
        file.write_bytes(content[:end])
        found = outcome(file)
        assert found is None or name in READABLE_IN_PART or np.array_equal(found, X), f"cut at {end}"


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in UNCHECKED])
def test_wrong_bytes(tmp_path: Path, name: str) -> None:
    content, file = MAKERS[name](), tmp_path / name
    rng = np.random.default_rng(1)
    for _ in range(60):
        damaged = bytearray(content)
        for place in rng.integers(len(content), size=3):
            damaged[place] = rng.integers(256)
        file.write_bytes(damaged)
        outcome(file)


@pytest.mark.parametrize("name", MAKERS)
def test_foreign(tmp_path: Path, name: str) -> None:
    for content in (
        b"\x00" * 600,
        b"PK\x03\x04 not really a zip",
        b"<html>Not found</html>",
        b"\x1f\x8b\x08\x00",
    ):
        (tmp_path / name).write_bytes(content)
        assert outcome(tmp_path / name) is None


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.text(st.sampled_from('0123456789.,;\t|-e#"\r\n a_é'), min_size=1, max_size=60))
def test_any_text(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.csv").write_text(content, encoding="utf-8", newline="")
    found = outcome(tmp_path / "x.csv")
    assert found is None or found.ndim == 2
