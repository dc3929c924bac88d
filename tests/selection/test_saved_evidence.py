"""The evidence of a path is saved with it, and the choice can be made again from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from autonmf import AutoNMF, RankPath, rank_path, select_rank
from autonmf.path import Evidence

Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def path(low_rank: np.ndarray) -> RankPath:
    return rank_path(low_rank, equilibrate=True, random_state=0)


def same_evidence(one: Evidence, other: Evidence) -> bool:
    columns = [[e.ranks, e.losses, e.spectrum, e.whitened.squares] for e in (one, other)]
    rest = [(e.shape, e.complete, e.whitened.shape, e.whitened.clipped) for e in (one, other)]
    return rest[0] == rest[1] and all(a.tobytes() == b.tobytes() for a, b in zip(*columns, strict=True))


@pytest.mark.parametrize("complete", [True, False])
def test_evidence_is_saved_to_the_last_bit(complete: bool, low_rank: np.ndarray, tmp_path: Path) -> None:
    path = rank_path(
        low_rank, equilibrate=True, callback=lambda p: not complete and p.rank == 5, random_state=0
    )
    path.save(tmp_path / "path.npz")
    loaded = RankPath.load(tmp_path / "path.npz")
    assert same_evidence(loaded.evidence, path.evidence)
    assert loaded.evidence.ranks.dtype == path.evidence.ranks.dtype
    assert loaded.evidence.complete is complete
    one, other = (select_rank(p, "auto") for p in (path, loaded))
    assert str(one) == str(other)
    assert one.evidence["probability"].tobytes() == other.evidence["probability"].tobytes()


def edited(path: RankPath, file: Path, change: Change) -> None:
    """Save a path with its header changed."""
    path.save(file)
    with np.load(file) as stored:
        arrays = dict(stored)
    header = json.loads(str(arrays["header"]))
    change(header)
    np.savez(file, **(arrays | {"header": np.array(json.dumps(header))}))


def test_a_file_without_evidence_still_loads(path: RankPath, tmp_path: Path) -> None:
    edited(path, tmp_path / "old.npz", lambda header: header.pop("evidence"))
    old = RankPath.load(tmp_path / "old.npz")
    assert old.evidence is None
    assert_array_equal(old.losses, path.losses)
    assert select_rank(old, "marginal", tau=5.0).rank == select_rank(path, "marginal", tau=5.0).rank
    with pytest.raises(ValueError, match=r"rank_path\(X, equilibrate=True\)"):
        select_rank(old, "auto")


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header["evidence"]["losses"].pop(),
        lambda header: header["evidence"].pop("spectrum"),
        lambda header: header.update(evidence=[1, 2, 3]),
        lambda header: header["evidence"].update(spectrum=[[1.0], [1.0, 2.0]]),
        lambda header: header["evidence"].pop("whitened"),
        lambda header: header["evidence"]["whitened"].update(squares=[np.nan]),
        lambda header: header["evidence"]["whitened"].update(squares="many"),
        lambda header: header["evidence"]["whitened"].update(shape=[60]),
        lambda header: header["evidence"]["whitened"].update(shape=[60, -40]),
        lambda header: header["evidence"]["whitened"].update(clipped=1),
    ],
)
def test_damaged_evidence_is_refused(change: Change, path: RankPath, tmp_path: Path) -> None:
    edited(path, tmp_path / "path.npz", change)
    with pytest.raises(ValueError, match=r"path\.npz is not a saved RankPath"):
        RankPath.load(tmp_path / "path.npz")


def test_the_choice_can_be_made_again(low_rank: np.ndarray, tmp_path: Path) -> None:
    model = AutoNMF(random_state=0).fit(low_rank)
    assert model.rank_estimate_.rule == "auto"
    model.path_.save(tmp_path / "path.npz")
    for path in (model.path_, RankPath.load(tmp_path / "path.npz"), model.path_.evidence):
        again = select_rank(path, "auto")
        assert str(again) == str(model.rank_estimate_)
        assert again.plausible == model.rank_estimate_.plausible
        assert again.confidence == model.rank_estimate_.confidence


def test_what_each_rule_refuses(path: RankPath, low_rank: np.ndarray) -> None:
    plain = rank_path(low_rank, max_rank=4, random_state=0)
    assert plain.evidence is None
    with pytest.raises(
        ValueError, match=r'rule="auto" reads the equilibrated X.*rank_path\(X, equilibrate=True\)'
    ):
        select_rank(plain, "auto")
    with pytest.raises(TypeError, match='rule="marginal" reads a RankPath, got Evidence'):
        select_rank(path.evidence, "marginal")
    for given in (path, path.evidence, plain):
        with pytest.raises(ValueError, match='tau belongs to rule="marginal"'):
            select_rank(given, "auto", tau=2.0)
    with pytest.raises(ValueError, match='tau belongs to rule="marginal"'):
        AutoNMF(tau=2.0).fit(low_rank)
    with pytest.raises(ValueError, match="unknown rule 'elbow'; choose one of auto, marginal"):
        select_rank(path, "elbow")
