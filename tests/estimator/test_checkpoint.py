"""`AutoNMF(checkpoint=...)`: a fit that was killed goes on, with the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import autonmf.fit
from autonmf import AutoNMF
from autonmf.distributed import open_data
from autonmf.path import search
from autonmf.path.journal import Journal

KL = "kullback-leibler"


def make_counts(n: int = 90, m: int = 60) -> np.ndarray:
    """Overdispersed counts, of which the Kullback-Leibler loss estimates weights."""
    rng = np.random.default_rng(0)
    means = 20 * rng.gamma(0.4, size=(n, 4)) @ rng.gamma(0.4, size=(4, m)) + 0.01
    return rng.poisson(means * rng.gamma(2.0, 0.5, means.shape)).astype(float) + 1e-3 * np.eye(n, m)


@pytest.fixture(scope="module")
def counts() -> np.ndarray:
    return make_counts()


class Crash(Exception):
    """The end of a fit that nothing expected."""


def fit(X: np.ndarray, file: Path | None, **options: Any) -> AutoNMF:
    return AutoNMF(**{"max_rank": 8, "random_state": 0} | options, checkpoint=file).fit(X)


def crash_in_search(monkeypatch: pytest.MonkeyPatch, number: int, rank: int) -> None:
    """Let the search of that number fail at a rank."""
    numbers = count()

    def failing(opened: Any, options: Any, **more: Any) -> Any:
        def callback(progress: Any) -> None:
            if progress.rank == rank:
                raise Crash

        if next(numbers) == number:
            options = autonmf.fit.replace(options, callback=callback)
        return search(opened, options, **more)

    monkeypatch.setattr(autonmf.fit, "search", failing)


def assert_same(one: AutoNMF, other: AutoNMF) -> None:
    assert one.n_components_ == other.n_components_
    assert_array_equal(one.components_, other.components_)
    assert_array_equal(one.path_.losses, other.path_.losses)
    for point, another in zip(one.path_.points, other.path_.points, strict=True):
        assert_array_equal(point.U, another.U)
        assert_array_equal(point.V, another.V)
    assert one.rank_estimate_.confidence == other.rank_estimate_.confidence


@pytest.mark.parametrize("loss", ["frobenius", KL])
@pytest.mark.parametrize("number", [0, 1])
def test_a_fit_that_crashed_goes_on(
    counts: np.ndarray, tmp_path: Path, loss: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if loss == "frobenius" and number:
        return  # which has one search only
    whole = fit(counts, None, beta_loss=loss)
    with monkeypatch.context() as patch:
        crash_in_search(patch, number, 4)
        with pytest.raises(Crash):
            fit(counts, tmp_path / "c", beta_loss=loss)
    journal = Journal.open(tmp_path / "c")
    engines = [entry.label.get("stage", "") for entry in journal.entries]
    journal.close()
    assert sum(engine.endswith("weighted") for engine in engines) == (4 if number else 0)  # ranks 8 to 5
    with monkeypatch.context() as patch:
        crash_in_search(patch, number, 8)  # which is not computed again
        resumed = fit(counts, tmp_path / "c", beta_loss=loss)
    assert_same(resumed, whole)


@pytest.mark.parametrize("loss", ["frobenius", KL])
def test_a_finished_fit_is_read_from_its_file(
    counts: np.ndarray, tmp_path: Path, loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = fit(counts, tmp_path / "c", beta_loss=loss)
    content = (tmp_path / "c").read_bytes()
    for number in (0, 1):
        for rank in (8, 2):
            with monkeypatch.context() as patch:
                crash_in_search(patch, number, rank)
                assert_same(fit(counts, tmp_path / "c", beta_loss=loss), whole)
    assert (tmp_path / "c").read_bytes() == content


def test_weights_of_a_path_that_was_stopped_leave_no_record(counts: np.ndarray, tmp_path: Path) -> None:
    """They are not those that the whole path gives."""
    options = autonmf.fit.PathOptions(max_rank=8, beta_loss=KL, random_state=0, checkpoint=tmp_path / "c")
    stopping = autonmf.fit.replace(options, callback=lambda progress: progress.rank == 5)
    with open_data(counts) as opened:
        autonmf.fit.factorise(opened, stopping)
    assert_same(fit(counts, tmp_path / "c", beta_loss=KL), fit(counts, None, beta_loss=KL))


def test_other_data_and_parameters_are_refused(counts: np.ndarray, tmp_path: Path) -> None:
    fit(counts, tmp_path / "c")
    content = (tmp_path / "c").read_bytes()
    other = counts.copy()
    other[3, 4] += 1
    with pytest.raises(ValueError, match="belongs to another run: X has other entries"):
        fit(other, tmp_path / "c")
    for options, message in (
        ({"max_rank": 7}, "max_rank was 8, is 7"),
        ({"beta_loss": KL}, "beta_loss was frobenius, is kullback-leibler"),
        ({"random_state": 1}, "random_state was 0, is 1"),
        ({"rule": "marginal"}, "equilibrate was True, is False"),
        ({"n_components": 3}, "min_rank was 1, is 3"),
        ({"tol": 1e-3}, "tol was 0.0001, is 0.001"),
        ({"time_budget": 10.0}, "Leave out one of the two"),
        ({"random_state": np.random.default_rng(0)}, "must be an int or None"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(counts, tmp_path / "c", **options)
    with pytest.raises(ValueError, match="X has other entries"):
        AutoNMF(max_rank=8, random_state=0, checkpoint=tmp_path / "c").fit(
            counts, sample_weight=np.linspace(1, 2, len(counts))
        )
    assert (tmp_path / "c").read_bytes() == content


@pytest.mark.skipif(sys.platform == "win32", reason="files are not locked on Windows")
def test_two_fits_at_once(counts: np.ndarray, tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "c")
    with pytest.raises(BlockingIOError, match="is in use by another run"):
        fit(counts, tmp_path / "c")
    journal.close()
    fit(counts, tmp_path / "c")


def test_the_name_of_the_file_is_not_saved(counts: np.ndarray, tmp_path: Path) -> None:
    """Loaded elsewhere, the model would go on from whatever has this name."""
    model = fit(counts, str(tmp_path / "c"))
    model.save(tmp_path / "model")
    assert AutoNMF.load(tmp_path / "model").checkpoint is None


KILLED = """
import sys
from itertools import count
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_checkpoint import KL, fit, make_counts
X = make_counts(300, 200)
fit(X[:9, :9] + 1, None, beta_loss=KL, max_rank=2)
print("begun", flush=True)
fit(X, Path(sys.argv[2]), beta_loss=KL, max_rank=10, n_starts=2).save(sys.argv[3])
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
def test_killed_at_any_moment(tmp_path: Path) -> None:
    """Real processes, killed in the first search and in the second."""
    command = [sys.executable, "-c", KILLED, str(Path(__file__).parent), str(tmp_path / "c")]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    reached = set()
    for size in (30_000, 90_000, 150_000, 230_000, None):
        child = subprocess.Popen(
            [*command, str(tmp_path / "model")], stdout=subprocess.PIPE, env=environment, text=True
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n"
        while size and child.poll() is None:
            if (tmp_path / "c").exists() and (tmp_path / "c").stat().st_size > size:
                child.kill()
        reached.add(child.wait())
        child.stdout.close()
    assert -signal.SIGKILL in reached
    whole = fit(make_counts(300, 200), None, beta_loss=KL, max_rank=10, n_starts=2)
    assert_same(AutoNMF.load(tmp_path / "model"), whole)
