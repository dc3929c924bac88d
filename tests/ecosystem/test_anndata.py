"""`autonmf.anndata.nmf`: where it writes, what survives a file, and that scanpy goes on from it."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from autonmf import AutoNMF
from autonmf.anndata import nmf
from autonmf.selection import UncertainRankWarning

anndata = pytest.importorskip("anndata", reason="anndata is not installed")


@pytest.fixture
def cells(low_rank: np.ndarray) -> Any:
    """60 cells x 40 genes of three programmes; a layer; a column that chooses 30 genes."""
    adata = anndata.AnnData(sparse.csr_matrix(low_rank))
    adata.var["highly_variable"] = np.arange(40) % 4 > 0
    adata.layers["twice"] = 2 * low_rank
    return adata


def same(one: Any, other: Any) -> None:
    """Equal records: the same keys, the same values, whether Python's or NumPy's."""
    if isinstance(one, dict):
        assert set(one) == set(other)
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, np.ndarray):
        assert_array_equal(one, other)
    else:
        assert one == other


def test_signature_follows_scanpy() -> None:
    first, *others = inspect.signature(nmf).parameters.values()
    assert first.name == "adata"
    assert {p.kind for p in others} == {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD}
    defaults = {p.name: p.default for p in others if p.kind is inspect.Parameter.KEYWORD_ONLY}
    assert defaults == {
        "layer": None,
        "mask_var": None,
        "key_added": None,
        "random_state": 0,
        "copy": False,
    }


def test_it_writes_the_factors_of_the_estimator(cells: Any, plain: tuple[np.ndarray, AutoNMF]) -> None:
    assert nmf(cells) is None
    model = AutoNMF(random_state=0).fit(cells.X)
    assert_array_equal(cells.obsm["X_nmf"], model.fit_transform(cells.X))
    assert_array_equal(cells.varm["NMF"], model.components_.T)
    record = cells.uns["nmf"]
    assert record["rank"] == plain[1].n_components_ == 3
    assert record["why"] == model.rank_estimate_.why
    assert record["confidence"] == model.rank_estimate_.confidence
    assert tuple(record["plausible"]) == model.rank_estimate_.plausible
    assert_array_equal(record["path"]["ranks"], model.path_.ranks)
    assert_array_equal(record["path"]["relative_losses"], model.path_.relative_losses)
    assert_allclose(
        record["reconstruction_err"],
        np.linalg.norm(cells.X.toarray() - cells.obsm["X_nmf"] @ cells.varm["NMF"].T),
        rtol=1e-6,
    )


def test_copy_leaves_the_original_alone(cells: Any) -> None:
    copied = nmf(cells, copy=True)
    assert copied is not cells
    assert "X_nmf" in copied.obsm
    assert not len(cells.obsm)
    assert not len(cells.varm)
    assert "nmf" not in cells.uns


def test_key_added_names_all_three(cells: Any) -> None:
    nmf(cells, key_added="programmes", n_components=2)
    assert cells.obsm["programmes"].shape == (60, 2)
    assert cells.varm["programmes"].shape == (40, 2)
    assert cells.uns["programmes"]["rank"] == 2
    assert "why" not in cells.uns["programmes"], "nothing was chosen"
    assert "X_nmf" not in cells.obsm


def test_layer(cells: Any, low_rank: np.ndarray) -> None:
    nmf(cells, layer="twice", n_components=3)
    W, V = cells.obsm["X_nmf"], cells.varm["NMF"]
    assert np.linalg.norm(2 * low_rank - W @ V.T) < 0.2 * np.linalg.norm(2 * low_rank)
    assert cells.uns["nmf"]["params"]["layer"] == "twice"


@pytest.mark.parametrize("given", ["name", "array", "list"])
def test_genes_left_out_have_zeros(cells: Any, low_rank: np.ndarray, given: str) -> None:
    used = cells.var["highly_variable"].to_numpy()
    mask = {"name": "highly_variable", "array": used, "list": used.tolist()}[given]
    nmf(cells, mask_var=mask)
    alone = AutoNMF(random_state=0).fit(sparse.csr_matrix(low_rank[:, used]))
    assert_array_equal(cells.varm["NMF"][used], alone.components_.T)
    assert not cells.varm["NMF"][~used].any()
    assert cells.uns["nmf"]["params"]["mask_var"] == ("highly_variable" if given == "name" else "given")


def test_options_go_to_the_estimator(cells: Any) -> None:
    nmf(cells, max_rank=5, rule="marginal", random_state=3)
    params = cells.uns["nmf"]["params"]
    assert (params["max_rank"], params["rule"], params["random_state"]) == (5, "marginal", 3)
    assert "confidence" not in cells.uns["nmf"], "the paper's rule gives none"
    with pytest.raises(TypeError, match="n_comps"):
        nmf(cells, n_comps=3)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"layer": "counts"}, KeyError, "no layer 'counts'; its layers: 'twice'"),
        ({"mask_var": "dispersed"}, KeyError, "no column 'dispersed'"),
        ({"mask_var": np.ones(7, dtype=bool)}, ValueError, "each of the 40 genes, got bool of shape"),
        ({"mask_var": np.arange(40)}, ValueError, "True or False"),
        ({"mask_var": np.zeros(40, dtype=bool)}, ValueError, "selects no genes"),
    ],
)
def test_mistakes_are_explained_and_change_nothing(
    cells: Any, wrong: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        nmf(cells, **wrong)
    assert not len(cells.obsm)
    assert "nmf" not in cells.uns


def test_negative_entries_are_refused(cells: Any) -> None:
    cells.X = cells.X.toarray() - 1.0
    with pytest.raises(ValueError, match="Negative values"):
        nmf(cells)


def test_no_matrix(cells: Any) -> None:
    del cells.X
    with pytest.raises(ValueError, match="no X: choose one of its layers"):
        nmf(cells)
    nmf(cells, layer="twice", n_components=1)


@pytest.mark.parametrize("rule", ["auto", "marginal"])
def test_h5ad_keeps_everything(cells: Any, tmp_path: Path, rule: str) -> None:
    pytest.importorskip("h5py", reason="h5py is not installed")
    nmf(cells, rule=rule)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    back = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert_array_equal(back.obsm["X_nmf"], cells.obsm["X_nmf"])
    assert_array_equal(back.varm["NMF"], cells.varm["NMF"])
    same(cells.uns["nmf"], back.uns["nmf"])


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
@pytest.mark.parametrize("rule", ["auto", "marginal"])
def test_zarr_keeps_everything(cells: Any, tmp_path: Path, rule: str) -> None:
    pytest.importorskip("zarr", reason="zarr is not installed")
    nmf(cells, rule=rule)
    cells.write_zarr(tmp_path / "cells.zarr")
    back = anndata.read_zarr(tmp_path / "cells.zarr")
    assert_array_equal(back.obsm["X_nmf"], cells.obsm["X_nmf"])
    same(cells.uns["nmf"], back.uns["nmf"])


def test_warnings_survive_a_file(cells: Any, tmp_path: Path) -> None:
    pytest.importorskip("h5py", reason="h5py is not installed")
    nmf(cells, max_rank=2)
    assert len(cells.uns["nmf"]["warnings"]) > 0, "the rank is at the bound"
    cells.write_h5ad(tmp_path / "cells.h5ad")
    same(cells.uns["nmf"], anndata.read_h5ad(tmp_path / "cells.h5ad").uns["nmf"])


def test_on_disk(cells: Any, tmp_path: Path) -> None:
    """X is read where it lies, unless some genes are to be left out."""
    pytest.importorskip("h5py", reason="h5py is not installed")
    cells.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    with pytest.raises(ValueError, match=r"pass adata.to_memory\(\)"):
        nmf(backed, mask_var=np.arange(backed.n_vars) < 5)
    nmf(backed, n_components=2)
    nmf(cells, n_components=2)
    np.testing.assert_allclose(backed.obsm["X_nmf"], cells.obsm["X_nmf"], rtol=0.05, atol=1e-3)
    backed.file.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Tensorflow not installed:ImportWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_neighbours_and_umap_of_scanpy(cells: Any) -> None:
    scanpy = pytest.importorskip("scanpy", reason="scanpy is not installed", exc_type=ImportError)
    pytest.importorskip("umap", reason="umap-learn is not installed", exc_type=ImportError)
    nmf(cells)
    scanpy.pp.neighbors(cells, use_rep="X_nmf", n_neighbors=5)
    assert cells.uns["neighbors"]["params"]["use_rep"] == "X_nmf"
    W = cells.obsm["X_nmf"]
    away = np.linalg.norm(W[:, None] - W[None], axis=2)
    near = np.argsort(away, axis=1)[:, 1:5]
    distances = cells.obsp["distances"].toarray()
    for cell in range(60):
        assert set(np.flatnonzero(distances[cell])) <= set(near[cell]) | {cell}
    scanpy.tl.umap(cells, maxiter=10)
    assert cells.obsm["X_umap"].shape == (60, 2)
    assert np.isfinite(cells.obsm["X_umap"]).all()


def test_cell_types_of_real_cells_are_neighbours(real_home: Path) -> None:
    """On PBMC3K, normalised: most cells have the type of their neighbours in the factors."""
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import KNeighborsClassifier

    from autonmf.datasets import DataUnavailableError, fetch_pbmc3k

    try:
        found = fetch_pbmc3k(normalize=True, dtype=np.float32, data_home=real_home, download=False)
    except DataUnavailableError:
        pytest.skip(f"no pbmc3k.npz in {real_home}")
    if found.labels is None:
        pytest.skip("the file of the data home has no cell types")
    adata = anndata.AnnData(found.X)
    spread = np.asarray(found.X.multiply(found.X).mean(axis=0) - np.square(found.X.mean(axis=0))).ravel()
    nmf(adata, mask_var=spread >= np.sort(spread)[-2000])
    assert adata.varm["NMF"].dtype == np.float32
    typed = found.labels >= 0
    W, types = adata.obsm["X_nmf"][typed], found.labels[typed]
    directions = W / np.maximum(np.linalg.norm(W, axis=1, keepdims=True), 1e-9)
    right = cross_val_score(KNeighborsClassifier(15), directions, types, cv=3).mean()
    usual = np.bincount(types).max() / len(types)
    assert right > 0.8 > usual + 0.2


def test_unknown_parameters_are_refused_in_our_words(cells: Any) -> None:
    with pytest.raises(TypeError, match=r"^nmf has no parameter 'n_comps': do you mean n_components\?$"):
        nmf(cells, n_comps=3)
    with pytest.raises(TypeError, match=r"^nmf has no parameter 'xyz': its parameters are n_comp"):
        nmf(cells, xyz=3)
    with pytest.raises(TypeError, match=r"nmf needs an AnnData object, got ndarray: for an array, use A"):
        nmf(np.ones((3, 3)))
    with pytest.raises(KeyError, match=r"no column 'variable'; its columns: 'highly_variable'"):
        nmf(cells, mask_var="variable")


@pytest.mark.parametrize("mask_var", [None, "highly_variable"])
def test_known_components_are_matched_by_the_names_of_genes(cells: Any, mask_var: str | None) -> None:
    pandas = pytest.importorskip("pandas")
    nmf(cells)
    known = cells.varm["NMF"].T[:2].astype(float)
    used = slice(None) if mask_var is None else np.asarray(cells.var[mask_var])
    frame = pandas.DataFrame(known, columns=cells.var_names)
    for given in (known, frame.iloc[:, ::-1], frame.loc[:, used].iloc[:, ::-1]):
        nmf(cells, mask_var=mask_var, fixed_components=given, key_added="known")
        assert_array_equal(cells.varm["known"][used, :2], known.T[used])
    wrong = frame.rename(columns={cells.var_names[1]: "other"})
    with pytest.raises(ValueError, match=r"no column for '1' and columns that X does not have: 'other'"):
        nmf(cells, fixed_components=wrong)


def test_the_warning_of_an_uncertain_rank_leads_somewhere() -> None:
    places = np.arange(40)
    adata = anndata.AnnData(np.exp(-abs(places[:, None] - places) / 8))
    with pytest.warns(UncertainRankWarning) as caught:
        nmf(adata, key_added="found")
    (one,) = caught
    assert one.filename == __file__
    assert "uns['found'] has the evidence" in str(one.message)
    assert "fit AutoNMF with the same parameters to the same matrix" in str(one.message)
