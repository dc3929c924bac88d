"""Whose cluster it is, how many workers it has and what becomes of them does not change the answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest

from autonmf.distributed import open_data
from autonmf.fit import Factorisation, factorise
from autonmf.path import PathOptions, Progress

OPTIONS = PathOptions(max_rank=4, random_state=0, engine="compressed", tol=1e-2)


def solution(X: np.ndarray, options: PathOptions = OPTIONS) -> Factorisation:
    with open_data(da.from_array(X, chunks=(40, 30))) as opened:
        return factorise(opened, options)


def assert_same_bits(one: Factorisation, other: Factorisation) -> None:
    assert one.loss == other.loss
    np.testing.assert_array_equal(one.H, other.H)
    np.testing.assert_array_equal(one.path.losses, other.path.losses)
    for point, twin in zip(one.path.points, other.path.points, strict=True):
        np.testing.assert_array_equal(point.V, twin.V)


@pytest.fixture(scope="module")
def undisturbed(client: Any, tall: np.ndarray) -> Factorisation:
    return solution(tall)


@pytest.mark.slow
def test_same_bits_with_one_worker(undisturbed: Factorisation, cluster: Any, tall: np.ndarray) -> None:
    with cluster(n_workers=1) as workers, workers.get_client():
        assert_same_bits(solution(tall), undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("how_many", [1, 2])
def test_killed_workers_change_nothing(
    undisturbed: Factorisation, cluster: Any, tall: np.ndarray, how_many: int
) -> None:
    killed: list[int] = []
    with cluster(n_workers=2) as workers, workers.get_client() as client:

        def kill(progress: Progress) -> None:
            if progress.rank == 3 and progress.iteration == 2 and not killed:
                killed.extend(sorted(client.run(os.getpid).values())[:how_many])
                for pid in killed:
                    os.kill(pid, signal.SIGKILL)

        disturbed = solution(tall, replace(OPTIONS, callback=kill))
        assert killed
        assert_same_bits(disturbed, undisturbed)


SCRIPT = """
import gc, multiprocessing
import dask.array as da
from autonmf import AutoNMF
from autonmf.datasets import make_low_rank

if __name__ == "__main__":
    X = da.from_array(make_low_rank(80, 20, rank=2, random_state=0)[0], chunks=(20, 20))
    model = AutoNMF(n_components=2, max_rank=2, random_state=0).fit(X)
    print(model.components_.shape, model.transform(X).compute().shape)
    try:
        AutoNMF(max_rank=2).fit(-X)
    except ValueError as error:
        print(str(error)[:15])
    from distributed.client import default_client
    try:
        default_client()
    except ValueError:
        print("no client")
"""


@pytest.mark.slow
def test_a_cluster_of_our_own_comes_and_goes(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-W", "error", tmp_path / "script.py"], capture_output=True, text=True, timeout=300
    )
    assert done.stderr == ""
    assert done.stdout.split("\n")[:3] == ["(2, 20) (80, 2)", "Negative values", "no client"]


@pytest.mark.slow
def test_a_script_that_its_workers_cannot_import_says_what_it_lacks(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    imports = "import dask.array as da\nfrom autonmf import rank_path\n"
    script.write_text(imports + "rank_path(da.ones((40, 5), chunks=(10, 5)), 2)\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert "if __name__ == '__main__':" in done.stderr.strip().split("\n")[-1]
