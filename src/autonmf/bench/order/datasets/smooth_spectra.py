"""Unmixing with generated spectra."""

from __future__ import annotations

import numpy as np

from autonmf.bench.order.factors import Generator
from autonmf.bench.order.family import Instance, drawn
from autonmf.bench.order.spectra import scene, smooth_spectrum


@drawn(
    "smooth-spectra",
    "semi",
    hard="smooth, overlapping spectra, few pure pixels, and spectra vary from pixel to pixel",
)
def smooth_spectra(rng: Generator) -> Instance:
    """Three to eight sums of Gaussians."""
    bands, rank = int(rng.integers(100, 201)), int(rng.integers(3, 9))
    return scene(np.array([smooth_spectrum(bands, rng) for _ in range(rank)]).T, rng, "generated spectra")
