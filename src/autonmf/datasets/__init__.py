"""Data sets with a known or a reference rank: generated, or read from the data home."""

from autonmf.datasets.dataset import Dataset
from autonmf.datasets.fetching import DataUnavailableError
from autonmf.datasets.genomics import fetch_leukemia, fetch_pbmc3k, fetch_signatures
from autonmf.datasets.hyperspectral import fetch_jasper_ridge, fetch_samson, fetch_urban
from autonmf.datasets.images import fetch_olivetti, fetch_swimmer, load_swimmer
from autonmf.datasets.synthetic import make_low_rank
from autonmf.datasets.text import fetch_bbc, fetch_wos

__all__ = [
    "DataUnavailableError",
    "Dataset",
    "fetch_bbc",
    "fetch_jasper_ridge",
    "fetch_leukemia",
    "fetch_olivetti",
    "fetch_pbmc3k",
    "fetch_samson",
    "fetch_signatures",
    "fetch_swimmer",
    "fetch_urban",
    "fetch_wos",
    "load_swimmer",
    "make_low_rank",
]
