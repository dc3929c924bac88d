"""Unmixing with real endmembers."""

from __future__ import annotations

import numpy as np

from autonmf.bench.order.factors import Generator
from autonmf.bench.order.family import Instance, drawn
from autonmf.bench.order.spectra import distinct, real_spectra, scene, smooth_spectrum


@drawn(
    "endmembers",
    "semi",
    hard="real spectra resemble each other, some are dark, and spectra vary from pixel to pixel",
)
def endmembers(rng: Generator) -> Instance:
    """Three to eight materials: those of Samson and Jasper Ridge that differ enough, and generated ones."""
    bands, rank = int(rng.integers(120, 199)), int(rng.integers(3, 9))
    real = distinct(real_spectra(bands), rng, rank)
    spectra = np.array([*real, *(smooth_spectrum(bands, rng) for _ in range(rank - len(real)))]).T
    return scene(spectra, rng, f"{len(real)} real and {rank - len(real)} generated spectra")
