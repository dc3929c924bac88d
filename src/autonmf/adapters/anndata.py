"""NMF of an AnnData object: factors beside the data, and what was found out about the rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autonmf._types import Array, Seed

if TYPE_CHECKING:
    from anndata import AnnData

    from autonmf.estimator import AutoNMF


def nmf(
    adata: AnnData,
    *,
    layer: str | None = None,
    mask_var: str | Array | None = None,
    key_added: str | None = None,
    random_state: Seed = 0,
    copy: bool = False,
    **options: Any,
) -> AnnData | None:
    """Factorise cells x genes, with as many components as the data say.

    Parameters
    ----------
    adata : AnnData
        Cells in rows. The entries have to be nonnegative: counts, or counts normalised and logarithmised,
        but not scaled to mean zero.
    layer : str, optional
        The layer to factorise. Default: ``adata.X``.
    mask_var : str or array of bool, optional
        The genes to use: a column of ``adata.var`` such as ``"highly_variable"``, or one entry a gene.
        Default: all. The others have zeros in ``varm``.
    key_added : str, optional
        Where to write, in ``obsm``, ``varm`` and ``uns`` alike. Default: as below.
    random_state : int, generator or None
        Seed.
    copy : bool
        Write into a copy and return it.
    **options
        Other parameters of `AutoNMF`: ``n_components``, ``max_rank``, ``rule``, ...

    Returns
    -------
    AnnData or None
        The copy, or None. What is written:

        ``obsm["X_nmf"]``
            W (cells x components), for ``scanpy.pp.neighbors(adata, use_rep="X_nmf")``.
        ``varm["NMF"]``
            Hᵀ (genes x components), by decreasing energy.
        ``uns["nmf"]``
            ``params``; the ``rank`` and, where the data chose it, ``why``, ``plausible``, ``warnings``,
            ``confidence`` and ``evidence`` (a table by columns); ``path`` with the ``ranks`` that were
            visited and their ``relative_losses``; ``explained_variance``; ``reconstruction_err``.

    Examples
    --------
    >>> import anndata                                                           # doctest: +SKIP
    >>> from autonmf.anndata import nmf
    >>> adata = anndata.read_h5ad("cells.h5ad")                                  # doctest: +SKIP
    >>> nmf(adata, mask_var="highly_variable")                                   # doctest: +SKIP
    >>> adata.obsm["X_nmf"].shape, adata.uns["nmf"]["why"]                       # doctest: +SKIP
    """
    from autonmf.estimator import AutoNMF

    used = _mask(adata, mask_var)
    X = _matrix(adata, layer, whole=used is None)
    model = AutoNMF(random_state=random_state, **options)
    W = model.fit_transform(X if used is None else X[:, used])
    V = model.components_.T
    if used is not None:
        everywhere = np.zeros((adata.n_vars, V.shape[1]), dtype=V.dtype)
        everywhere[used] = V
        V = everywhere
    where = {
        "layer": layer,
        "mask_var": mask_var if mask_var is None or isinstance(mask_var, str) else "given",
    }
    adata = adata.copy() if copy else adata
    adata.obsm[key_added or "X_nmf"] = W
    adata.varm[key_added or "NMF"] = np.ascontiguousarray(V)
    adata.uns[key_added or "nmf"] = _record(model, where)
    return adata if copy else None


def _matrix(adata: AnnData, layer: str | None, *, whole: bool) -> Any:
    """X or a layer; X on disk is read from there if it is used as a whole."""
    if layer is not None and layer not in adata.layers:
        known = ", ".join(map(repr, adata.layers)) or "none"
        raise KeyError(f"adata has no layer {layer!r}; its layers: {known}")
    if layer is None and adata.isbacked and not whole:
        raise ValueError(
            "mask_var needs X in memory, and adata was opened in backed mode: pass adata.to_memory()"
        )
    X = adata.X if layer is None else adata.layers[layer]
    if X is None:
        raise ValueError("adata has no X: choose one of its layers with layer=")
    return X


def _mask(adata: AnnData, mask_var: str | Array | None) -> Array | None:
    """The genes to use, True or False for each."""
    if mask_var is None:
        return None
    if isinstance(mask_var, str):
        if mask_var not in adata.var:
            raise KeyError(f"adata.var has no column {mask_var!r} to choose genes by")
        mask = np.asarray(adata.var[mask_var])
    else:
        mask = np.asarray(mask_var)
    if mask.dtype != bool or mask.shape != (adata.n_vars,):
        raise ValueError(
            f"mask_var must have True or False for each of the {adata.n_vars} genes, "
            f"got {mask.dtype} of shape {mask.shape}"
        )
    if not mask.any():
        raise ValueError("mask_var leaves no gene")
    return mask


def _record(model: AutoNMF, where: dict[str, str | None]) -> dict[str, Any]:
    """What is worth keeping beside the factors, of types that .h5ad and zarr hold."""
    path, estimate = model.path_, model.rank_estimate_
    record = {
        "params": _without_none(where | path.settings | {"max_rank": int(path.ranks.max())}),
        "rank": model.n_components_,
        "path": {"ranks": path.ranks, "relative_losses": path.relative_losses},
        "explained_variance": model.explained_variance_,
        "reconstruction_err": model.reconstruction_err_,
    }
    if estimate is not None:
        record["params"]["rule"] = estimate.rule
        record |= {
            "why": estimate.why,
            "plausible": np.array(estimate.plausible),
            "warnings": np.array(estimate.warnings, dtype=object),
            "evidence": {name: np.asarray(column) for name, column in estimate.evidence.items()},
            "confidence": estimate.confidence,
        }
    return _without_none(record)


def _without_none(record: dict[str, Any]) -> dict[str, Any]:
    """Without what neither format can hold in every version."""
    return {name: value for name, value in record.items() if value is not None}
