"""Hot loops. Callers import from here and never ask which implementation runs."""

from autonmf.kernels.reference import forward_step, hals_sweeps

__all__ = ["forward_step", "hals_sweeps"]
