"""Data with a known or an agreed rank."""

from autonmf.datasets.swimmer import load_swimmer
from autonmf.datasets.synthetic import make_low_rank

__all__ = ["load_swimmer", "make_low_rank"]
