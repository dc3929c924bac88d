"""NMF of an AnnData object: the factors and the evidence for the rank are stored in it."""

from __future__ import annotations

import inspect
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from autonmf._types import Array, Seed, check_parameters
from autonmf._warnings import warn
from autonmf.model.known import check_known
from autonmf.selection import UncertainRankWarning

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
    """Factorise cells x genes with a number of components chosen from the data.

    Parameters
    ----------
    adata : AnnData
        Cells in rows, with nonnegative entries: counts or log-normalised counts, not scaled to zero mean.
    layer : str, optional
        The layer to factorise. Default: ``adata.X``.
    mask_var : str or array of bool, optional
        The genes to use: a column of ``adata.var`` such as ``"highly_variable"``, or one entry per
        gene. Default: all. Other genes have zeros in ``varm``.
    key_added : str, optional
        Key in ``obsm``, ``varm`` and ``uns``. Default: as below.
    random_state : int, generator or None
        Seed.
    copy : bool
        Return a copy with the results instead of writing to ``adata``.
    **options
        Other parameters of `AutoNMF`: ``n_components``, ``max_rank``, ``rule``, ... The columns of a data
        frame given as ``fixed_components`` are matched with ``adata.var_names``.

    Returns
    -------
    AnnData or None
        The copy, or None. What is written:

        ``obsm["X_nmf"]``
            W (cells x components), for ``scanpy.pp.neighbors(adata, use_rep="X_nmf")``.
        ``varm["NMF"]``
            Hᵀ (genes x components), sorted by decreasing energy.
        ``uns["nmf"]``
            ``params``; the ``rank`` and, unless it was given, ``why``, ``plausible``, ``warnings``,
            ``confidence`` and ``evidence`` (a table by columns); ``path`` with its ``ranks`` and
            ``relative_losses``; ``explained_variance``; ``reconstruction_err``.

        The model is not kept: for the tree, the stability or a report, fit ``AutoNMF`` to ``adata.X``.

    Examples
    --------
    >>> import anndata                                                           # doctest: +SKIP
    >>> from autonmf.anndata import nmf
    >>> adata = anndata.read_h5ad("cells.h5ad")                                  # doctest: +SKIP
    >>> nmf(adata, mask_var="highly_variable")                                   # doctest: +SKIP
    >>> adata.obsm["X_nmf"].shape, adata.uns["nmf"]["why"]                       # doctest: +SKIP
    """
    from autonmf.estimator import AutoNMF

    if not hasattr(adata, "obsm"):
        raise TypeError(
            f"nmf needs an AnnData object, got {type(adata).__name__}: for an array, use AutoNMF().fit(X)"
        )
    check_parameters("nmf", options, inspect.signature(AutoNMF).parameters)
    used = _check_mask(adata, mask_var)
    X = _find_matrix(adata, layer, whole=used is None)
    if (known := options.get("fixed_components")) is not None:
        options["fixed_components"] = _match_known(adata, known, used)
    model = AutoNMF(random_state=random_state, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertainRankWarning)  # leads to the model, which is not kept
        W = model.fit_transform(X if used is None else X[:, used])
    _warn_if_uncertain(model, key_added or "nmf")
    V = np.zeros((adata.n_vars, model.n_components_), dtype=model.components_.dtype)
    V[... if used is None else used] = model.components_.T
    where = {
        "layer": layer,
        "mask_var": mask_var if mask_var is None or isinstance(mask_var, str) else "given",
    }
    adata = adata.copy() if copy else adata
    adata.obsm[key_added or "X_nmf"] = W
    adata.varm[key_added or "NMF"] = V
    adata.uns[key_added or "nmf"] = _make_record(model, where)
    return adata if copy else None


def _find_matrix(adata: AnnData, layer: str | None, *, whole: bool) -> Any:
    """Get X or a layer; genes cannot be selected from X on disk."""
    if layer is not None and layer not in adata.layers:
        known = ", ".join(map(repr, adata.layers)) or "none"
        raise KeyError(f"adata has no layer {layer!r}; its layers: {known}")
    if layer is None and adata.isbacked and not whole:
        raise ValueError("mask_var needs X in memory, but adata is in backed mode: pass adata.to_memory()")
    X = adata.X if layer is None else adata.layers[layer]
    if X is None:
        raise ValueError("adata has no X: choose one of its layers with layer=")
    return X


def _check_mask(adata: AnnData, mask_var: str | Array | None) -> Array | None:
    if mask_var is None:
        return None
    if isinstance(mask_var, str):
        if mask_var not in adata.var:
            known = ", ".join(map(repr, adata.var)) or "none"
            raise KeyError(f"adata.var has no column {mask_var!r}; its columns: {known}")
        mask = np.asarray(adata.var[mask_var])
    else:
        mask = np.asarray(mask_var)
    if mask.dtype != bool or mask.shape != (adata.n_vars,):
        raise ValueError(
            f"mask_var must have True or False for each of the {adata.n_vars} genes, "
            f"got {mask.dtype} of shape {mask.shape}"
        )
    if not mask.any():
        raise ValueError("mask_var selects no genes")
    return mask


def _match_known(adata: AnnData, known: Any, used: Array | None) -> Array:
    """Known components of the genes that are used; a data frame's columns are matched by name."""
    genes = np.asarray(adata.var_names)
    if used is None or np.shape(known)[-1:] == (adata.n_vars,):
        return check_known(known, adata.n_vars, genes)[:, slice(None) if used is None else used]
    return check_known(known, int(used.sum()), genes[used])


def _warn_if_uncertain(model: AutoNMF, key: str) -> None:
    """The warning of `AutoNMF`, with the way to the other ranks from here."""
    estimate = model.rank_estimate_
    if estimate is not None and estimate.is_uncertain:
        warn(
            f"rank {estimate.rank} has a confidence of {estimate.confidence:.2f}: "
            f"{'; '.join(estimate.warnings)}. uns[{key!r}] has the evidence. Pass n_components= for another "
            "rank. To see which component splits at each rank, fit AutoNMF with the same parameters to the "
            "same matrix and call path_.tree()",
            UncertainRankWarning,
        )


def _make_record(model: AutoNMF, where: dict[str, str | None]) -> dict[str, Any]:
    """The results without the factors, in types that .h5ad and zarr can store."""
    path, estimate = model.path_, model.rank_estimate_
    record = {
        "params": _drop_none(where | path.settings | {"max_rank": int(path.ranks.max())}),
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
            "evidence": dict(estimate.evidence),
            "confidence": estimate.confidence,
        }
    return _drop_none(record)


def _drop_none(record: dict[str, Any]) -> dict[str, Any]:
    """Leave out None, which not every version of these formats can store."""
    return {name: value for name, value in record.items() if value is not None}
