"""Missing entries, checkpoints and large files, as the command line has them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from autonmf import AutoNMF
from autonmf.cli.factorise import COMMAND_ADVICE
from autonmf.data import as_data
from autonmf.io import checks, read_matrix


@pytest.fixture
def holes(low_rank: np.ndarray) -> np.ndarray:
    X = low_rank.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    return X


@pytest.fixture
def with_holes(tmp_path: Path, holes: np.ndarray) -> Path:
    rows = [",".join("" if np.isnan(x) else repr(float(x)) for x in row) for row in holes]
    file = tmp_path / "holes.csv"
    file.write_text("\n".join(rows))
    return file


def test_empty_cells_are_left_out(run, with_holes: Path, holes: np.ndarray) -> None:
    done = run("fit", with_holes, "--missing", "mask", "--json")
    assert done.code == 0, done.err
    summary = json.loads(done.out)
    model = AutoNMF(missing="mask", random_state=0).fit(holes)
    assert (summary["rank"], summary["missing"]) == (model.n_components_, "mask") == (3, "mask")
    assert summary["reconstruction_error"] == pytest.approx(model.reconstruction_err_)
    assert "missing entries masked" in run("fit", with_holes, "--missing", "mask").out


def test_they_are_refused_unless_asked_for(run, with_holes: Path) -> None:
    done = run("fit", with_holes)
    assert done.code == 1
    assert "--missing mask" in done.err


def test_the_advice_that_is_put_in_other_words_exists(holes: np.ndarray) -> None:
    for X, advice in zip((holes, -np.ones((2, 2)), np.full((2, 2), 1e200)), COMMAND_ADVICE, strict=True):
        with pytest.raises(ValueError, match=re.escape(advice)):
            as_data(X)


def test_a_checkpoint_is_gone_on_from(run, counts: Path, tmp_path: Path) -> None:
    arguments = ["fit", counts, "--checkpoint", tmp_path / "path.ckpt", "--json"]
    first, again = (json.loads(run(*arguments).out) for _ in range(2))
    assert (tmp_path / "path.ckpt").stat().st_size > 0
    for summary in (first, again):
        del summary["seconds"]
    assert first == again
    foreign = run("fit", counts, "--seed", 1, "--checkpoint", tmp_path / "path.ckpt")
    assert foreign.code == 1
    assert "path.ckpt" in foreign.err


def test_a_large_array_stays_in_its_file(
    run, tmp_path: Path, low_rank: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "x.npy", low_rank)
    inside = json.loads(run("fit", tmp_path / "x.npy", "--json").out)
    monkeypatch.setattr(checks, "KEEP_IN_FILE", 0)
    assert isinstance(read_matrix(tmp_path / "x.npy").X, np.memmap)
    mapped = json.loads(run("fit", tmp_path / "x.npy", "--json").out)
    assert mapped["path"] == inside["path"]
    turned = run("fit", tmp_path / "x.npy", "--transpose", "--out", tmp_path / "out")
    assert turned.code == 0, turned.err
    assert_array_equal(read_matrix(tmp_path / "x.npy").X, low_rank)


def test_a_large_array_that_is_not_all_there(
    run, tmp_path: Path, low_rank: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "x.npy", low_rank)
    content = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(content[: len(content) // 2])
    monkeypatch.setattr(checks, "KEEP_IN_FILE", 0)
    done = run("fit", tmp_path / "x.npy")
    assert done.code == 1
    assert "truncated" in done.err
