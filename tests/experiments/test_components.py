"""The experiments on components: the calibration of the stability, and the groups of the tree."""

from __future__ import annotations

import numpy as np
import pytest

from autonmf import rank_path
from experiments.components.stability import Case, largest_cosines, main, print_calibration
from experiments.components.tree import find_group, largest_shares


def test_the_calibration_counts(capsys: pytest.CaptureFixture[str]) -> None:
    cases = [
        Case("a", 0, 0.95, 0.99), Case("a", 0, 0.95, 0.5), Case("a", 0, 0.85, 0.5), Case("b", 0, 0.99, 1.0),
        Case("a", 3, 0.7, 0.3), Case("b", 3, 0.7, 0.95), Case("b", 3, 0.85, 0.95),
    ]  # fmt: skip
    print_calibration(cases)
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    assert "50 % of 2" in rows["a"]
    assert "100 % of 1" in rows["a"]
    assert "67 % of 3" in rows["all"]
    assert "50 % of 2" in rows["all"]
    assert "67 % of 3" in rows["design"]
    assert "none" in rows["held"]
    assert "100 % of 2" in rows["0.95"], "a stability of one is in the last interval"


def test_cosines_with_the_truth_are_those_of_the_products() -> None:
    rng = np.random.default_rng(0)
    U, V = rng.random((6, 3)), rng.random((5, 3))
    A, B = rng.random((6, 2)), rng.random((5, 2))
    found = largest_cosines((A, B), (U, V))
    expected = [
        max(
            np.sum(np.outer(a, b) * np.outer(u, v))
            / np.linalg.norm(np.outer(a, b))
            / np.linalg.norm(np.outer(u, v))
            for u, v in zip(U.T, V.T, strict=True)
        )
        for a, b in zip(A.T, B.T, strict=True)
    ]
    np.testing.assert_allclose(found, expected)


def test_one_family_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--families", "few", "--seeds", "0", "--resamples", "3"]) == 0
    assert "100 % of 2" in capsys.readouterr().out


def test_a_group_is_found_where_it_is() -> None:
    """Two groups of samples with features of their own are the two components of rank two."""
    X = np.kron(np.eye(2), np.ones((6, 4))) + 0.01
    path = rank_path(X, max_rank=3, random_state=0)
    members = np.arange(12) < 6
    score, rank, index = find_group(path, members, np.ones(12, dtype=bool), 3)
    assert (score, rank) == (1.0, 2)
    point = path.at_rank(2)
    np.testing.assert_array_equal(largest_shares(point.U, point.V.T) == index, members)
