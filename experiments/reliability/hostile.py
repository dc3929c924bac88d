"""Files made to run code, to read other files, or to fill the memory."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import tempfile
import time
import zipfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from autonmf.io import ReadError, read_matrix
from experiments.reliability.damage import limit_memory
from experiments.reliability.faults import Fault, require

Generator = np.random.Generator
Write = Callable[[Path, Generator], None]

X = np.random.default_rng(0).random((12, 7))


class Payload:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return Path.touch, (self.trace,)


def refused(file: Path) -> str:
    try:
        found = read_matrix(file).X
    except ReadError as error:
        require(file.name in str(error) and "\n" not in str(error), f"a poor message: {error}")
        return "refused: ReadError"
    require(False, f"read as {np.shape(found)}")
    return ""


# Code


def zarr_2(folder: Path, chunk: bytes, **metadata: Any) -> None:
    plain = {"zarr_format": 2, "shape": [1, 2], "chunks": [1, 2], "dtype": "<f8", "order": "C"}
    plain |= {"fill_value": 0, "compressor": None, "filters": None}
    folder.mkdir(parents=True)
    (folder / ".zarray").write_text(json.dumps(plain | metadata))
    (folder / "0.0").write_bytes(chunk)


def zarr_3(folder: Path, chunk: bytes, codecs: list[Any], data_type: Any = "float64") -> None:
    metadata = {
        "zarr_format": 3, "node_type": "array", "shape": [1, 2], "data_type": data_type, "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 2]}}, "attributes": {},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "codecs": codecs,
    }  # fmt: skip
    (folder / "c" / "0").mkdir(parents=True)
    (folder / "zarr.json").write_text(json.dumps(metadata))
    (folder / "c" / "0" / "0").write_bytes(chunk)


def _zarr_with_pickles(folder: Path, trace: Path, rng: Generator) -> None:
    before: tuple[list[Any], ...]
    payload, codec = pickle.dumps(Payload(trace)), {"id": "pickle", "protocol": 5}
    before = ([], [{"id": "vlen-utf8"}], [{"id": "delta", "dtype": "<f8"}], [{"id": "zlib"}])
    dtype = str(rng.choice(["|O", "<f8", "|S4", "|V8"]))
    if rng.random() < 0.3:
        zarr_2(folder, payload, dtype=dtype, compressor=codec)
    else:
        zarr_2(folder, payload, dtype=dtype, filters=[*before[rng.integers(len(before))], codec])


def _zarr_with_codecs(folder: Path, trace: Path, rng: Generator) -> None:
    names = ("numcodecs.pickle", "pickle", "vlen-utf8", "vlen-bytes", "my.codec", "numcodecs.msgpack2")
    bad = {"name": str(rng.choice(names)), "configuration": {"id": "pickle"}}
    within = {"chunk_shape": [1, 2], "codecs": [{"name": "bytes"}, bad], "index_codecs": [{"name": "bytes"}]}
    nested = {"name": "sharding_indexed", "configuration": within}
    codecs = [{"name": "bytes"}, bad] if rng.random() < 0.5 else [nested]
    zarr_3(folder, pickle.dumps(Payload(trace)), codecs)


def _numpy_with_objects(file: Path, trace: Path, rng: Generator) -> None:
    objects = np.array([[Payload(trace)]], dtype=object)
    if file.suffix == ".npy":
        np.save(file, objects, allow_pickle=True)
    elif rng.random() < 0.5:
        np.savez(file, X=objects)
    else:
        parts: dict[str, Any] = {
            "indices": [0],
            "indptr": [0, 1],
            "shape": [1, 1],
            "format": b"csr",
            "data": [1.0],
        }
        parts[str(rng.choice(["data", "indices", "indptr", "shape", "format"]))] = objects[0]
        np.savez(file, **parts)


CODE: dict[str, Callable[[Path, Path, Generator], None]] = {
    "x.npy": _numpy_with_objects,
    "x.npz": _numpy_with_objects,
    "version 2.zarr": _zarr_with_pickles,
    "version 3.zarr": _zarr_with_codecs,
}


def runs_code(name: str, seed: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        trace, file = Path(folder, "trace"), Path(folder, name)
        CODE[name](file, trace, np.random.default_rng(seed))
        said = refused(file)
        require(not trace.exists(), "the code was run")
        return said


# Other files


def _link(content: Any, secret: Path, how: str, name: str) -> None:
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
        content.create_dataset(name, X.shape, X.dtype, external=[(secret.with_suffix(".raw"), 0, X.nbytes)])
    else:
        layout = h5py.VirtualLayout(X.shape, X.dtype)
        layout[:] = h5py.VirtualSource(secret, "X", X.shape, X.dtype)
        content.create_virtual_dataset(name, layout)


WAYS = ("external link", "soft link", "linked group", "external storage", "virtual dataset")


def reads_others(how: str, seed: int) -> str:
    import h5py

    rng = np.random.default_rng(seed)
    name = ("x.h5", "x.h5ad", "x.mat")[seed % 3]
    with tempfile.TemporaryDirectory() as folder:
        secret = Path(folder, "secret.h5")
        X.tofile(secret.with_suffix(".raw"))
        with h5py.File(secret, "w") as content:
            content["X"] = X
        with h5py.File(Path(folder, name), "w") as content:
            if rng.random() < 0.5:
                _link(content, secret, how, "X")
            else:  # a part of a sparse matrix
                matrix, part = sparse.csr_matrix(X), str(rng.choice(["data", "indices", "indptr"]))
                group = content.create_group("X")
                group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", matrix.shape
                group.attrs["MATLAB_sparse"] = matrix.shape[0]
                for each in ("data", "indices", "indptr"):
                    if each != part:
                        group[each] = getattr(matrix, each)
                _link(content, secret, how, f"X/{part}")
        return refused(Path(folder, name))


# Room


def _large(rng: Generator) -> int:
    """More entries than the process may have bytes."""
    return int(10 ** rng.uniform(9.7, 12))


def _npy_header(shape: str) -> bytes:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape},)}}"
    header = header.ljust((len(header) // 64 + 1) * 64 - 11) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()


def _npy(file: Path, rng: Generator) -> None:
    nested = ("-" * 9000 + "1", "~" * 9000 + "1", "(" * 4000, "not " * 2000 + "1", "[" * 3000, "9" * 5000)
    shape = f"{_large(rng)}, 5" if rng.random() < 0.5 else nested[rng.integers(len(nested))]
    if file.suffix == ".npy":
        file.write_bytes(_npy_header(shape) + bytes(80))
    else:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("X.npy", _npy_header(shape) + bytes(80))


@cache
def _zeros() -> bytes:
    """A zip archive of three arrays of zeros, 400 MB each."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("data", "indices", "indptr"):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                member.write(_npy_header(f"{10**7}, 5"))
                for _ in range(40):
                    member.write(bytes(10**7))
    return stream.getvalue()


