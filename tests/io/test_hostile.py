"""Files made to run code, to read other files, or to fill the memory: refused by what they declare."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from autonmf import AutoNMF
from autonmf.io import ReadError, checks, read_matrix

X = np.random.default_rng(0).random((12, 7))


class Payload:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return Path.touch, (self.trace,)


def refuse(file: Path, match: str, **options: Any) -> None:
    with pytest.raises(ReadError, match=match) as caught:
        read_matrix(file, **options)
    assert file.name in str(caught.value)
    assert "\n" not in str(caught.value)


# Nothing is run


def zarr_array(folder: Path, chunk: bytes, **metadata: Any) -> None:
    """An array of version 2 with one chunk, as zarr writes it."""
    folder.mkdir(parents=True)
    plain = {"zarr_format": 2, "shape": [1, 2], "chunks": [1, 2], "dtype": "<f8", "order": "C"}
    plain |= {"fill_value": 0, "compressor": None, "filters": None}
    (folder / ".zarray").write_text(json.dumps(plain | metadata))
    (folder / "0.0").write_bytes(chunk)


PICKLE = [{"id": "pickle", "protocol": 5}]


@pytest.mark.parametrize("dtype", ["|O", "<f8"])
@pytest.mark.parametrize("first", [[], [{"id": "vlen-utf8"}], [{"id": "delta", "dtype": "<f8"}]])
@pytest.mark.parametrize("grouped", [False, True])
def test_a_pickle_in_a_zarr_folder(tmp_path: Path, dtype: str, first: list[Any], grouped: bool) -> None:
    pytest.importorskip("zarr", reason="zarr reads the folder")
    trace, folder = tmp_path / "trace", tmp_path / "x.zarr"
    payload = pickle.dumps(Payload(trace))
    zarr_array(folder / "X" if grouped else folder, payload, dtype=dtype, filters=first + PICKLE)
    if grouped:
        (folder / ".zgroup").write_text('{"zarr_format": 2}')
    for variable in [None, "X"] if grouped else [None]:
        refuse(
            folder, "'vlen-utf8'|'pickle'|Python objects|no numeric matrix|not a numeric", variable=variable
        )
    assert not trace.exists()


def test_consolidated_metadata_are_not_believed(tmp_path: Path) -> None:
    """They could declare a codec where the array itself has none."""
    pytest.importorskip("zarr", reason="zarr reads the folder")
    trace, folder = tmp_path / "trace", tmp_path / "x.zarr"
    zarr_array(folder / "X", pickle.dumps(Payload(trace))[:16].ljust(16), filters=None)
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    metadata = json.loads((folder / "X" / ".zarray").read_text()) | {"filters": PICKLE}
    consolidated = {".zgroup": {"zarr_format": 2}, "X/.zarray": metadata}
    (folder / ".zmetadata").write_text(json.dumps({"zarr_consolidated_format": 1, "metadata": consolidated}))
    assert read_matrix(folder).X.shape == (1, 2)
    assert not trace.exists()


@pytest.mark.parametrize(
    "codecs",
    [
        [{"name": "bytes"}, {"name": "numcodecs.pickle"}],
        [{"name": "vlen-utf8"}],
        [{"name": "my.codec", "id": "zlib"}],
        [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [1, 2], "codecs": [{"name": "my.codec"}], "index_codecs": [{"name": "bytes"}]}}],
    ],
)  # fmt: skip
def test_codecs_of_zarr_version_3(tmp_path: Path, codecs: list[Any]) -> None:
    pytest.importorskip("zarr", reason="zarr reads the folder")
    folder = tmp_path / "x.zarr"
    folder.mkdir()
    metadata = {
        "zarr_format": 3, "node_type": "array", "shape": [1, 2], "data_type": "float64", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 2]}}, "attributes": {},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "codecs": codecs,
    }  # fmt: skip
    (folder / "zarr.json").write_text(json.dumps(metadata))
    refuse(folder, "encoded with .* may run code")


@pytest.mark.parametrize("compression", ["gzip", "zstd", "blosc", "sharded"])
def test_codecs_that_are_read(tmp_path: Path, compression: str) -> None:
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr writes and reads the folder")
    codec: Any = {
        "gzip": zarr.codecs.GzipCodec(), "zstd": zarr.codecs.ZstdCodec(), "blosc": zarr.codecs.BloscCodec(),
    }.get(compression)  # fmt: skip
    shards = {"shards": (12, 7), "chunks": (4, 7)} if compression == "sharded" else {}
    zarr.create_array(tmp_path / "x.zarr", data=X, compressors=codec, **shards)
    np.testing.assert_array_equal(read_matrix(tmp_path / "x.zarr").X, X)


def test_two_kinds_of_metadata_in_one_folder(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", minversion="3", reason="zarr writes and reads the folder")
    zarr.create_array(tmp_path / "x.zarr", data=X)
    (tmp_path / "x.zarr" / ".zarray").write_text("{}")
    refuse(tmp_path / "x.zarr", r"both zarr\.json and \.zarray")


def test_a_zarr_array_of_objects_is_not_decoded_by_a_fit(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", reason="zarr reads the folder")
    trace, folder = tmp_path / "trace", tmp_path / "x.zarr"
    zarr_array(folder, pickle.dumps(Payload(trace)), dtype="|O", filters=[{"id": "vlen-utf8"}, *PICKLE])
    array = zarr.open_array(str(folder), mode="r")
    with pytest.raises(TypeError, match=r"X has dtype .* NMF needs numbers"):
        AutoNMF().fit(array)
    assert not trace.exists()


def test_pickles_in_numpy_files(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    objects = np.array([[Payload(trace)]], dtype=object)
    np.save(tmp_path / "x.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "x.npz", X=objects)
    np.savez(tmp_path / "parts.npz", data=objects[0], indices=[0], indptr=[0, 1], shape=[1, 1])
    np.savez(tmp_path / "scipy.npz", data=objects[0], format=b"csr", indices=[0], indptr=[0, 1], shape=[1, 1])
    for name in ("x.npy", "x.npz", "parts.npz", "scipy.npz"):
        refuse(tmp_path / name, "Python objects")
    assert not trace.exists()


def test_extension_types_of_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow writes and reads the file")
    from pyarrow import parquet

    tensor = arrow.fixed_shape_tensor(arrow.float64(), [2])
    storage = arrow.array([[1.0, 2.0]], arrow.list_(arrow.float64(), 2))
    parquet.write_table(
        arrow.table({"x": [1.0], "t": arrow.ExtensionArray.from_storage(tensor, storage)}),
        tmp_path / "x.parquet",
    )
    refuse(tmp_path / "x.parquet", r"1 of 2 columns hold no numbers \(t\)")


DAMAGED_FOOTERS = """
import sys
from pathlib import Path
from autonmf.io import ReadError, read_matrix
file, content = Path(sys.argv[1]), Path(sys.argv[1]).read_bytes()
length = int.from_bytes(content[-8:-4], "little")
for place in range(len(content) - 8 - length, len(content) - 8):
    for bit in (1, 2):
        changed = bytearray(content)
        changed[place] ^= bit
        file.write_bytes(changed)
        try:
            read_matrix(file)
        except ReadError:
            pass
