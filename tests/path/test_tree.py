"""The tree of components: which component of a smaller rank each one comes from."""

from __future__ import annotations

from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from autonmf import AutoNMF, ComponentTree, PathPoint, RankPath, rank_path
from autonmf.datasets import make_low_rank
from autonmf.path.tree import make_tree


def point(V: np.ndarray, U: np.ndarray | None = None) -> PathPoint:
    return PathPoint(np.ones((5, V.shape[1])) if U is None else U, V, 0.0, 0.0, 1)


def check_tree(tree: ComponentTree) -> None:
    """Every component has one parent, which exists, and every one of a smaller rank has a child."""
    ranks = tree.ranks.tolist()
    assert ranks == sorted(set(ranks))
    assert tree.rank.tolist() == [rank for rank in ranks for _ in range(rank)]
    for before, rank in zip([0, *ranks[:-1]], ranks, strict=True):
        here = tree.at_rank(rank)
        assert here["component"].tolist() == list(range(rank))
        assert sorted(here["branch"]) == list(range(rank))
        assert set(here["parent"]) == (set(range(before)) if before else {-1})
        if before:
            assert ((here["similarity"] >= 0) & (here["similarity"] <= 1)).all()
            above = tree.at_rank(before)["branch"]
            goes_on = here["branch"] < before
            np.testing.assert_array_equal(here["branch"][goes_on], above[here["parent"][goes_on]])


def equal(first: ComponentTree, second: ComponentTree) -> bool:
    return all(np.array_equal(first.table[name], second.table[name], equal_nan=True) for name in first.table)


def best_parents(before: np.ndarray, here: np.ndarray) -> tuple[float, list[int]]:
    """By trying all matchings: the sum of cosines and the parents."""
    a, b = (V / np.linalg.norm(V, axis=0) for V in (before, here))
    cosines = a.T @ b
    count = cosines.shape[0]
    totals = {
        order: sum(cosines[i, j] for i, j in enumerate(order))
        for order in permutations(range(cosines.shape[1]), count)
    }
    order = max(totals, key=lambda each: totals[each])
    parents = cosines.argmax(axis=0).tolist()
    for i, j in enumerate(order):
        parents[j] = i
    return totals[order], parents


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 5), min_size=1, max_size=4, unique=True))
def test_any_points_make_a_tree_with_the_best_matching(seed: int, ranks: list[int]) -> None:
    rng = np.random.default_rng(seed)
    points = [point(rng.random((6, rank))) for rank in sorted(ranks)]
    tree = make_tree(points)
    check_tree(tree)
    for before, here in pairwise(points):
        assert tree.at_rank(here.rank)["parent"].tolist() == best_parents(before.V, here.V)[1]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_the_order_and_the_scale_of_components_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = [point(rng.random((6, rank))) for rank in (1, 2, 3, 4)]
    orders = [rng.permutation(rank) for rank in (1, 2, 3, 4)]
    scales = [rng.uniform(0.1, 10.0, rank) for rank in (1, 2, 3, 4)]
    moved = [point((p.V * s)[:, o]) for p, o, s in zip(points, orders, scales, strict=True)]
    tree, other = make_tree(points), make_tree(moved)
    for level in range(1, 4):
        parents = other.at_rank(level + 1)["parent"]
        expected = tree.at_rank(level + 1)["parent"][orders[level]]
        assert orders[level - 1][parents].tolist() == expected.tolist()


def test_a_split_is_found() -> None:
    """Two components become three: the second is cut in two."""
    V = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]], dtype=float).T
    finer = np.array([[0, 0, 1, 1, 0], [1, 1, 0, 0, 0], [0, 0, 0, 0, 1]], dtype=float).T
    tree = make_tree([point(V.sum(axis=1, keepdims=True)), point(V), point(finer)])
    assert tree.at_rank(3)["parent"].tolist() == [1, 0, 1]
    np.testing.assert_allclose(tree.at_rank(3)["similarity"], [np.sqrt(2 / 3), 1.0, np.sqrt(1 / 3)])
    branches = tree.at_rank(3)["branch"]
    assert branches[0] == tree.at_rank(2)["branch"][1]
    assert branches[2] == 2, "the part that is less similar begins a branch"
    assert str(tree).splitlines()[-1].split() == ["3", "2", "1", "(0.82),", "3", "(0.58)"]


