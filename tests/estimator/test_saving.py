"""Models in files."""

from __future__ import annotations

import gc
import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from autonmf import AutoNMF, RankPath, select_rank
from autonmf.solvers import SOLVERS


def saved(model: AutoNMF, folder: Path) -> AutoNMF:
    """The model after a trip through a file."""
    model.save(folder / "model.npz")
    return AutoNMF.load(folder / "model.npz")


def assert_alike(first: AutoNMF, second: AutoNMF) -> None:
    """What a fit leaves is the same to the last bit, in the same layout."""
    for name in ("n_components_", "reconstruction_err_", "n_iter_", "polished_", "n_features_in_"):
        mine, other = getattr(first, name), getattr(second, name)
        assert mine == other, name
        assert type(mine) is type(other), name
    for name in ("components_", "explained_variance_"):
        assert_same_array(getattr(first, name), getattr(second, name))
    assert hasattr(first, "feature_names_in_") == hasattr(second, "feature_names_in_")


def assert_same_array(first: np.ndarray, second: np.ndarray) -> None:
    assert_array_equal(first, second, strict=True)  # NaN are alike
    assert first.flags.c_contiguous == second.flags.c_contiguous


def assert_same_path(first: RankPath, second: RankPath) -> None:
    for name in (
        "shape",
        "squared_norm",
        "rank_one_loss",
        "energy",
        "mu",
        "delta",
        "complete",
        "settings",
        "visits",
    ):
        assert getattr(first, name) == getattr(second, name), name
    for p, q in zip(first.points, second.points, strict=True):
        assert (p.loss, p.lam, p.n_iter, p.on_X) == (q.loss, q.lam, q.n_iter, q.on_X)
        assert_same_array(p.U, q.U)
        assert_same_array(p.V, q.V)
    assert (first.evidence is None) == (second.evidence is None)
    if first.evidence is not None and second.evidence is not None:
        one, other = (vars(e) | e.whitened._asdict() for e in (first.evidence, second.evidence))
        for name in one.keys() - {"whitened"}:
            assert_array_equal(one[name], other[name], strict=True)
        assert first.evidence.shape == second.evidence.shape


def assert_same_estimate(first: Any, second: Any) -> None:
    assert type(first) is type(second)
    if first is None:
        return
    for name in ("rank", "rule", "why", "plausible", "confidence", "warnings"):
        assert getattr(first, name) == getattr(second, name), name
    assert list(first.evidence) == list(second.evidence)
    for name, column in first.evidence.items():
        assert_array_equal(column, second.evidence[name], strict=True)


def with_holes(X: np.ndarray) -> np.ndarray:
    return np.where(np.random.default_rng(0).uniform(size=X.shape) < 0.05, np.nan, X)


def framed(X: np.ndarray) -> Any:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    return pandas.DataFrame(X, columns=[f"Länge {j}\0" for j in range(X.shape[1])])


UNCHANGED: Callable[[np.ndarray], Any] = np.asarray
ROUND_TRIPS: dict[str, tuple[Callable[[np.ndarray], Any], dict[str, Any], dict[str, Any]]] = {
    "auto": (UNCHANGED, {}, {}),
    "auto, compressed": (UNCHANGED, {"engine": "compressed"}, {}),
    "above rank 25": (UNCHANGED, {"engine": "compressed", "max_rank": 30}, {}),
    "marginal": (UNCHANGED, {"rule": "marginal", "tau": 3}, {}),
    "grid": (UNCHANGED, {"rule": "marginal", "grid": "adaptive"}, {}),
    "given rank": (UNCHANGED, {"n_components": np.int64(3)}, {}),
    "rank one": (UNCHANGED, {"n_components": 1, "max_rank": 1}, {}),
    "more components than needed": (lambda X: np.outer(X[:, 0], X[0]), {"n_components": 3}, {}),
    "sparse": (lambda X: sparse.csr_matrix(np.where(X > 0.3, X, 0.0)), {}, {}),
    "float32": (lambda X: X.astype(np.float32), {}, {}),
    "float32, compressed": (lambda X: X.astype(np.float32), {"engine": "compressed"}, {}),
    "sample weights": (UNCHANGED, {}, {"sample_weight": np.arange(60.0)}),
    "weights": (UNCHANGED, {}, {"weights": np.random.default_rng(0).uniform(0.5, 2.0, (60, 40))}),
    "missing": (with_holes, {"missing": "mask"}, {}),
    "data frame": (framed, {}, {}),
}