print("every one")
"""


def test_footers_of_parquet_that_end_the_process(tmp_path: Path) -> None:
    """pyarrow aborts where its description of a column chunk is asked for and contradicts itself."""
    arrow = pytest.importorskip("pyarrow", reason="pyarrow writes and reads the file")
    from pyarrow import parquet

    parquet.write_table(arrow.table(dict.fromkeys("ab", X[:, 0])), tmp_path / "x.parquet")
    command = [sys.executable, "-W", "ignore", "-c", DAMAGED_FOOTERS, str(tmp_path / "x.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-300:]
    assert done.stdout == "every one\n"


# Other files are not read


@pytest.fixture
def h5py() -> Any:
    return pytest.importorskip("h5py", reason="h5py writes and reads the files")


def link_outside(content: Any, secret: Path, how: str, name: str) -> None:
    """Let ``name`` lead to the matrix in another file."""
    import h5py

    if how == "external link":
        content[name] = h5py.ExternalLink(secret, "X")
    elif how == "soft link":
        content["other"] = h5py.ExternalLink(secret, "X")
        content[name] = h5py.SoftLink("/other")
    elif how == "linked group":
        content["other"] = h5py.ExternalLink(secret, "/")
        content[name] = h5py.SoftLink("/other/X")
    elif how == "external storage":
        raw = secret.with_suffix(".raw")
        X.tofile(raw)
        content.create_dataset(name, X.shape, X.dtype, external=[(raw, 0, X.nbytes)])
    else:
        layout = h5py.VirtualLayout(X.shape, X.dtype)
        layout[:] = h5py.VirtualSource(secret, "X", X.shape, X.dtype)
        content.create_virtual_dataset(name, layout)


OUTSIDE = ("external link", "soft link", "linked group", "external storage", "virtual")


@pytest.mark.parametrize("how", OUTSIDE)
@pytest.mark.parametrize("name", ["x.h5", "x.h5ad", "x.mat"])
@pytest.mark.parametrize("large", [False, True])
def test_hdf5_that_reads_other_files(
    tmp_path: Path, h5py: Any, how: str, name: str, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as content:
        content["X"] = X
    with h5py.File(tmp_path / name, "w") as content:
        link_outside(content, secret, how, "X")
    if large:
        monkeypatch.setattr(checks, "KEEP_IN_FILE", 0)
    refuse(tmp_path / name, "is a link|refers to other files|no numeric matrix")
    refuse(tmp_path / name, "is a link|refers to other files|no variable 'X'", variable="X")


@pytest.mark.parametrize("how", OUTSIDE)
@pytest.mark.parametrize("part", ["layers/a", "data", "obs/_index"])
def test_parts_of_an_h5ad_file(tmp_path: Path, h5py: Any, how: str, part: str) -> None:
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as content:
        content["X"] = X
    matrix = sparse.csr_matrix(X)
    with h5py.File(tmp_path / "x.h5ad", "w") as content:
        group = content.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", matrix.shape
        for name in ("data", "indices", "indptr"):
            if name != part:
                group[name] = getattr(matrix, name)
        content.create_group("layers")
        content.create_group("obs").attrs["_index"] = "_index"
        link_outside(content, secret, how, f"X/{part}" if part == "data" else part)
    variable = "a" if part == "layers/a" else None
    if part == "obs/_index" and how in ("external storage", "virtual"):  # of another length: no names
        assert read_matrix(tmp_path / "x.h5ad").row_names is None
        return
    refuse(tmp_path / "x.h5ad", "is a link|refers to other files", variable=variable)


def test_the_name_of_an_index_is_no_way_out(tmp_path: Path, h5py: Any) -> None:
    with h5py.File(tmp_path / "secret.h5", "w") as content:
        content["names"] = np.array([b"secret"] * 12)
    with h5py.File(tmp_path / "x.h5ad", "w") as content:
        content["X"] = X
        content.create_group("obs").attrs["_index"] = "away/names"
        content["obs"]["away"] = h5py.ExternalLink(tmp_path / "secret.h5", "/")
    refuse(tmp_path / "x.h5ad", "is a link")


def test_links_are_not_even_opened(tmp_path: Path, h5py: Any) -> None:
    """Opening a pipe would wait for ever."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("Windows has no named pipes")
    os.mkfifo(tmp_path / "pipe")
    for name in ("x.h5", "x.h5ad", "x.mat"):
        with h5py.File(tmp_path / name, "w") as content:
            content["X"] = h5py.ExternalLink(tmp_path / "pipe", "X")
        refuse(tmp_path / name, "is a link|no numeric matrix")


