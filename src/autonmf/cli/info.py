"""`autonmf info`: versions and hardware, for bug reports."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from autonmf.cli.console import print_json

OPTIONAL = {
    "pyarrow": ".parquet files",
    "h5py": ".h5, .hdf5, .h5ad and MATLAB 7.3 files",
    "zarr": ".zarr folders",
    "anndata": "AnnData objects",
    "pandas": "data frames",
    "matplotlib": "plots",
    "plotly": "reports",
    "pooch": "downloads of data sets",
}
"""Optional libraries and what they are for."""


def run_info(as_json: bool) -> None:
    """Print one line per fact."""
    if as_json:
        print_json(dict(list_facts()))
        return
    for name, value in list_facts():
        print(f"{name + ':':<14}{value}")


def list_facts() -> Iterator[tuple[str, str]]:
    """Names and values."""
    from autonmf import kernels

    yield "autonmf", _find_version("autonmf")
    yield "Python", f"{platform.python_version()} ({platform.python_implementation()})"
    yield "system", f"{platform.system()} {platform.release()} {platform.machine()}"
    for library in ("numpy", "scipy", "scikit-learn"):
        yield library, _find_version(library)
    yield "BLAS", _describe_blas()
    total = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else total
    yield "cores", str(total) if usable == total else f"{total}, of which {usable} usable"
    yield "kernels", kernels.BACKEND
    for library, use in OPTIONAL.items():
        yield library, f"{_find_version(library)} (for {use})"


def _find_version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"


def _describe_blas() -> str:
    """The linear algebra library of NumPy and SciPy, and its threads."""
    import scipy.linalg  # noqa: F401 (loads its BLAS)
    from threadpoolctl import threadpool_info

    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    described = (f"{pool['internal_api']} {pool['version']}, {pool['num_threads']} threads" for pool in pools)
    return "; ".join(dict.fromkeys(described)) or "unknown"
