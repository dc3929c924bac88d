"""Single cells: NMF of an AnnData object, as scanpy's functions work."""

from autonmf.adapters.anndata import nmf

__all__ = ["nmf"]
