"""X larger than memory: its rows, and those of its left factor, on the workers of a Dask cluster.

This is the only package that uses Dask. It implements the protocols of `autonmf.data`: `Data` for X, and
`RemoteFactor` for a factor whose rows stay on the workers.
"""

from autonmf.distributed.data import RowPartitioned, as_data, is_dask, map_chunks, open_data

__all__ = ["RowPartitioned", "as_data", "is_dask", "map_chunks", "open_data"]
