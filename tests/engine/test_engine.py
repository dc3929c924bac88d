"""The compressed engine: the same answers as the direct one, or a fall back to it."""

import gc

import numpy as np
import pytest
from scipy import sparse

from autonmf import AutoNMF, rank_path, select_rank
from autonmf.data import Compressed, Scaling, as_data, compress, read_all, wrap
from autonmf.datasets import make_low_rank
from autonmf.losses import FROBENIUS
from autonmf.metrics import recovery_error
from autonmf.selection import evaluate_on_X


@pytest.fixture(scope="module")
def noisy():
    return make_low_rank(600, 300, 6, 0.3, random_state=3)


def compressed_of(X, rank=20):
    return compress(wrap(X), rank, np.random.default_rng(0))


def test_compression_is_the_projection_on_the_leading_directions(noisy):
    X = noisy[0]
    C = compressed_of(X)
    np.testing.assert_allclose(C.L.T @ C.L, np.eye(C.L.shape[1]), atol=1e-12)
    np.testing.assert_allclose(C.R, X.T @ C.L, rtol=1e-10)
    singular = np.linalg.svd(X, compute_uv=False)
    best = np.sqrt(np.square(singular[20:]).sum())
    assert np.linalg.norm(X - C.L @ C.R.T) <= 1.02 * best


def test_products_losses_and_transpose_agree_with_the_projected_matrix(noisy):
    X = noisy[0]
    C, rng = compressed_of(X), np.random.default_rng(1)
    Y = C.L @ C.R.T
    U, V = rng.random((600, 4)), rng.random((300, 4))
    np.testing.assert_allclose(C.right(V), Y @ V)
    np.testing.assert_allclose(C.left(U), Y.T @ U)
    np.testing.assert_allclose(Scaling(transposed=True).apply(C).right(U), Y.T @ U)
    np.testing.assert_allclose(read_all(C), Y)
    outside = np.linalg.norm(X - Y) ** 2
    loss = outside + np.linalg.norm(Y - U @ V.T) ** 2
    np.testing.assert_allclose(C.squared_residual(U, V), loss)
    np.testing.assert_allclose(FROBENIUS.value(C, U, V), 0.5 * loss)


def test_single_precision_is_for_factors_in_single_precision(noisy):
    C, rng = compressed_of(noisy[0]), np.random.default_rng(1)
    single = C.as_single()
    U, V = rng.random((600, 4)), rng.random((300, 4))
    assert (single.dtype, C.dtype) == (np.float32, np.float64)
    for ours, exact, factor in ((single.right, C.right, V), (single.left, C.left, U)):
        rough = ours(np.asfortranarray(factor, np.float32))
        assert rough.dtype == np.float32
        np.testing.assert_allclose(rough, exact(factor), rtol=1e-4)
        np.testing.assert_array_equal(ours(factor), exact(factor))


@pytest.mark.parametrize("density", [0.02, 1.0])
def test_the_bound_of_the_error(density):
    rng = np.random.default_rng(2)
    X = np.where(rng.random((300, 200)) < density, rng.random((300, 200)), 0.0)
    C = compressed_of(X)
    left_out = X - C.L @ C.R.T
    for U, V in [
        (rng.random((300, 5)), rng.random((200, 5))),
        (left_out[:, :1].clip(0), rng.random((200, 1))),
    ]:
        bound = C.bound_error(U, V)
        assert abs(np.sum(left_out * (U @ V.T))) <= bound
        outside = U @ V.T - C.L @ (C.L.T @ U) @ V.T
        np.testing.assert_allclose(bound, np.linalg.norm(left_out) * np.linalg.norm(outside))
    assert C.bound_error(C.L[:, :3], rng.random((200, 3))) <= 1e-6 * np.linalg.norm(X) ** 2


def test_a_matrix_of_low_rank_is_compressed_exactly_to_that_rank():
    X, _, _ = make_low_rank(200, 150, 5, 0.0, random_state=0)
    C = compressed_of(X)
    assert C.L.shape[1] == 5
    np.testing.assert_allclose(C.L @ C.R.T, X, atol=1e-8)


def test_a_sparse_matrix_is_compressed_without_being_made_dense(noisy, monkeypatch):
    X = sparse.csr_matrix(np.where(noisy[0] > 2, noisy[0], 0))
    monkeypatch.setattr(sparse.csr_matrix, "toarray", lambda *_: pytest.fail("made dense"))
    C = compressed_of(X)
    assert C.shape == X.shape


