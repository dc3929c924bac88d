"""The data home: real parts are used where it is present, generated ones elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

from autonmf.datasets.home import ENVIRONMENT, environment_home
from autonmf.datasets.home import find as find_in
from autonmf.datasets.stored import read, read_csr

__all__ = ["data_home", "find", "need", "read", "read_csr"]


def data_home() -> Path | None:
    """The folder ``AUTONMF_DATA``, else ``../shared/data`` from the project's root; None where absent."""
    if os.environ.get(ENVIRONMENT):
        return environment_home()
    home = Path(__file__).resolve().parents[5] / "shared" / "data"
    return home if home.is_dir() else None


def find(file: str) -> Path | None:
    """A file of the data home, or None."""
    home = data_home()
    return None if home is None else find_in(file, home)


def need(file: str) -> Path:
    """A file of the data home that has to be there."""
    found = find(file)
    if found is None:
        raise FileNotFoundError(
            f"no {file} in the data home: set {ENVIRONMENT} to the folder of the benchmark data"
        )
    return found