@pytest.mark.parametrize("loss", ["frobenius", "kullback-leibler"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_both_losses_and_sparse_data(loss: str, kind: type) -> None:
    X = np.random.default_rng(0).poisson(3 * make_low_rank(40, 30, rank=3, random_state=0)[0]).astype(float)
    path = rank_path(kind(X), max_rank=6, beta_loss=loss, random_state=0)
    tree = path.tree()
    check_tree(tree)
    assert equal(tree, rank_path(kind(X), max_rank=6, beta_loss=loss, random_state=0).tree())
    for p in path.points:
        products = [np.outer(u, v) for u, v in zip(p.U.T, p.V.T, strict=True)]
        energies = [np.square(product).sum() for product in products]
        np.testing.assert_allclose(tree.at_rank(p.rank)["energy"], energies, rtol=1e-5)
        sums = [product.sum() for product in products]
        np.testing.assert_allclose(tree.at_rank(p.rank)["weight"], sums, rtol=1e-5)


@pytest.mark.parametrize("loss", ["frobenius", "kullback-leibler"])
@pytest.mark.parametrize("known", [0, 1])
def test_the_tree_of_a_model_with_its_data_has_polished_solutions(loss: str, known: int) -> None:
    X, _, V = make_low_rank(60, 40, rank=3, noise=0.3, random_state=0)
    X, rows = np.maximum(X, 0.0), np.linspace(0.5, 2.0, 60)
    given = None if not known else V.T[:1]
    model = AutoNMF(max_rank=7, beta_loss=loss, fixed_components=given, random_state=0).fit(
        X, sample_weight=rows
    )
    tree = model.tree(X, max_rank=5, sample_weight=rows)
    check_tree(tree)
    assert tree.ranks.tolist() == [1, 2, 3, 4, 5]
    for rank in range(1, 6):
        other = model.at_rank(rank, X, sample_weight=rows)
        H = tree.components[rank - 1]
        norms = np.linalg.norm(H, axis=1) / np.linalg.norm(other.components_, axis=1)
        np.testing.assert_allclose(H, norms[:, None] * other.components_, rtol=1e-5, atol=1e-9)
    assert equal(tree, model.tree(X, max_rank=5, sample_weight=rows))
    assert equal(model.tree(), model.path_.tree())
    assert not equal(tree, model.path_.tree(5))
    with pytest.raises(ValueError, match="differ from those of the fit"):
        model.tree(X)
    with pytest.raises(ValueError, match="max_rank=0 is below the smallest rank"):
        model.tree(X, max_rank=0)


def test_a_saved_path_has_the_same_tree(path: RankPath, tmp_path: Path) -> None:
    path.save(tmp_path / "path.npz")
    assert equal(path.tree(), RankPath.load(tmp_path / "path.npz").tree())


def test_skipped_ranks_have_parents_at_the_next_smaller_one(low_rank: np.ndarray) -> None:
    path = rank_path(low_rank, max_rank=15, grid="adaptive", n_points=4, solver="pasm", random_state=0)
    assert np.diff(path.ranks).max() > 1, "the grid should skip ranks"
    tree = path.tree()
    assert tree.ranks.tolist() == path.ranks.tolist()
    check_tree(tree)


def test_a_path_that_ends_above_rank_one_has_several_roots(low_rank: np.ndarray) -> None:
    tree = rank_path(low_rank, max_rank=5, min_rank=3, random_state=0).tree()
    check_tree(tree)
    assert tree.parent[:3].tolist() == [-1, -1, -1]
    assert np.isnan(tree.similarity[:3]).all()


def test_the_bound(low_rank: np.ndarray) -> None:
    path = rank_path(low_rank, max_rank=30, random_state=0)
    assert path.ranks[-1] > 25
    assert path.tree().ranks[-1] == 25
    assert path.tree(max_rank=30).ranks[-1] == path.ranks[-1]
    assert path.tree(4).ranks.tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="max_rank=0 is below the smallest rank of this path, 1"):
        path.tree(0)
    with pytest.raises(ValueError, match="rank 9 is not on this path; it visited 1 to 3"):
        path.tree(3).at_rank(9)


def test_missing_entries_and_weights(low_rank: np.ndarray) -> None:
    X = np.array(low_rank)
    X[::7, ::3] = np.nan
    check_tree(AutoNMF(missing="mask", max_rank=6, random_state=0).fit(X).path_.tree())
    weights = np.random.default_rng(0).uniform(0.5, 2.0, X.shape)
    check_tree(rank_path(low_rank, 6, weights=weights, random_state=0).tree())


def test_one_component() -> None:
    tree = rank_path(np.ones((4, 3)), max_rank=1, random_state=0).tree()
    check_tree(tree)
    assert (len(tree.rank), tree.weight[0]) == (1, pytest.approx(12.0))


def test_the_table_is_a_frame(path: RankPath) -> None:
    pandas = pytest.importorskip("pandas")
    tree = path.tree()
    frame = pandas.DataFrame(tree.table)
    assert list(frame) == ["rank", "component", "parent", "similarity", "energy", "weight", "branch"]
    assert len(frame) == sum(range(1, 9))
    assert len(str(tree).splitlines()) == 8, "a heading, and a line per split"