def test_plugins_of_hdf5(tmp_path: Path, h5py: Any) -> None:
    """A filter that HDF5 would look for in the folders of its plugins."""
    for name in ("x.h5", "x.h5ad", "x.mat"):
        with h5py.File(tmp_path / name, "w") as content:
            made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            made.set_chunk((12, 7))
            made.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, (3,))  # zstd
            space = h5py.h5s.create_simple(X.shape)
            h5py.h5d.create(content.id, b"X", h5py.h5t.NATIVE_DOUBLE, space, made)
            content["X"].id.write_direct_chunk((0, 0), X.tobytes(), filter_mask=1)
        refuse(tmp_path / name, "needs a plugin of HDF5, number 32015")


@pytest.mark.parametrize("compression", ["gzip", "lzf"])
def test_filters_that_are_read(tmp_path: Path, h5py: Any, compression: str) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as content:
        content.create_dataset("X", data=X, compression=compression, shuffle=True, fletcher32=True)
    np.testing.assert_array_equal(read_matrix(tmp_path / "x.h5").X, X)


@pytest.mark.parametrize("kind", ["objects", "lists", "references"])
def test_parts_that_are_no_numbers(tmp_path: Path, h5py: Any, kind: str) -> None:
    dtype = {"objects": h5py.string_dtype(), "lists": h5py.vlen_dtype(float), "references": h5py.ref_dtype}
    with h5py.File(tmp_path / "x.h5ad", "w") as content:
        group = content.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", (1, 1)
        group.create_dataset("data", (1,), dtype[kind])
        group["indices"], group["indptr"] = [0], [0, 1]
    refuse(tmp_path / "x.h5ad", "not numbers")


