"""Matrices from streams, files with the wrong name, and files that announce more than there is room for."""

from __future__ import annotations

import gzip
import io
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import io as matlab
from scipy import sparse

from autonmf.io import ReadError, checks, read_matrix, text

X = np.round(np.random.default_rng(0).random((5, 3)), 3)
CSV = "\n".join(["a,b,c", *(",".join(map(str, row)) for row in X)]).encode()


def saved(write, *content: object, **options: object) -> bytes:
    stream = io.BytesIO()
    write(stream, *content, **options)
    return stream.getvalue()


STREAMS = {
    "csv": CSV,
    "tsv": CSV.replace(b",", b"\t"),
    "gz": gzip.compress(CSV),
    "npy": saved(np.save, X),
    "npz": saved(np.savez, X),
    "mtx": saved(matlab.mmwrite, sparse.coo_matrix(X)),
    "mat": saved(matlab.savemat, {"X": X}),
}


@pytest.mark.parametrize("kind", STREAMS)
def test_the_first_bytes_tell_the_kind(kind: str) -> None:
    found = read_matrix(io.BytesIO(STREAMS[kind])).X
    np.testing.assert_array_equal(found.toarray() if sparse.issparse(found) else found, X)


def test_options_reach_the_reader() -> None:
    two = saved(np.savez, A=X, B=2 * X)
    np.testing.assert_array_equal(read_matrix(io.BytesIO(two), variable="B").X, 2 * X)
    assert read_matrix(io.BytesIO(b"1,2\n3,4\n"), header=True).column_names == ["1", "2"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "standard input is empty"),
        (b"1,2\n3\n4,5\n", "standard input, line 2: 1 cells where 2"),
        (STREAMS["npy"][:-1], "standard input is truncated: it declares 120 bytes and holds 119"),
        (gzip.compress(CSV)[:-9], "standard input is truncated"),
    ],
    ids=["nothing", "ragged", "npy", "gz"],
)
def test_errors_name_the_stream(content: bytes, message: str) -> None:
    with pytest.raises(ReadError, match=message):
        read_matrix(io.BytesIO(content))


@pytest.mark.parametrize("kind", ["gz", "npy", "npz", "mtx", "mat"])
def test_a_wrong_name_is_pointed_out(tmp_path: Path, kind: str) -> None:
    for extension in (".csv", ".npy" if kind != "npy" else ".npz"):
        file = tmp_path / f"x{extension}"
        file.write_bytes(STREAMS[kind])
        with pytest.raises(ReadError, match=rf"rename it to end in \.{kind}"):
            read_matrix(file)


@pytest.mark.parametrize("name", ["PAR1", "MATLAB release", "PK"])
def test_names_of_columns_are_no_magic(tmp_path: Path, name: str) -> None:
    (tmp_path / "x.csv").write_text(f"{name},b\n1,2\n3,4\n")
    assert read_matrix(tmp_path / "x.csv").column_names == [name, "b"]


def npy_header(shape: tuple[int, ...], dtype: str = "<f8") -> bytes:
    text = repr({"descr": dtype, "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def zip_bomb() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", npy_header((2_000_000, 1)) + bytes(16_000_000))
    return stream.getvalue()


def hdf5(shape: tuple[int, int]) -> bytes:
    h5py = pytest.importorskip("h5py", reason="h5py writes and reads the file")
    stream = io.BytesIO()
    with h5py.File(stream, "w") as content:
        content.create_dataset("X", shape=shape, dtype="f8", chunks=(100, 100))  # nothing is written
    return stream.getvalue()


def parquet() -> bytes:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow writes and reads the file")
    from pyarrow import parquet

    stream = io.BytesIO()
    parquet.write_table(arrow.table({"a": np.zeros(2_000_000)}), stream)
    return stream.getvalue()


def coordinates(rows: int) -> bytes:
    return f"%%MatrixMarket matrix coordinate real general\n{rows} 3 1\n1 1 1\n".encode()


def sparse_npz() -> bytes:
    huge = sparse.coo_matrix((np.ones(1), ([0], [0])), shape=(2_000_000, 3))
    return saved(sparse.save_npz, huge)


BOMBS = {
    "x.npz": zip_bomb,
    "sparse.npz": sparse_npz,
    "x.mtx": lambda: coordinates(10**15),
    "dense.mtx": lambda: b"%%MatrixMarket matrix array real symmetric\n1000000 1000000\n1\n",
    "x.mtx.gz": lambda: gzip.compress(coordinates(10**15)),
    "x.mat": lambda: saved(matlab.savemat, {"X": np.zeros((2_000_000, 1))}, do_compression=True),
    "x.h5ad": lambda: hdf5((10**6, 10**6)),
    "x.h5": lambda: hdf5((10**6, 10**6)),
    "seven.mat": lambda: hdf5((10**6, 10**6)),
    "x.parquet": parquet,
    "x.csv.gz": lambda: gzip.compress(b"0,0,0,0,0,0,0,0,0,0\n" * 200_000),
}
"""Small files that hold, or announce, at least 16 MB of numbers."""


@pytest.mark.parametrize("name", BOMBS)
def test_there_has_to_be_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / name).write_bytes(BOMBS[name]())
    assert (tmp_path / name).stat().st_size < 100_000
    monkeypatch.setattr(checks, "get_memory", lambda: 8_000_000)
    with pytest.raises(ReadError, match=r"this computer has 8 MB of memory|declares") as caught:
        read_matrix(tmp_path / name)
    assert name in str(caught.value)


@pytest.mark.parametrize("shape", [(10**15,), (10**9, 10**9), (10**30, 2), (-1, 4), (2**63, 2**63)])
def test_headers_may_lie(tmp_path: Path, shape: tuple[int, ...]) -> None:
    for name, content in (
        ("x.npy", npy_header(shape) + bytes(64)),
        ("x.npz", None),
    ):
        file = tmp_path / name
        if content is None:
            with zipfile.ZipFile(file, "w") as archive:
                archive.writestr("X.npy", npy_header(shape) + bytes(64))
        else:
            file.write_bytes(content)
        with pytest.raises(ReadError, match=r"truncated|shape"):
            read_matrix(file)


def test_endless_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "MAX_LINE", 1000)
    monkeypatch.setattr(text, "CHUNK", 100)
    (tmp_path / "x.csv").write_text("1,2\n" + "3," * 600 + "\n")
    with pytest.raises(ReadError, match="line 2 is longer than 1000 characters"):
        read_matrix(tmp_path / "x.csv")


def test_many_blank_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "CHUNK", 10_000)
    (tmp_path / "x.csv.gz").write_bytes(
        gzip.compress(b"\n" * 2_000_000 + b"a,b\n\n1,2\n3,\n" + b"\n" * 2_000_000)
    )
    tracemalloc.start()
    try:
        table = read_matrix(tmp_path / "x.csv.gz")
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(table.X, [[1, 2], [3, np.nan]])
    assert table.notes[-1] == "One number is missing, at line 2000004, column 2 (b)."


def test_the_memory_is_that_of_this_computer() -> None:
    there = checks.get_memory()
    assert there is None or there > 10**8
