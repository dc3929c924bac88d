"""NMF of an AnnData object, in the style of scanpy's functions."""

from autonmf.adapters.anndata import nmf

__all__ = ["nmf"]