# Room

HUGE = 10**9


def unallocated_h5ad(file: Path) -> None:
    import h5py

    with h5py.File(file, "w") as content:
        group = content.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", (HUGE - 1, 5)
        for name in ("data", "indices", "indptr"):
            group.create_dataset(name, (HUGE,), "f8" if name == "data" else "i4", chunks=(10**6,))


def unallocated_mat(file: Path) -> None:
    import h5py

    with h5py.File(file, "w") as content:
        group = content.create_group("X")
        group.attrs["MATLAB_sparse"] = 5
        for name in ("data", "ir", "jc"):
            group.create_dataset(name, (HUGE,), "f8" if name == "data" else "u8")


def dictionary_parquet(file: Path) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    rows = 10**7
    codes = arrow.array(np.zeros(rows, np.int8))
    column = arrow.DictionaryArray.from_arrays(codes, arrow.array([1.0]))
    parquet.write_table(arrow.table({f"c{j}": column.dictionary_decode() for j in range(8)}), file)


def npz_bomb(file: Path, *names: str, **arrays: Any) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array_header_1_0(
                    stream, {"descr": "<f8", "fortran_order": False, "shape": (10**7, 5)}
                )
                for _ in range(40):
                    stream.write(bytes(10**7))
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as stream:
                np.lib.format.write_array(stream, np.array(array))


