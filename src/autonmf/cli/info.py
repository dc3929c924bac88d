"""`autonmf info`: what a bug report should say."""

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
"""Libraries that autonmf can do without, and what they are for."""


def run(as_json: bool) -> None:
    """Print a line for each fact."""
    if as_json:
        print_json(dict(facts()))
        return
    for name, value in facts():
        print(f"{name + ':':<14}{value}")


def facts() -> Iterator[tuple[str, str]]:
    """Names and values."""
    from autonmf import kernels

    yield "autonmf", _installed("autonmf")
    yield "Python", f"{platform.python_version()} ({platform.python_implementation()})"
    yield "system", f"{platform.system()} {platform.release()} {platform.machine()}"
    for library in ("numpy", "scipy", "scikit-learn"):
        yield library, _installed(library)
    yield "BLAS", _blas()
    yield "cores", _cores()
    yield "kernels", str(getattr(kernels, "BACKEND", "NumPy"))
    for library, use in OPTIONAL.items():
        yield library, f"{_installed(library)} (for {use})"


def _installed(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"


def _cores() -> str:
    total = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else total
    return str(total) if usable == total else f"{total}, of which {usable} usable"


def _blas() -> str:
    """The linear algebra library that NumPy and SciPy loaded, and its threads."""
    import scipy.linalg  # noqa: F401 (loads its BLAS)

    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return "unknown (threadpoolctl is not installed)"
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    described = (f"{pool['internal_api']} {pool['version']}, {pool['num_threads']} threads" for pool in pools)
    return "; ".join(dict.fromkeys(described)) or "unknown"
