"""Every family: valid, deterministic, visible, and held out where it says so."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import NMF

from autonmf.datasets import make_low_rank
from experiments.rank_benchmark import DESIGN_SEEDS, FINAL_SEEDS, Family, Instance, choose_families
from experiments.rank_benchmark.factors import (
    bounded,
    negative_binomial,
    overdispersed,
    poses,
    speckle,
    symmetric,
    visibility,
    weakest,
    with_norm,
)
from experiments.rank_benchmark.families import GROUPS, all_families, register
from experiments.rank_benchmark.oracle import oracle_errors, problems

DRAWN = [family for family in all_families().values() if family.seeds is None and not family.large]
GENERATED = [family for family in DRAWN if family.group in ("synthetic", "semi")]
REAL = choose_families("real")
ids = pytest.mark.parametrize


def names(families: list[Family]) -> set[str]:
    return {family.name for family in families}


def without_data(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("AUTONMF_DATA", str(folder))


@ids("family", DRAWN, ids=lambda family: family.name)
def test_valid_and_deterministic(family: Family) -> None:
    one, again = family.generate(FINAL_SEEDS[0]), family.generate(FINAL_SEEDS[0])
    assert problems(one) == []
    assert one.U is not None
    assert one.V is not None
    for name in ("X", "U", "V"):
        assert getattr(one, name).tobytes() == getattr(again, name).tobytes()
    assert (one.rank, one.note) == (again.rank, again.note)
    other = family.generate(DESIGN_SEEDS[0])
    assert other.X.shape != one.X.shape or not np.array_equal(other.X, one.X)


@ids("family", GENERATED, ids=lambda family: family.name)
def test_truth_is_above_the_noise(family: Family) -> None:
    assert visibility(family.generate(1)) > 0.6
    assert family.hard


@ids("family", [f for f in GENERATED if f.group == "semi"], ids=lambda family: family.name)
def test_needs_no_data(family: Family, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without_data(monkeypatch, tmp_path)
    instance = family.generate(0)
    assert problems(instance) == []
    assert "real" not in instance.note.replace("0 real", "")


@ids("family", [f for f in GENERATED if f.name.startswith("nothing")], ids=lambda family: family.name)
def test_nothing_is_rank_one(family: Family) -> None:
    instance = family.generate(0)
    assert instance.rank == 1
    assert instance.X.mean() == pytest.approx((instance.U @ instance.V.T).mean(), rel=0.02)


@ids("family", REAL, ids=lambda family: family.name)
def test_real_data(family: Family, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if not family.available():
        pytest.skip("its file is not in the data home: set AUTONMF_DATA")
    assert family.seeds_of(range(3)) == [0]
    if not family.large:
        assert problems(family.generate(0)) == []
    without_data(monkeypatch, tmp_path)
    assert not family.available()
    with pytest.raises(FileNotFoundError, match="set AUTONMF_DATA"):
        family.generate(0)


def test_paper_is_table_1() -> None:
    paper = choose_families("paper")
    assert len(paper) == 24
    X, U, _ = make_low_rank(1000, 400, 10, 0.3, random_state=3)
    instance = all_families()["paper-1000x400-0.3-r10"].generate(3)
    assert np.array_equal(instance.X, X)
    assert np.array_equal(instance.U, U)
    assert sum(family.large for family in paper) == 16


def test_ranks_vary_and_include_the_extremes() -> None:
    ranks = {f.name: Counter(f.generate(seed).rank for seed in DESIGN_SEEDS) for f in GENERATED}
    assert set(ranks["few"]) == {1, 2, 3}
    assert set(ranks["many"]) == {30, 40}
    assert len({rank for name in ("exact", "exact-integers") for rank in ranks[name]}) > 3
    constant = [name for name, seen in ranks.items() if len(seen) == 1]
    assert all(name.startswith("nothing") or name == "clipped-one" for name in constant)


def test_held_out_families_are_asked_for_by_name_only() -> None:
    held_out = names(choose_families("held-out"))
    drawn = names(choose_families("all")) - names(choose_families(["paper", "real"]))
    assert 0.25 < len(held_out) / len(drawn) < 0.5
    for word in ("design", *GROUPS):
        assert not held_out & names(choose_families(word))
    assert names(choose_families("all")) == names(choose_families("design")) | held_out
    some = min(held_out)
    assert names(choose_families([some, "small"])) == {some, "small"}
    assert all("held_out" in family.generate.__closure__[0].cell_contents.__module__
               for family in choose_families("held-out"))  # fmt: skip
    assert not set(DESIGN_SEEDS) & set(FINAL_SEEDS)


def test_unknown_and_repeated_names() -> None:
    with pytest.raises(ValueError, match="unknown families: nonsense"):
        choose_families(["small", "nonsense"])
    with pytest.raises(ValueError, match="already is a family 'small'"):
        register(all_families()["small"])
    with pytest.raises(ValueError, match="unknown group 'other'"):
        register(Family("new", "other", lambda seed: Instance(np.ones((2, 2)), 1), ""))


@ids("noise", [lambda M, rng: bounded(M, 2.0, rng), lambda M, rng: speckle(M, 2.0, rng),
               lambda M, rng: overdispersed(M, 0.5, rng),
               lambda M, rng: negative_binomial(M, 3.0, rng),
               lambda M, rng: symmetric(M, rng.standard_normal(M.shape))])  # fmt: skip
def test_noise_is_nonnegative_and_unbiased(noise) -> None:
    rng = np.random.default_rng(0)
    M = np.repeat(rng.uniform(0.0, 4.0, (20, 1)), 40_000, axis=1)
    M[0] = 0.0
    X = noise(M, rng)
    assert (X >= 0).all()
    np.testing.assert_allclose(X.mean(axis=1), M[:, 0], rtol=0.03, atol=1e-9)


def test_visibility_is_that_of_the_singular_values() -> None:
    X, U, V = make_low_rank(50, 30, rank=4, noise=0.5, random_state=0)
    signal, noise = np.linalg.svd(U @ V.T)[1], np.linalg.svd(X - U @ V.T)[1]
    assert weakest(U, V) == pytest.approx(signal[3])
    assert visibility(Instance(X, 4, U, V)) == pytest.approx(signal[3] / noise[0])
    assert np.isnan(visibility(Instance(X, 4)))


def test_units_do_not_hide_a_component() -> None:
    X, U, V = make_low_rank(50, 30, rank=4, noise=0.5, random_state=0)
    rows, columns = np.random.default_rng(0).lognormal(0.0, 1.5, 50), np.linspace(0.1, 9.0, 30)
    scaled = Instance(X * np.outer(rows, columns), 4, U * rows[:, None], V * columns[:, None])
    same = replace(scaled, units=(rows, columns))
    assert visibility(same) == pytest.approx(visibility(Instance(X, 4, U, V)))
    assert visibility(scaled) < visibility(same)
    np.testing.assert_allclose(oracle_errors(same), oracle_errors(Instance(X, 4, U, V)), rtol=1e-3)


def test_noise_with_a_norm_and_noise_of_counts() -> None:
    rng = np.random.default_rng(0)
    assert np.linalg.norm(with_norm(rng.standard_normal((40, 30)), 2.5), 2) == pytest.approx(2.5)
    counts = negative_binomial(np.full((1000, 400), 6.0), 3.0, rng)
    assert (counts == counts.round()).all()
    assert counts.var() == pytest.approx(6.0 + 6.0**2 / 3.0, rel=0.02)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@ids("name", ["limbs", "uneven-limbs", "bars"])
def test_parts_are_linearly_dependent(name: str) -> None:
    """More parts than linear directions, and no fit with one part fewer is as good."""
    instance = all_families()[name].generate(0)
    M = instance.U @ instance.V.T
    linear = np.linalg.matrix_rank(M)
    assert linear < instance.rank
    assert f"linear rank {linear}," in f"{instance.note},"
    fewer = [
        NMF(instance.rank - 1, init="random", max_iter=200, random_state=s).fit(M).reconstruction_err_
        for s in range(2)
    ]
    assert min(fewer) > 0.05 * np.linalg.norm(M)


def test_poses_are_all_combinations_or_some() -> None:
    every = poses([2, 3], None, np.random.default_rng(0))
    assert len(np.unique(every > 0, axis=0)) == 6
    assert (np.count_nonzero(every, axis=1) == 2).all()
    np.testing.assert_allclose(every[:, :2].sum(axis=1), every[:, 2:].sum(axis=1))
    assert poses([2, 3, 4], 50, np.random.default_rng(0)).shape == (50, 9)


@ids("name", ["collinear-spectra", "collinear-lines"])
def test_spectra_are_nearly_collinear(name: str) -> None:
    V = all_families()[name].generate(0).V
    scaled = V / np.linalg.norm(V, axis=0)
    assert (scaled.T @ scaled).min() > 0.95


@ids("name", [family.name for family in GENERATED if family.name.startswith("low-last")])
def test_last_components_have_low_energy(name: str) -> None:
    instance = all_families()[name].generate(0)
    energies = np.linalg.norm(instance.U, axis=0) ** 2 * np.linalg.norm(instance.V, axis=0) ** 2
    assert 0.99e-3 < energies[-1] / energies[0] < 1.01e-2
    assert visibility(instance) > 1.9


def test_problems_are_named() -> None:
    bad = np.array([[1.0, -1.0], [np.nan, 0.0]])
    assert problems(Instance(bad, 2, np.ones((3, 2)), -np.ones((2, 2)))) == [
        "X is not finite",
        "X has negative entries",
        "rank 2 is not between 1 and half of 2",
        "U has shape (3, 2)",
        "V has entries that are negative or not finite, or an empty column",
    ]
    assert problems(Instance(np.zeros((4, 4)), 1)) == ["X is zero"]


def test_oracle_recovers_what_is_there_and_nothing_else() -> None:
    X, U, V = make_low_rank(60, 40, rank=3, noise=0.05, random_state=0)
    held, found = oracle_errors(Instance(X, 3, U, V))
    assert held < 0.1
    assert found < 0.1
    other = np.random.default_rng(1).random((60, 3))
    assert oracle_errors(Instance(X, 3, other, V))[0] > 0.5