def gzip_bomb(line: bytes) -> Callable[[Path], None]:
    def write(file: Path) -> None:
        file.write_bytes(gzip.compress(line * (3 * 10**8 // len(line)), 9))

    return write


def write_text(content: str) -> Callable[[Path], None]:
    return lambda file: file.write_bytes(
        gzip.compress(content.encode()) if file.suffix == ".gz" else content.encode()
    )


MARKET = "%%MatrixMarket matrix coordinate real general\n"
SMALL_AND_LARGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "unallocated.h5ad": (unallocated_h5ad, "h5py"),
    "unallocated.mat": (unallocated_mat, "h5py"),
    "dictionary.parquet": (dictionary_parquet, "pyarrow"),
    "dense.npz": (lambda file: npz_bomb(file, "X"), ""),
    "parts.npz": (lambda file: npz_bomb(file, "data", "indices", "indptr", shape=[9, 5]), ""),
    "scipy.npz": (
        lambda file: npz_bomb(file, "data", "indices", "indptr", shape=[9, 5], format=b"csr"),
        "",
    ),
    "rows.mtx": (write_text(f"{MARKET}{HUGE} 5 1\n1 1 1.0\n"), ""),
    "count.mtx": (write_text(f"{MARKET}5 5 {HUGE}\n1 1 1.0\n"), ""),
    "pattern.mtx": (write_text(f"{MARKET.replace('real', 'pattern')}5 5 {HUGE}\n"), ""),
    "array.mtx": (write_text(f"{MARKET.replace('coordinate', 'array')}{HUGE // 4} 1\n1.0\n"), ""),
    "count.mtx.gz": (write_text(f"{MARKET}5 5 {HUGE}\n1 1 1.0\n"), ""),
    "comment.mtx.gz": (lambda file: gzip_bomb(MARKET.encode() + b"%" * 10**8)(file), ""),
    "cells.csv.gz": (gzip_bomb(b"1,1,1,1,1,1,1,1\n"), ""),
    "line.csv.gz": (gzip_bomb(b"1,"), ""),
    "blank.csv.gz": (gzip_bomb(b"\n"), ""),
}

LIMITED = """
import resource, sys, time
from autonmf.io import ReadError, read_matrix
import numpy, scipy.sparse
try:
    import h5py, pyarrow.parquet, pyarrow.csv
except ImportError:
    pass
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 30), -1))
before = time.process_time()
try:
    read_matrix(sys.argv[1])
except ReadError as error:
    print(error)
    print(f"{time.process_time() - before:.1f} s", file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the limit of memory is that of Linux")
@pytest.mark.parametrize("name", SMALL_AND_LARGE)
def test_small_files_that_need_much_memory(tmp_path: Path, name: str) -> None:
    """In a process that may use 2 GB more than it has; the system tells of far more."""
    write, library = SMALL_AND_LARGE[name]
    if library:
        pytest.importorskip(library, reason=f"{library} writes and reads the file")
    write(tmp_path / name)
    assert (tmp_path / name).stat().st_size < 2_000_000
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", LIMITED, str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert name in done.stdout
    assert done.stdout.count("\n") == 1
    assert "declares" in done.stdout or "is longer than" in done.stdout, done.stdout


def test_all_arrays_of_a_file_together(tmp_path: Path, h5py: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the parts would fit."""
    matrix = sparse.random(1000, 1000, 0.1, "csr", random_state=0)
    with h5py.File(tmp_path / "x.h5ad", "w") as content:
        group = content.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", matrix.shape
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(matrix, name)
        content["obs/_index"] = np.array([b"a" * 500] * 1000)
    sparse.save_npz(tmp_path / "x.npz", matrix)
    sizes = {"x.npz": matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes + 19}
    sizes["x.h5ad"] = sizes["x.npz"] - 19 + 500_000
    for name, size in sizes.items():
        monkeypatch.setattr(checks, "get_memory", lambda size=size: size)
        assert read_matrix(tmp_path / name).X.shape == (1000, 1000)
        monkeypatch.setattr(checks, "get_memory", lambda size=size: size - 1)
        refuse(tmp_path / name, "numbers, which take .* of memory free")


@pytest.mark.slow
def test_a_gzip_file_whose_length_is_forged(tmp_path: Path) -> None:
    content = gzip.compress(b"1,1,1,1,1,1,1,1\n" * 5 * 10**6, 9)
    (tmp_path / "x.csv.gz").write_bytes(content[:-4] + bytes(4))
    refuse(tmp_path / "x.csv.gz", "declares numbers that take")


@pytest.mark.parametrize("nested", ["-" * 9000 + "1", "~" * 9000 + "1", "(" * 4000, "not " * 2000 + "1"])
def test_headers_of_nested_signs(tmp_path: Path, nested: str) -> None:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({nested},)}}"
    header = header.ljust((len(header) // 64 + 1) * 64 - 11) + "\n"
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    (tmp_path / "x.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("X.npy", content)
    for name in ("x.npy", "x.npz"):
        refuse(tmp_path / name, "cannot read")


def test_chunks_that_are_larger_than_their_array(
    tmp_path: Path, h5py: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    zarr = pytest.importorskip("zarr", reason="zarr writes and reads the folder")
    with h5py.File(tmp_path / "x.h5", "w") as content:
        content.create_dataset("X", data=X, chunks=(1000, 1000), maxshape=(None, None), compression="gzip")
    zarr.open_array(str(tmp_path / "x.zarr"), mode="w", shape=X.shape, chunks=(1000, 1000), dtype="f8")[:] = X
    for name in ("x.h5", "x.zarr"):
        np.testing.assert_array_equal(read_matrix(tmp_path / name).X, X)
        monkeypatch.setattr(checks, "get_memory", lambda: 7_000_000)
        refuse(tmp_path / name, "1000 x 1000 numbers")
        monkeypatch.undo()


@pytest.mark.parametrize("version", [1, 2])
def test_limits_of_control_groups(tmp_path: Path, version: int) -> None:
    """Folders as Linux shows them in a container."""
    limit, used, cached = ("memory.max", "memory.current", "inactive_file")
    root, line = tmp_path, "0::/job/step\n"
    if version == 1:
        limit, used, cached = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        root, line = tmp_path / "memory", "5:cpu:/\n4:memory:/job/step\n0::/\n"
    (root / "job" / "step").mkdir(parents=True)
    (tmp_path / "own").write_text(line)
    everything = checks.get_memory(tmp_path, tmp_path / "own")
    for group, most in (
        (root / "job", "5000000"),
        (root / "job" / "step", "max" if version == 2 else "9" * 18),
    ):
        (group / limit).write_text(f"{most}\n")
        (group / used).write_text("3000000\n")
        (group / "memory.stat").write_text(f"anon 2000000\n{cached} 1000000\n")
    assert everything is None or everything > 10**8
    assert checks.get_memory(tmp_path, tmp_path / "own") == 3_000_000
    assert checks.get_memory(tmp_path, tmp_path / "missing") == pytest.approx(everything, rel=0.3)


def test_repeated_names_of_rows_are_read_once(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow writes and reads the file")
    from pyarrow import parquet

    long = ["x" * 10**6] * 500 + [None]
    table = arrow.table({"name": arrow.array(long), "a": np.arange(501.0)})
    parquet.write_table(table, tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").stat().st_size < 2_000_000
    names = read_matrix(tmp_path / "x.parquet").row_names
    assert names is not None
    assert len({id(name) for name in names}) == 2
    assert names == [*long[:-1], "None"]
