"""Hot loops. Callers import from here and need not know which implementation runs.

``BACKEND`` says it: compiled C, or NumPy where the package was installed without a compiler or the
environment variable ``AUTONMF_KERNELS`` is ``numpy``.
"""

from __future__ import annotations

import os

from autonmf.kernels import reference

__all__ = [
    "BACKEND",
    "csr_times",
    "csr_transposed_times",
    "forward_step",
    "hals_sweeps",
    "kl_pairs",
    "kl_sweeps",
    "pad_rows",
    "whole_vectors",
]

BACKEND = "NumPy (no compiled kernels)"
csr_times = reference.csr_times
csr_transposed_times = reference.csr_transposed_times
forward_step = reference.forward_step
hals_sweeps = reference.hals_sweeps
kl_pairs = reference.kl_pairs
kl_sweeps = reference.kl_sweeps
pad_rows = reference.pad_rows
whole_vectors = reference.whole_vectors

if os.environ.get("AUTONMF_KERNELS", "").lower() == "numpy":
    BACKEND = "NumPy (AUTONMF_KERNELS=numpy)"
else:
    try:
        from autonmf.kernels import native
    except OSError:
        pass
    else:
        BACKEND = f"C ({native.VECTOR_UNIT})"
        csr_times = native.csr_times
        csr_transposed_times = native.csr_transposed_times
        forward_step = native.forward_step
        hals_sweeps = native.hals_sweeps
        kl_pairs = native.kl_pairs
        kl_sweeps = native.kl_sweeps
        pad_rows = native.pad_rows
        whole_vectors = native.whole_vectors