@pytest.mark.parametrize("rank", [3, 10])
@pytest.mark.parametrize("noise", [0.1, 0.3])
def test_both_engines_find_the_same_rank_and_factors(rank, noise):
    X, U, _ = make_low_rank(500, 300, rank, noise, random_state=rank)
    direct, compressed = (
        AutoNMF(engine=e, rule="marginal", random_state=0) for e in ("direct", "compressed")
    )
    error, other = (recovery_error(U, m.fit_transform(X)) for m in (direct, compressed))
    assert direct.n_components_ == compressed.n_components_ == rank
    assert abs(other - error) <= 0.005 * error
    assert compressed.path_.settings["engine"] == "compressed"
    np.testing.assert_allclose(
        compressed.reconstruction_err_, np.linalg.norm(X - compressed.transform(X) @ compressed.components_)
    )


def test_the_losses_that_decide_are_those_on_X(noisy):
    X = noisy[0]
    model = AutoNMF(engine="compressed", rule="marginal", random_state=0).fit(X)
    evidence = model.rank_estimate_.evidence
    for rank in (5, 6, 7):
        point = model.path_.at_rank(rank)
        true = 0.5 * np.linalg.norm(X - point.U.astype(float) @ point.V.T.astype(float)) ** 2
        np.testing.assert_allclose(evidence["loss"][evidence["rank"] == rank], true, rtol=1e-6)


def test_losses_of_a_path_are_evaluated_on_X_where_asked(noisy):
    X = noisy[0]
    path = rank_path(X, engine="compressed", max_rank=15, random_state=0)
    evaluated = evaluate_on_X(path, as_data(X), (5, 6, 7))
    for before, point in zip(path.points, evaluated.points, strict=True):
        assert not before.on_X
        if point.rank not in (5, 6, 7):
            assert point is before
            continue
        assert point.on_X
        true = 0.5 * np.linalg.norm(X - point.U.astype(float) @ point.V.T.astype(float)) ** 2
        np.testing.assert_allclose(point.loss, true, rtol=1e-6)


def test_auto_falls_back_where_compression_is_unreliable():
    rng = np.random.default_rng(0)
    identity = np.eye(400)
    scattered = np.where(rng.random((500, 400)) < 0.02, rng.random((500, 400)), 0)
    for X in (identity, scattered):
        assert rank_path(X, random_state=0).settings["engine"] == "direct"
        assert rank_path(X, engine="compressed", random_state=0).settings["engine"] == "compressed"


def test_a_second_search_begins_where_the_first_did():
    """The answer is that of the direct engine, whichever initial point shows that it is needed."""
    blocks = np.kron(np.eye(60), np.ones((4, 3))) * np.random.default_rng(0).random((240, 180))
    options = {"max_rank": 12, "n_starts": 3, "random_state": 0}
    direct = rank_path(blocks, engine="direct", **options)
    for n_jobs in (1, 2, 3):
        path = rank_path(blocks, n_jobs=n_jobs, **options)
        assert path.settings["engine"] == "direct"
        np.testing.assert_array_equal(path.losses, direct.losses)


def test_the_compression_is_gone_when_the_second_search_runs():
    alive = []

    def callback(progress):
        if progress.rank < 20:
            ours = [item for item in gc.get_objects() if type(item) is Compressed]
            alive.append([item for item in ours if item.shape == (301, 301)])
            raise KeyError

    with pytest.raises(KeyError) as error:
        rank_path(np.eye(301), max_rank=20, random_state=0, callback=callback)
    assert alive == [[]]
    assert error.value.__context__ is None


def test_auto_reads_small_matrices_directly_and_large_ones_compressed(noisy):
    assert rank_path(noisy[0][:60, :40], random_state=0).settings["engine"] == "direct"
    assert rank_path(noisy[0], max_rank=20, random_state=0).settings["engine"] == "compressed"
    assert (
        rank_path(noisy[0], max_rank=200, random_state=0, budget=lambda r: 1).settings["engine"] == "direct"
    )
    assert rank_path(noisy[0], grid="adaptive", random_state=0).settings["engine"] == "direct"


def test_noise_free_data_have_nonnegative_losses_through_the_compression():
    X, _, _ = make_low_rank(400, 300, 5, 0.0, random_state=0)
    path = rank_path(X, max_rank=20, engine="compressed", random_state=0)
    assert (path.losses >= 0).all()
    assert select_rank(path).rank == 5
