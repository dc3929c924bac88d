"""What numbers depend on beside the code: versions and cores."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("autonmf", "numpy", "scipy", "scikit-learn", "matplotlib")


@cache
def _facts() -> tuple[tuple[str, str], ...]:
    import scipy.linalg  # noqa: F401 (loads its BLAS)
    from threadpoolctl import threadpool_info

    from autonmf import kernels

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    blas = ", ".join(dict.fromkeys(f"{pool['internal_api']} {pool['version']}" for pool in pools))
    threads = min([usable, *(pool["num_threads"] for pool in pools)])
    return (
        ("Python", platform.python_version()),
        *((library, _installed(library)) for library in LIBRARIES),
        *_commit(),
        ("BLAS", blas or "unknown"),
        ("kernels", kernels.BACKEND),
        ("cores", str(usable)),
        ("threads", str(threads)),
        ("system", f"{platform.system()} {platform.machine()}"),
    )


def facts() -> dict[str, str]:
    """Names and values."""
    return dict(_facts())


def _commit() -> Iterator[tuple[str, str]]:
    """Of a checkout, whose installed version tells when it was installed only."""
    here = Path(__file__)
    with suppress(OSError, subprocess.CalledProcessError):
        _git(here.parent, "ls-files", "--error-unmatch", here.name)  # not a repository around
        yield "commit", _git(here.parent, "describe", "--always", "--dirty", "--exclude=*")


def _git(folder: Path, *command: str) -> str:
    done = subprocess.run(["git", *command], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _installed(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"
