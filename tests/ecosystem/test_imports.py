"""Other libraries are imported when they are used, and not before."""

from __future__ import annotations

import subprocess
import sys

import pytest

OTHERS = {"anndata", "scanpy", "xarray", "hyperspy", "librosa", "pandas", "polars", "dask", "sklearn"}


@pytest.mark.parametrize(
    "module",
    ["autonmf", "autonmf.anndata", "autonmf.adapters.text", "autonmf.adapters.xarray"],
)
def test_import_is_light(module: str) -> None:
    code = f"import sys, {module}; print(*{{name.split('.')[0] for name in sys.modules}})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not OTHERS & set(loaded.stdout.split())


def test_the_estimator_works_without_callbacks() -> None:
    """As with scikit-learn before 1.9, which has none."""
    code = """
import sys
sys.modules["sklearn.callback"] = None
import numpy as np
from autonmf import AutoNMF
model = AutoNMF(1, verbose=1).fit(np.outer([1, 2, 3], [1, 2]))
print(model.n_components_, hasattr(model, "set_callbacks"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *printed, last = done.stdout.splitlines()
    assert last == "1 False"
    assert "rank    1" in printed[-1]
