"""scikit-learn's callbacks: what they are told, progress bars, and ending a path early."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from autonmf import AutoNMF
from autonmf._callbacks import FitTasks
from autonmf.path import PathOptions, Progress

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9")


class Diary:
    """Writes down every hook; ``stop`` decides at the end of a task whether to go on."""

    def __init__(self, stop: Callable[[Any, Any], bool] = lambda context, metadata: False) -> None:
        self.stop = stop
        self.entries: list[tuple[str, str, int | None]] = []
        self.losses: dict[int, float] = {}
        self.tree: Any = None
        self.fitted: list[Any] = []

    def setup(self, estimator: Any, context: Any) -> None:
        self.entries.append(("setup", context.task_name, None))

    def teardown(self, estimator: Any, context: Any) -> None:
        self.entries.append(("teardown", context.task_name, None))
        self.tree = context

    def on_fit_task_begin(self, estimator: Any, context: Any, *, metadata: Any = None) -> None:
        self.entries.append(("begin", context.task_name, (metadata or {}).get("rank")))

    def on_fit_task_end(
        self,
        estimator: Any,
        context: Any,
        *,
        X: Any = None,
        metadata: Any = None,
        fitted_estimator: Any = None,
    ) -> bool:
        self.entries.append(("end", context.task_name, (metadata or {}).get("rank")))
        if context.task_name == "rank":
            self.losses[metadata["rank"]] = metadata["relative_loss"]
            assert metadata["seconds"] > 0
        if fitted_estimator is not None:
            self.fitted.append(fitted_estimator)
        assert X is not None
        return self.stop(context, metadata)


def test_the_tasks_of_a_fit(low_rank: np.ndarray) -> None:
    diary = Diary()
    model = AutoNMF(max_rank=3, random_state=0).set_callbacks(diary).fit(low_rank)
    ranks = [entry for k in (3, 2, 1) for entry in (("begin", "rank", k), ("end", "rank", k))]
    assert diary.entries == [
        ("setup", "fit", None),
        ("begin", "fit", None),
        ("begin", "path", None),
        *ranks,
        ("end", "path", None),
        ("begin", "polish", model.n_components_),
        ("end", "polish", None),
        ("end", "fit", None),
        ("teardown", "fit", None),
    ]


def test_callbacks_change_nothing(low_rank: np.ndarray, plain: tuple[np.ndarray, AutoNMF]) -> None:
    watched = AutoNMF(random_state=0).set_callbacks(Diary())
    assert_array_equal(watched.fit_transform(low_rank), plain[0])
    assert_array_equal(watched.path_.losses, plain[1].path_.losses)
    assert watched.path_.complete


def test_losses_are_those_of_the_finished_ranks(low_rank: np.ndarray) -> None:
    diary = Diary()
    model = AutoNMF(max_rank=8, rule="marginal", random_state=0).set_callbacks(diary).fit(low_rank)
    path = model.path_
    assert diary.losses.keys() == set(path.ranks.tolist())
    for rank, relative in zip(path.ranks, path.relative_losses, strict=True):
        assert diary.losses[rank] == pytest.approx(relative, rel=1e-6)


@pytest.mark.parametrize("jobs", [None, 2])
def test_one_path_a_start(low_rank: np.ndarray, jobs: int | None) -> None:
    diary = Diary()
    AutoNMF(max_rank=4, n_starts=3, n_jobs=jobs, random_state=0).set_callbacks(diary).fit(low_rank)
    children = [task for task in diary.tree if task.parent is diary.tree]
    assert sorted((task.task_name, task.task_id) for task in children) == [
        ("path", 0),
        ("path", 1),
        ("path", 2),
        ("polish", 3),
    ]
    for task in children[:3]:
        assert task.max_subtasks >= len([rank for rank in task if rank.parent is task]) >= 3
    names = [(when, name) for when, name, _ in diary.entries]
    assert names.count(("begin", "path")) == names.count(("end", "path")) == 3
    assert names.count(("begin", "rank")) == names.count(("end", "rank"))
    if jobs is None:
        first_end = names.index(("end", "path"))
        assert names.index(("begin", "path"), first_end) == first_end + 1, "one after another"


def test_a_given_start_is_one_path(low_rank: np.ndarray) -> None:
    diary = Diary()
    rng = np.random.default_rng(0)
    given = rng.random((60, 4)), rng.random((40, 4))
    AutoNMF(init=given, n_starts=3).set_callbacks(diary).fit(low_rank)
    assert diary.tree.max_subtasks == 2


def test_a_given_rank_ends_the_path(low_rank: np.ndarray) -> None:
    diary = Diary()
    AutoNMF(2, max_rank=5, random_state=0).set_callbacks(diary).fit(low_rank)
    (path,) = (task for task in diary.tree if task.task_name == "path")
    assert path.max_subtasks == 4
    assert min(diary.losses) == 2


def test_the_adaptive_grid(low_rank: np.ndarray) -> None:
    diary = Diary()
    options = {"max_rank": 6, "grid": "adaptive", "rule": "marginal", "solver": "s-ipalm"}
    model = AutoNMF(**options, random_state=0).set_callbacks(diary).fit(low_rank)
    assert set(model.path_.ranks) <= set(diary.losses)


@pytest.mark.parametrize(("starts", "jobs"), [(1, None), (2, None), (2, 2)])
def test_a_path_that_is_searched_again(starts: int, jobs: int | None) -> None:
    """Where compression misleads, the first rank begins again, on X itself."""
    X = np.eye(300)  # without leading directions
    diary = Diary()
    model = AutoNMF(max_rank=6, rule="marginal", n_starts=starts, n_jobs=jobs, random_state=0)
    model.set_callbacks(diary).fit(X)
    assert model.path_.settings["engine"] == "direct", "the data of this test have to mislead"
    children = [task.task_name for task in diary.tree if task.parent is diary.tree]
    assert children == ["path"] * starts + ["polish"]
    assert diary.entries.count(("begin", "path", None)) == diary.entries.count(("end", "path", None))
    ranks = [rank for hook, name, rank in diary.entries if (hook, name) == ("begin", "rank")]
    assert sorted(ranks) == sorted(starts * list(range(1, 7)))


@pytest.mark.parametrize("jobs", [None, 2])
def test_a_path_that_is_searched_again_because_of_a_later_start(
    low_rank: np.ndarray, jobs: int | None
) -> None:
    """The second path of a start is a task of its own."""
    diary = Diary()
    model = AutoNMF(max_rank=2, n_starts=2, n_jobs=jobs).set_callbacks(diary)
    tasks = FitTasks(model, PathOptions(max_rank=2, n_starts=2, n_jobs=jobs), low_rank, None)
    for start, rank in ((0, 2), (0, 1), (1, 2), (0, 2), (0, 1), (1, 2), (1, 1)):
        assert not tasks(Progress(start, 2, 2, rank, 1, 1 / rank, 0.1))
    tasks.polishing(1)
    n_paths = 3 if jobs else 4  # in turn, the short path of start 1 ends where start 0 begins again
    assert diary.entries.count(("begin", "path", None)) == n_paths
    assert diary.entries.count(("end", "path", None)) == n_paths


def test_ranks_that_come_back_and_ranks_below_the_last(low_rank: np.ndarray) -> None:
    """A component may vanish and return, and a grid may jump beyond the rank that was asked for."""
    diary = Diary()
    model = AutoNMF(3, max_rank=5).set_callbacks(diary)
    tasks = FitTasks(model, PathOptions(max_rank=5), low_rank, None)
    for iteration, rank in enumerate((5, 4, 5, 4, 3, 2, 1, 3), start=1):
        assert not tasks(Progress(0, 1, 5, rank, iteration, 1 / rank, 0.1 * iteration))
    tasks.polishing(3)
    assert [rank for hook, name, rank in diary.entries if (hook, name) == ("begin", "rank")] == [5, 4, 3]


def test_the_end_of_the_fit_has_a_fitted_estimator(low_rank: np.ndarray) -> None:
    diary = Diary()
    model = AutoNMF(3, max_rank=4, random_state=0).set_callbacks(diary).fit(low_rank)
    (fitted,) = diary.fitted
    assert fitted is not model
    assert_array_equal(fitted.transform(low_rank), model.transform(low_rank))


@pytest.mark.filterwarnings("ignore:the polish at rank:sklearn.exceptions.ConvergenceWarning")
def test_stopping_ends_the_path(low_rank: np.ndarray) -> None:
    diary = Diary(lambda context, metadata: context.task_name == "rank" and metadata["rank"] == 8)
    model = AutoNMF(random_state=0).set_callbacks(diary).fit(low_rank)
    assert not model.path_.complete
    assert model.path_.ranks.min() == 7, "ended in the first iteration after rank 8"
    assert "the path is incomplete" in model.rank_estimate_.warnings
    assert model.transform(low_rank).shape == (60, model.n_components_)


@pytest.mark.filterwarnings("ignore:the polish at rank:sklearn.exceptions.ConvergenceWarning")
def test_stopping_after_a_start(low_rank: np.ndarray) -> None:
    diary = Diary(lambda context, metadata: context.task_name == "path")
    model = AutoNMF(n_starts=5, random_state=0).set_callbacks(diary).fit(low_rank)
    assert not model.path_.complete
    assert {visit.start for visit in model.path_.visits} <= {0, 1}
    assert model.n_components_ == 3


def test_a_rank_that_was_not_reached(low_rank: np.ndarray) -> None:
    diary = Diary(lambda context, metadata: context.task_name == "rank")
    with pytest.raises(ValueError, match="rank 2 is not on this path; it visited"):
        AutoNMF(2, random_state=0).set_callbacks(diary).fit(low_rank)
    assert diary.entries[-1][0] == "teardown"


def test_refused_data_leave_nothing_behind(low_rank: np.ndarray) -> None:
    diary = Diary()
    model = AutoNMF(random_state=0).set_callbacks(diary)
    with pytest.raises(ValueError, match="Negative values"):
        model.fit(low_rank - 1.0)
    hooks = [hook for hook, _, _ in diary.entries]
    assert hooks.count("setup") == hooks.count("teardown")
    assert model.fit(low_rank).n_components_ == 3


def test_progress_bars(low_rank: np.ndarray, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich", reason="rich is not installed")
    AutoNMF(n_starts=2, random_state=0).set_callbacks(callback.ProgressBar()).fit(low_rank)
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition("━")[0].strip() for line in lines if "100%" in line] == [
        "AutoNMF - fit",
        "AutoNMF - path #0",
        "AutoNMF - path #1",
    ]


def test_in_a_pipeline(low_rank: np.ndarray, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich", reason="rich is not installed")
    pipeline = make_pipeline(StandardScaler(with_mean=False), AutoNMF(random_state=0))
    for fit in (pipeline.fit, pipeline.fit_transform):
        pipeline.set_callbacks(callback.ProgressBar())
        fit(low_rank)
        assert "AutoNMF - fit" in capsys.readouterr().out


def test_a_clone_and_a_second_fit(low_rank: np.ndarray) -> None:
    diary = Diary()
    model = AutoNMF(max_rank=3, random_state=0).set_callbacks(diary)
    model.fit(low_rank)
    once = list(diary.entries)
    model.fit(low_rank)
    assert diary.entries == once + once
    assert clone(model).get_params() == model.get_params()
    model.set_callbacks().fit(low_rank)
    assert diary.entries == once + once, "nobody is told any more"


def test_verbose_prints_as_well(low_rank: np.ndarray, capsys: pytest.CaptureFixture[str]) -> None:
    diary = Diary()
    AutoNMF(max_rank=4, rule="marginal", verbose=1, random_state=0).set_callbacks(diary).fit(low_rank)
    assert capsys.readouterr().out.count("[AutoNMF] rank") == 4
    assert len(diary.losses) == 4
