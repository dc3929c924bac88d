"""Damaged files end in a message, never in a crash or in silence."""

from __future__ import annotations

import gzip
import io as streams
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import io, sparse

from autonmf.io import ReadError, checks, read_matrix

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


def write_h5ad(matrix: sparse.csr_matrix) -> bytes:
    """As AnnData does, but for attributes of variable length: HDF5 itself hangs on some damaged ones."""
    h5py = pytest.importorskip("h5py", reason="h5py writes and reads the file")
    stream = streams.BytesIO()
    with h5py.File(stream, "w") as content:
        group = content.create_group("X")
        group.attrs["encoding-type"] = np.bytes_("csr_matrix")
        group.attrs["shape"] = matrix.shape
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(matrix, name)
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
    "sparse-four.mat": lambda: saved(io.savemat, {"X": sparse.csc_matrix(X)}, format="4"),
    "seven.mat": lambda: write_hdf5(X.T),
    "x.h5ad": lambda: write_hdf5(X),
    "x.h5": lambda: write_hdf5(X),
    "sparse.h5ad": lambda: write_h5ad(sparse.csr_matrix(X)),
    "x.parquet": write_parquet,
    "x.mtx": lambda: saved(io.mmwrite, sparse.coo_matrix(X)),
    "x.mtx.gz": lambda: gzip.compress(saved(io.mmwrite, X)),
    "x.csv": lambda: TEXT.encode(),
    "x.csv.gz": lambda: gzip.compress(TEXT.encode()),
}
READABLE_IN_PART = ("x.csv", "x.mtx")
"""A cut inside the last number cannot be seen."""

ROOM = 50_000_000
"""Bytes of memory that readers may think there are."""


def outcome(file: Path) -> np.ndarray | None:
    """What is read, or None after an error that says what is wrong."""
    try:
        found = read_matrix(file).X
    except ReadError as caught:
        message = str(caught)
    else:
        assert found.ndim == 2
        assert found.dtype.kind in "biufc"
        return found.toarray() if sparse.issparse(found) and np.prod(found.shape) < 10**6 else found
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


WRONG = st.lists(
    st.tuples(
        st.floats(0, 1, exclude_max=True), st.sampled_from([0, 1, 127, 128, 255]) | st.integers(0, 255)
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.parametrize("name", MAKERS)
@settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)
@given(wrong=WRONG, end=st.none() | st.floats(0, 1), inserted=st.binary(max_size=8), place=st.floats(0, 1))
def test_wrong_bytes(
    tmp_path: Path,
    name: str,
    wrong: list[tuple[float, int]],
    end: float | None,
    inserted: bytes,
    place: float,
) -> None:
    """Bytes that are changed, put in or missing: a table or a message, and no more memory than there is."""
    damaged = bytearray(MAKERS[name]())
    for where, value in wrong:
        damaged[int(where * len(damaged))] = value
    at = int(place * len(damaged))
    damaged[at:at] = inserted
    if end is not None:
        del damaged[int(end * len(damaged)) :]
    file = tmp_path / name
    file.write_bytes(damaged)
    tracemalloc.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checks, "get_memory", lambda: ROOM)
            outcome(file)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * ROOM


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
    outcome(tmp_path / "x.csv")


CELL = st.one_of(
    st.floats(0, 1e6).map(repr),
    st.integers(0, 10**6).map(str),
    st.sampled_from(
        ["", "NA", "gene", "2020-01-01", '"a, b"', '"7"', "1,5", "1e3", "-1", "0x10", "1_0", "#"]
    ),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.lists(CELL, min_size=1, max_size=7), min_size=1, max_size=8),
    separator=st.sampled_from(",;\t| "),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252"]),
    zipped=st.booleans(),
)
def test_any_table(
    tmp_path: Path, rows: list[list[str]], separator: str, newline: str, encoding: str, zipped: bool
) -> None:
    """Ragged rows, names, dates, quotes, decimal commas, and every way to write text down."""
    content = newline.join(separator.join(cells) for cells in rows).encode(encoding)
    file = tmp_path / ("x.csv.gz" if zipped else "x.csv")
    file.write_bytes(gzip.compress(content) if zipped else content)
    outcome(file)


@pytest.mark.parametrize("version", [b"\x00\x00", b"\x02\x00", b"\x03\x00", b"\x09\x00"])
def test_npy_headers_of_any_length(tmp_path: Path, version: bytes) -> None:
    file = tmp_path / "x.npy"
    file.write_bytes(b"\x93NUMPY" + version + (800_000_000).to_bytes(4, "little") + bytes(100))
    tracemalloc.start()
    try:
        with pytest.raises(ReadError, match=r"version|800000000 bytes"):
            read_matrix(file)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_npy_of_version_two(tmp_path: Path) -> None:
    with (tmp_path / "x.npy").open("wb") as stream:
        np.lib.format.write_array(stream, X, version=(2, 0))
    np.testing.assert_array_equal(read_matrix(tmp_path / "x.npy").X, X)


def version_5(*elements: bytes) -> bytes:
    """A MATLAB file of these elements."""
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + b"".join(elements)


def element(kind: int, data: bytes) -> bytes:
    return np.array([kind, len(data)], "<u4").tobytes() + data


FLAGS = element(6, np.array([6, 0], "<u4").tobytes())  # a double matrix
SHAPE = element(5, np.array([2, 2], "<i4").tobytes())
NAME = element(1, b"X\0\0\0\0\0\0\0")
NUMBERS = element(9, np.ones(4).tobytes())
WRONG = {
    "shape": (element(14, FLAGS + element(5, np.array([2, -2], "<i4").tobytes()) + NAME), "its shape is"),
    "tag": (element(14, FLAGS + SHAPE + np.array([5 << 16 | 1, 0], "<u4").tobytes()), "too long for its tag"),
    "zipped": (element(15, zlib.compress(element(9, bytes(8)))), "compressed element holds no matrix"),
    "type": (
        element(14, FLAGS + SHAPE + NAME + element(77, bytes(32))),
        "type 77 where numbers are expected",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_elements_of_a_matlab_file(tmp_path: Path, what: str) -> None:
    content, message = WRONG[what]
    (tmp_path / "x.mat").write_bytes(version_5(element(14, FLAGS + SHAPE + NAME + NUMBERS)))
    np.testing.assert_array_equal(read_matrix(tmp_path / "x.mat").X, np.ones((2, 2)))
    (tmp_path / "x.mat").write_bytes(version_5(content))
    with pytest.raises(ReadError, match=rf"x\.mat.*{message}"):
        read_matrix(tmp_path / "x.mat", variable="X" if what == "type" else None)


def test_a_name_that_is_too_long() -> None:
    with pytest.raises(ReadError, match=r"cannot open .*: File name too long"):
        read_matrix(f"{'x' * 300}.csv")


def test_a_system_that_does_not_tell_its_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def sysconf(name: str) -> int:
        raise ValueError(name)

    monkeypatch.setattr("os.sysconf", sysconf)
    np.save(tmp_path / "x.npy", X)
    np.testing.assert_array_equal(read_matrix(tmp_path / "x.npy").X, X)
