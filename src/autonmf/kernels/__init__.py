"""Hot loops. Callers import from here and need not know which implementation runs.

``BACKEND`` tells which one: compiled C, or NumPy where the package was installed without a compiler or the
environment variable ``AUTONMF_KERNELS`` is ``numpy``.
"""

from __future__ import annotations

import os
from contextlib import suppress

from autonmf.kernels import reference

BACKEND = "NumPy (no compiled kernels)"
chosen = reference

if os.environ.get("AUTONMF_KERNELS", "").lower() == "numpy":
    BACKEND = "NumPy (AUTONMF_KERNELS=numpy)"
else:
    with suppress(OSError):
        from autonmf.kernels import native

        BACKEND = f"C ({native.VECTOR_UNIT})"
        chosen = native  # type: ignore[misc]

csr_times = chosen.csr_times
csr_transposed_times = chosen.csr_transposed_times
forward_step = chosen.forward_step
hals_sweeps = chosen.hals_sweeps
kl_pairs = chosen.kl_pairs
kl_sweeps = chosen.kl_sweeps
pad_rows = chosen.pad_rows
whole_vectors = chosen.whole_vectors