@pytest.mark.filterwarnings("ignore:2 of the 3 components vanished")
@pytest.mark.parametrize("kind", ROUND_TRIPS)
def test_a_saved_model_comes_back(kind: str, low_rank: np.ndarray, tmp_path: Path) -> None:
    prepare, options, weights = ROUND_TRIPS[kind]
    X = prepare(low_rank)
    model = AutoNMF(**{"max_rank": 6, "random_state": 0} | options).fit(X, **weights)
    loaded = saved(model, tmp_path)
    assert loaded.get_params() == model.get_params()
    assert_alike(model, loaded)
    assert_same_estimate(model.rank_estimate_, loaded.rank_estimate_)
    assert_same_path(model.path_, loaded.path_)
    W = model.transform(X)
    assert_same_array(W, loaded.transform(X))
    assert_same_array(model.inverse_transform(W), loaded.inverse_transform(W))
    assert_array_equal(model.get_feature_names_out(), loaded.get_feature_names_out())
    for rank in model.path_.ranks:
        assert_alike(model.at_rank(rank), loaded.at_rank(rank))
    rank = int(model.path_.ranks[-1])
    assert_alike(model.at_rank(rank, X, **weights), loaded.at_rank(rank, X, **weights))


def test_names_of_features(low_rank: np.ndarray, tmp_path: Path) -> None:
    X = framed(low_rank)
    loaded = saved(AutoNMF(3, max_rank=4, random_state=0).fit(X), tmp_path)
    assert loaded.feature_names_in_.dtype == object
    assert loaded.feature_names_in_.tolist() == list(X.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.transform(X.rename(columns=str.upper))


def test_a_loaded_model_is_a_model(model: AutoNMF, low_rank: np.ndarray, tmp_path: Path) -> None:
    """It can be pickled, saved again, cloned and fitted again, and its path chosen from anew."""
    loaded = saved(model, tmp_path)
    assert_same_path(pickle.loads(pickle.dumps(loaded)).path_, model.path_)
    assert_same_path(saved(loaded, tmp_path).path_, model.path_)
    assert_array_equal(clone(loaded).fit(low_rank).components_, model.components_)
    assert_same_estimate(select_rank(loaded.path_, "auto"), model.rank_estimate_)


def test_a_model_at_another_rank(model: AutoNMF, tmp_path: Path) -> None:
    other = model.at_rank(5)
    loaded = saved(other, tmp_path)
    assert_alike(other, loaded)
    assert (loaded.n_components_, loaded.polished_) == (5, False)
    assert loaded.rank_estimate_.rank == 3


def test_reports_are_the_same(model: AutoNMF, low_rank: np.ndarray, tmp_path: Path) -> None:
    pytest.importorskip("plotly", reason="reports need plotly")
    loaded = saved(model, tmp_path)
    pages = [each.report(tmp_path / "page.html", X=low_rank).read_text("utf-8") for each in (model, loaded)]
    assert pages[0] == pages[1]


def test_objects_are_not_saved(low_rank: np.ndarray, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    init = (rng.uniform(size=(60, 5)), rng.uniform(size=(40, 5)))
    model = AutoNMF(solver=SOLVERS["pasm"], init=init, random_state=rng).fit(low_rank)
    loaded = saved(model, tmp_path)
    assert_alike(model, loaded)
    assert (loaded.solver, loaded.init, loaded.random_state) == ("given", "given", None)
    with pytest.raises(ValueError, match="solver 'given'"):
        loaded.at_rank(2, low_rank)
    with pytest.raises(ValueError, match=r"init.*'given'"):
        clone(loaded).set_params(solver="pasm").fit(low_rank)


@pytest.mark.slow
def test_a_path_on_a_cluster_is_computed(low_rank: np.ndarray, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    da = pytest.importorskip("dask.array")
    model = AutoNMF(max_rank=4, random_state=0, tol=1e-2).fit(da.from_array(low_rank, chunks=(20, 40)))
    loaded = saved(model, tmp_path)
    assert_alike(model, loaded)
    for mine, other in zip(model.path_.points, loaded.path_.points, strict=True):
        assert type(other.U) is np.ndarray
        assert_array_equal(np.asarray(mine.U), other.U)
    assert_array_equal(model.transform(low_rank), loaded.transform(low_rank))


def test_only_fitted_models_are_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        AutoNMF().save(tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


def test_a_file_is_replaced_when_the_new_one_is_complete(
    model: AutoNMF, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "model"
    model.save(file)
    good = file.read_bytes()

    def power_cut(stream: Any, **arrays: Any) -> None:
        stream.write(b"PK")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", power_cut)
    with pytest.raises(KeyboardInterrupt):
        model.save(file)
    assert file.read_bytes() == good
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


# What is no model


def npz(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def with_arrays(good: bytes, **changes: Any) -> bytes:
    with np.load(io.BytesIO(good)) as stored:
        return npz(**(dict(stored) | changes))


def with_header(good: bytes, **changes: Any) -> bytes:
    with np.load(io.BytesIO(good)) as stored:
        header = json.loads(str(stored["header"]))
    return with_arrays(good, header=np.array(json.dumps(header | changes)))


def with_part(good: bytes, part: str, **changes: Any) -> bytes:
    """A saved model whose header has other fields in one of its parts."""
    with np.load(io.BytesIO(good)) as stored:
        header = json.loads(str(stored["header"]))
    return with_header(good, **{part: header[part] | changes})


def with_evidence(good: bytes, **changes: Any) -> bytes:
    """A saved model whose path has other evidence."""
    with np.load(io.BytesIO(good)) as stored:
        evidence = json.loads(str(stored["header"]))["path"]["evidence"]
    return with_part(good, "path", evidence=evidence | changes)


def with_component(good: bytes, value: float) -> bytes:
    with np.load(io.BytesIO(good)) as stored:
        H = stored["components"].copy()
    H[1, 2] = value
    return with_arrays(good, components=H)


def with_description(good: bytes, text: str) -> bytes:
    """A saved model whose components describe themselves like this."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(good)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            npy = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
            new.writestr(name, npy if name == "components.npy" else old.read(name))
    return buffer.getvalue()


FOREIGN: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "empty": ("not a zip file", lambda good: b""),
    "text": ("not a zip file", lambda good: b"rank,loss\n1,2\n"),
    "pickle": ("not a zip file", lambda good: pickle.dumps({"header": 1})),
    "npz of something else": ("header", lambda good: npz(X=np.ones(3))),
    "list": ("wrong place", lambda good: npz(header=np.array("[1, 2]"))),
    "truncated": ("not a zip file", lambda good: good[: len(good) // 2]),
    "one byte short": ("", lambda good: good[:-1]),
    "other format": ("it holds 'another.Format'", lambda good: with_header(good, format="another.Format")),
    "format that is a list": ("it holds", lambda good: with_header(good, format=["autonmf.AutoNMF"])),
    "newer": ("version 99 is newer than 1; update autonmf", lambda good: with_header(good, version=99)),
    "newer path": ("version 99 is newer than 2; update", lambda good: with_part(good, "path", version=99)),
    "no path": ("wrong place", lambda good: with_header(good, path=None)),
    "path of other factors": ("do not match the shape", lambda good: with_part(good, "path", shape=[61, 40])),
    "unknown parameter": ("unknown parameters: colour", lambda good: with_part(good, "parameters", colour=1)),
    "nested parameter": ("unknown parameters", lambda good: with_part(good, "parameters", solver__tol=1)),
    "parameter that is a list": ("neither", lambda good: with_part(good, "parameters", init=[1])),
    "parameters that are a list": ("wrong place", lambda good: with_header(good, parameters=[])),
    "no components": ("components", lambda good: with_arrays(good, components=np.ones((0, 40)))),
    "components too short": ("40 features", lambda good: with_arrays(good, components=np.ones((3, 39)))),
    "components too many": (
        "a variance for each",
        lambda good: with_arrays(good, components=np.ones((4, 40))),
    ),
    "components of integers": (
        "components holds int64 entries",
        lambda good: with_arrays(good, components=np.ones((3, 40), int)),
    ),
    "NaN": ("finite and nonnegative", lambda good: with_component(good, np.nan)),
    "infinite": ("finite and nonnegative", lambda good: with_component(good, np.inf)),
    "negative": ("finite and nonnegative", lambda good: with_component(good, -1e-300)),
    "open brackets": ("", lambda good: with_description(good, "(((")),
    "odd indents": ("", lambda good: with_description(good, "  1\n 2")),
    "negative error": ("nonnegative number", lambda good: with_header(good, reconstruction_err=-1.0)),
    "error that is NaN": ("nonnegative number", lambda good: with_header(good, reconstruction_err=np.nan)),
    "variance that is text": ("nonnegative number", lambda good: with_header(good, explained_variance=["1"])),
    "iterations that are no count": ("count", lambda good: with_header(good, n_iter=1.5)),
    "polished that is text": ("wrong place", lambda good: with_header(good, polished="yes")),
    "too few names": ("name for each feature", lambda good: with_header(good, feature_names=["a"])),
    "names that are numbers": ("wrong place", lambda good: with_header(good, feature_names=[1] * 40)),
    "estimate that is a list": ("wrong place", lambda good: with_header(good, rank_estimate=[1])),
    "rank zero": ("count", lambda good: with_part(good, "rank_estimate", rank=0)),
    "why that is a number": ("wrong place", lambda good: with_part(good, "rank_estimate", why=1)),
    "too sure": ("not a probability", lambda good: with_part(good, "rank_estimate", confidence=1.5)),
    "warnings that are text": ("wrong place", lambda good: with_part(good, "rank_estimate", warnings="a")),
    "no table": ("different lengths", lambda good: with_part(good, "rank_estimate", evidence={})),
    "estimate of another rank": (
        "3 components are not the rank of its estimate",
        lambda good: with_part(good, "rank_estimate", rank=4, plausible=[3, 4]),
    ),
    "estimate beyond the path": (
        "ranks of its estimate are not those of its path",
        lambda good: with_part(good, "rank_estimate", rank=99, plausible=[99]),
    ),
    "estimate that is not plausible": (
        "ranks of its estimate are not those of its path",
        lambda good: with_part(good, "rank_estimate", plausible=[2]),
    ),
    "no estimate": ("are not the rank of its estimate", lambda good: with_header(good, rank_estimate=None)),
    "components of another path": (
        "are not those of its path",
        lambda good: with_header(good, polished=False),
    ),
    "evidence of other ranks": (
        "evidence is not that of its ranks",
        lambda good: with_evidence(good, ranks=list(range(2, 10))),
    ),
    "ragged": ("lengths", lambda good: with_part(good, "rank_estimate", evidence={"a": [1], "b": [1, 2]})),
    "words": ("list of numbers", lambda good: with_part(good, "rank_estimate", evidence={"a": ["b"]})),
    "table of tables": ("numbers", lambda good: with_part(good, "rank_estimate", evidence={"a": [[1]]})),
}


@pytest.mark.filterwarnings("ignore:Reading `.npy`:UserWarning")
@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_model_is_refused(kind: str, model: AutoNMF, tmp_path: Path) -> None:
    file = tmp_path / "model.npz"
    model.save(file)
    message, change = FOREIGN[kind]
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(ValueError, match=f"model.npz is not a saved AutoNMF: .*{message}"):
        AutoNMF.load(file)
    gc.collect()  # a file left open is reported now, with this test


def test_a_path_is_no_model_and_a_model_no_path(model: AutoNMF, tmp_path: Path) -> None:
    model.save(tmp_path / "model.npz")
    model.path_.save(tmp_path / "path.npz")
    with pytest.raises(ValueError, match="not a saved AutoNMF: it holds a saved RankPath: use RankPath"):
        AutoNMF.load(tmp_path / "path.npz")
    with pytest.raises(ValueError, match="not a saved RankPath: it holds a saved AutoNMF: use AutoNMF"):
        RankPath.load(tmp_path / "model.npz")


@pytest.mark.parametrize("name", ["header", "components", "U0"])
def test_pickles_are_never_run(name: str, model: AutoNMF, tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return (pytest.fail, ("a pickle was run",))

    bomb = np.empty(1, dtype=object)
    bomb[0] = Bomb()
    file = tmp_path / "model.npz"
    model.save(file)
    file.write_bytes(with_arrays(file.read_bytes(), **{name: bomb}))
    with pytest.raises(ValueError, match="is not a saved AutoNMF"):
        AutoNMF.load(file)


def test_damage_is_refused_or_does_no_harm(model: AutoNMF, tmp_path: Path, flipped: Callable) -> None:
    file = tmp_path / "model.npz"
    model.save(file)
    refused = 0
    for damaged in flipped(file.read_bytes()):
        file.write_bytes(damaged)
        try:
            loaded = AutoNMF.load(file)
        except ValueError:
            refused += 1
        else:
            assert_alike(model, loaded)
            assert_same_path(model.path_, loaded.path_)
    assert refused > 250


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        AutoNMF.load(tmp_path / "nothing.npz")