def _bomb(file: Path, rng: Generator) -> None:
    file.write_bytes(_zeros())
    with zipfile.ZipFile(file, "a") as archive:
        for name, array in {"shape": [9, 5], "format": b"csr"}.items():
            if rng.random() < 0.7:
                with archive.open(f"{name}.npy", "w") as member:
                    np.lib.format.write_array(member, np.array(array))


def _hdf5(file: Path, rng: Generator) -> None:
    """Sparse parts without a single chunk, which take no room in the file."""
    import h5py

    size = int(rng.integers(3 * 10**8, 10**9))
    names = ("data", "ir", "jc") if file.suffix == ".mat" else ("data", "indices", "indptr")
    with h5py.File(file, "w") as content:
        group = content.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", (size - 1, 5)
        group.attrs["MATLAB_sparse"] = 5
        for name in names:
            kind = "f8" if name == "data" else str(rng.choice(["i4", "i8", "u8"]))
            chunks = (int(rng.integers(1000, 10**6)),) if rng.random() < 0.5 else None
            group.create_dataset(name, (size,), kind, chunks=chunks)


@cache
def _dictionary(rows: int, columns: int) -> bytes:
    import pyarrow as arrow
    from pyarrow import parquet

    codes = arrow.array(np.zeros(rows, np.int8))
    column = arrow.DictionaryArray.from_arrays(codes, arrow.array([1.0])).dictionary_decode()
    stream = io.BytesIO()
    parquet.write_table(arrow.table({f"c{j}": column for j in range(columns)}), stream)
    return stream.getvalue()


def _parquet(file: Path, rng: Generator) -> None:
    file.write_bytes(_dictionary(10**7, 4 + int(rng.integers(4))))


def _market(file: Path, rng: Generator) -> None:
    kind = str(rng.choice(["real", "pattern", "integer"]))
    head = f"%%MatrixMarket matrix coordinate {kind} general\n"
    size = f"{_large(rng)} 5 1\n" if rng.random() < 0.5 else f"5 5 {_large(rng)}\n"
    if rng.random() < 0.3:
        head, size = "%%MatrixMarket matrix array real general\n", f"{_large(rng)} 3\n"
    content = f"{head}{size}1 1 1.0\n".encode()
    file.write_bytes(gzip.compress(content) if file.suffix == ".gz" else content)


@cache
def _zipped(line: bytes) -> bytes:
    return gzip.compress(line * (3 * 10**8 // len(line)), 6)


def _gzip(file: Path, rng: Generator) -> None:
    lines = (b"1,1,1,1,1,1,1,1\n", b"1,", b"\n", b"0" * 1000 + b"\n", b'"' + b"a" * 999)
    content = _zipped(lines[rng.integers(len(lines))])
    forged = rng.random() < 0.5  # the length that gzip notes at the end
    file.write_bytes(content[:-4] + bytes(4) if forged else content)


LARGE: dict[str, tuple[Write, int]] = {
    "x.npy": (_npy, 200),
    "x.npz": (_npy, 200),
    "zipped zeros.npz": (_bomb, 20),
    "x.h5ad": (_hdf5, 200),
    "x.mat": (_hdf5, 200),
    "x.parquet": (_parquet, 20),
    "x.mtx": (_market, 200),
    "x.mtx.gz": (_market, 200),
    "x.csv.gz": (_gzip, 20),
}


def needs_memory(name: str, seed: int) -> str:
    """Read in a process that may have a little more memory than it has."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, name)
        LARGE[name][0](file, np.random.default_rng(seed))
        limit_memory()
        began = time.process_time()
        said = refused(file)
        return f"{said}, {'in less' if time.process_time() - began < 1 else 'more'} than a second"


HOSTILE = [
    *(Fault(f"code in {name}", "refused, nothing is run", partial(runs_code, name), 8, 200) for name in CODE),
    *(Fault(f"HDF5 that leads to other files: {how}", "refused", partial(reads_others, how), 6, 120)
      for how in WAYS),
    *(Fault(f"a small file that declares much: {name}", "refused; bounded memory",
            partial(needs_memory, name), 3, full) for name, (_, full) in LARGE.items()),
]  # fmt: skip
