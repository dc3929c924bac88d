"""NMF of an xarray DataArray, with its dimensions and coordinates."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

    from autonmf.estimator import AutoNMF

NEW = ("component", "rank")
"""New dimensions of the result."""


def nmf(
    data: DataArray, model: AutoNMF | None = None, *, features: Hashable | Sequence[Hashable] | None = None
) -> Dataset:
    """Factorise a labelled array of two or more dimensions.

    Parameters
    ----------
    data : DataArray
        Nonnegative, such as a cube with dimensions y, x and band.
    model : AutoNMF, optional
        The estimator to fit; it has ``rank_estimate_`` and ``path_`` afterwards. Default:
        ``AutoNMF(random_state=0)``.
    features : name or list of names, optional
        The feature dimensions, such as ``"band"``. Default: the last. The others are sample dimensions.

    Returns
    -------
    Dataset
        ``activations`` (sample dimensions, component), ``components`` (component, feature dimensions),
        ``explained_variance`` (component) and ``relative_loss`` (rank), the unexplained fraction of the
        energy at each rank of the path. ``attrs`` has the rank and the reason. Coordinates are those of
        ``data``.

    Examples
    --------
    >>> import xarray                                                            # doctest: +SKIP
    >>> from autonmf.adapters.xarray import nmf
    >>> cube = xarray.open_dataarray("scene.nc")                                 # doctest: +SKIP
    >>> found = nmf(cube, features="band")                                       # doctest: +SKIP
    >>> found.activations.sel(component=0).plot()                                # doctest: +SKIP
    """
    import xarray

    from autonmf.estimator import AutoNMF

    if not isinstance(data, xarray.DataArray):
        raise TypeError(
            f"nmf needs a DataArray, got {type(data).__name__}: choose a variable of a Dataset, or use "
            "AutoNMF().fit(X) for an array"
        )
    across, of_sample = _split_dimensions(data, features)
    if data.chunks is not None:
        raise ValueError("data is chunked and would be loaded: pass data.load() if it fits into memory")
    n = prod(data.sizes[name] for name in across)
    model = AutoNMF(random_state=0) if model is None else model
    W = np.asarray(model.fit_transform(data.transpose(*across, *of_sample).to_numpy().reshape(n, -1)))

    def label(values: Any, dims: Sequence[Hashable]) -> DataArray:
        shape = [data.sizes.get(name, model.n_components_) for name in dims]
        return xarray.DataArray(values.reshape(shape), dims=dims, coords=_select_coordinates(data, dims))

    estimate = model.rank_estimate_
    attributes: dict[str, Any] = {"n_components": model.n_components_}  # in types that netCDF can store
    if estimate is not None:
        attributes |= {"why": estimate.why, "warnings": "; ".join(estimate.warnings)}
        attributes |= {} if estimate.confidence is None else {"confidence": estimate.confidence}
    return xarray.Dataset(
        {
            "activations": label(W, [*across, "component"]),
            "components": label(model.components_, ["component", *of_sample]),
            "explained_variance": ("component", model.explained_variance_),
            "relative_loss": ("rank", model.path_.relative_losses),
        },
        coords={"component": np.arange(model.n_components_), "rank": model.path_.ranks},
        attrs=attributes,
    )


def _split_dimensions(
    data: DataArray, features: Hashable | Sequence[Hashable] | None
) -> tuple[list[Hashable], list[Hashable]]:
    if data.ndim < 2:
        raise ValueError(f"data must have at least two dimensions, got {data.dims}")
    if features is None:
        of_sample = [data.dims[-1]]
    else:
        of_sample = list(features) if isinstance(features, list | tuple) else [features]
    unknown = [name for name in of_sample if name not in data.dims]
    if unknown:
        raise ValueError(f"data has no dimension {unknown[0]!r}; its dimensions: {data.dims}")
    across = [name for name in data.dims if name not in of_sample]
    if not (across and of_sample):
        raise ValueError(f"features={features!r} leaves none for {'samples' if of_sample else 'features'}")
    taken = [name for name in NEW if name in data.coords or name in data.dims]
    if taken:
        raise ValueError(f"data already has {taken[0]!r}, a dimension of the result: rename it first")
    return across, of_sample


def _select_coordinates(data: DataArray, dims: Sequence[Hashable]) -> Any:
    """The coordinates along these dimensions only."""
    elsewhere = [name for name, coordinate in data.coords.items() if not set(coordinate.dims) <= set(dims)]
    first = {name: 0 for name in data.dims if name not in dims}
    return data.drop_vars(elsewhere).isel(first, drop=True).coords
