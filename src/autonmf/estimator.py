"""`AutoNMF`: the scikit-learn estimator. It checks its input and calls `autonmf.fit`."""

from __future__ import annotations

from copy import copy
from dataclasses import fields, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import _check_n_features, _num_samples, check_is_fitted, validate_data

from autonmf._callbacks import CallbackSupportMixin, FitObserver, with_callbacks
from autonmf._threads import one_pool
from autonmf._types import Array, Seed
from autonmf._warnings import warn
from autonmf.data import Stored, as_rows, fill_masked_array, is_stored, open_stored, refuse_non_matrix
from autonmf.distributed import is_dask, map_chunks, open_data
from autonmf.fit import factorise, refine, refine_all
from autonmf.model.known import check_known
from autonmf.path import (
    ComponentTree,
    PathOptions,
    RankPath,
    find_loss,
    make_tree,
    project_rows,
    select_levels,
)
from autonmf.saving import SavingMixin
from autonmf.selection import UNCERTAIN, UncertainRankWarning
from autonmf.solvers import Solver
from autonmf.stability import ComponentStability, measure_stability

ADVICE = {
    "could not convert string to float": "X must hold numbers only; leave columns of text out, in pandas "
    "with X.select_dtypes('number')",
    "Complex data not supported": "take magnitudes, for example with np.abs(X)",
}
"""What to do, by the beginning of messages of scikit-learn."""

DOCS = "https://autonmf.readthedocs.io/en/stable"


class AutoNMF(
    CallbackSupportMixin, SavingMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Nonnegative matrix factorisation that finds its number of components.

    X (n_samples x n_features) ≈ W H with W, H ≥ 0. A single warm-started path visits decreasing ranks. A rule
    chooses the rank from it, and the solution at that rank is polished.

    Parameters
    ----------
    n_components : int or "auto", optional
        None or "auto": chosen from the data. An int: the path ends at this rank.
    max_rank : int, optional
        The largest rank of the path. Default: min(⌈min(n, m)/2⌉, 50), or ``n_components`` if that is larger.
        Ranks far above the noise, or above ``n_components``, are computed when ``path_`` is first read.
    fixed_components : array or data frame of shape (k, n_features), optional
        Known components, such as reference spectra: rows of H that do not change. The rank counts them, and
        the rule chooses how many more the data need. Columns are matched by name if both have names.
    beta_loss : {"frobenius", "kullback-leibler"}, or 2 or 1 for them
        The loss, as scikit-learn names it: least squares, or the Kullback-Leibler divergence for counts.
    solver : {"auto", "hals", "pasm", "s-ipalm", "ipalm", "palm"}
        The algorithm; see `rank_path`.
    grid : {"exact", "adaptive"}
        "exact" visits every rank; "adaptive" is the paper's grid of λ.
    rule : {"auto", "marginal"}
        How the rank is chosen from the path. "auto" has no parameters and gives a confidence; "marginal" is
        the paper's rule. See `select_rank`.
    tau : float, optional
        Threshold of the marginal rule.
    mu : float
        Weight of the squared norms of the factors, in units of the scaled X.
    tol : float
        Tolerance of the stopping criteria.
    max_iter : int
        Maximum number of iterations at each rank.
    n_starts : int
        Number of random initial points; each rank keeps its best solution (by default of the equilibrated X).
    init : {"random", "nndsvd", "nndsvda"} or (U, V)
        Initial point.
    engine : {"auto", "direct", "compressed"}
        Whether the path is computed on X or on a compression of it; the polish always ends on X.
    missing : {"error", "mask"}
        "error" refuses NaN. "mask" treats NaN as a missing entry, which is left out of the loss; `transform`
        then accepts missing entries, too.
    time_budget : float, optional
        Time limit of the path in seconds.
    n_jobs : int, optional
        Number of threads for the initial points.
    checkpoint : str or path, optional
        A file to which each rank is saved as soon as it is computed. After a crash, a fit to the same X with
        the same parameters continues from there, with bitwise the same result. Other data or parameters, and
        two fits at once, are an error (see ``docs/checkpoints.md``). It cannot be combined with
        ``time_budget``, nor with a generator as ``random_state``.
    verbose : int
        1 prints a line per rank.
    random_state : int, generator or None
        Seed. The same seed gives bitwise the same result.

    Attributes
    ----------
    n_components_ : int
        The rank.
    components_ : ndarray of shape (n_components_, n_features)
        H: the known components as given, then the others by decreasing energy ‖W_j‖‖H_j‖.
    reconstruction_err_ : float
        ‖X - WH‖_F on the training data, or √(2D) with D the Kullback-Leibler divergence, as in scikit-learn.
    explained_variance_ : ndarray of shape (n_components_,)
        Variance over the samples of each component's contribution W_j H_j, summed over the features.
    n_iter_ : int
        Number of iterations along the path and of the polish together.
    path_ : RankPath
        The solutions at all ranks.
    rank_estimate_ : RankEstimate or None
        The choice and the evidence for it; None if ``n_components`` was given.
    unused_components_ : tuple of int
        Indices of known components that the data do not need.
    polished_ : bool
        Whether the factors were iterated on X until a stopping criterion held.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if X has feature names

    Examples
    --------
    >>> from autonmf import AutoNMF
    >>> from autonmf.datasets import make_low_rank
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> model = AutoNMF(random_state=0).fit(X)
    >>> model.n_components_
    3
    >>> model.transform(X[:2]).shape
    (2, 3)
    """

    _doc_link_module = "autonmf"
    _doc_link_template = DOCS + "/reference/autonmf.{estimator_name}.html"

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        max_rank: int | None = None,
        fixed_components: Any = None,
        beta_loss: str | float = "frobenius",
        solver: str | Solver = "auto",
        grid: str = "exact",
        rule: str = "auto",
        tau: float | None = None,
        mu: float = 1e-8,
        tol: float = 1e-4,
        max_iter: int = 2000,
        n_starts: int = 1,
        init: str | tuple[Any, Any] = "random",
        engine: str = "auto",
        missing: str = "error",
        time_budget: float | None = None,
        n_jobs: int | None = None,
        checkpoint: str | PathLike[str] | None = None,
        verbose: int = 0,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.max_rank = max_rank
        self.fixed_components = fixed_components
        self.beta_loss = beta_loss
        self.solver = solver
        self.grid = grid
        self.rule = rule
        self.tau = tau
        self.mu = mu
        self.tol = tol
        self.max_iter = max_iter
        self.n_starts = n_starts
        self.init = init
        self.engine = engine
        self.missing = missing
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, weights: Any = None) -> Self:
        """Find the rank and the factors of X.

        Parameters
        ----------
        X : array, data frame or CSR/CSC matrix of shape (n_samples, n_features)
            Nonnegative data.
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            How much each sample counts. Samples of weight zero are left out: neither ``path_`` nor given
            factors (``init``) have them.
        weights : array of shape (n_samples, n_features), optional
            How much each entry counts, for example the inverse of its variance. The loss that is minimised,
            and reported, is weighted.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, weights)
        return self

    @with_callbacks
    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None, weights: Any = None) -> Array:
        """Fit to X and return W (n_samples x n_components_).

        The same as ``fit(X).transform(X)``, except that ``weights`` count for W too.
        """
        W = self._fit(X, y, sample_weight, weights)
        whole = is_dask(X) or len(W) == _num_samples(X)  # no sample was left out
        return W if whole else self._project(self._check(X, reset=False), weights)

    def transform(self, X: Any) -> Array:
        """The W ≥ 0 that minimises the loss of W H for these samples, by default ‖X - W H‖_F.

        Parameters
        ----------
        X : array, data frame or CSR/CSC matrix of shape (n_samples, n_features)

        Returns
        -------
        W : ndarray of shape (n_samples, n_components_)
        """
        check_is_fitted(self)
        return self._project(self._check(X, reset=False))

    def _project(self, X: Any, weights: Any = None) -> Array:
        if is_dask(X):
            project = partial(_project_chunk, self.components_.T, self.beta_loss)
            return cast(Array, map_chunks(X, project, self.n_components_))
        data = as_rows(X, missing=self.missing, weights=weights)
        V = np.asfortranarray(self.components_.T, dtype=data.dtype)
        with one_pool():
            return np.ascontiguousarray(find_loss(self.beta_loss).project(data, V).W, dtype=data.dtype)

    def inverse_transform(self, X: Any) -> Array:
        """W H, the samples reconstructed from their weights W (named X, as in scikit-learn).

        X has n_components_ columns, the result n_features.
        """
        check_is_fitted(self)
        W = X if is_dask(X) else np.asarray(cast(Any, X).toarray() if sparse.issparse(X) else X)
        if W.ndim != 2 or W.shape[1] != self.n_components_:
            raise ValueError(
                f"inverse_transform needs an array with {self.n_components_} columns, one per component; "
                f"got shape {W.shape}"
            )
        return cast(Array, W @ self.components_)

    def at_rank(self, rank: int, X: Any = None, sample_weight: Any = None, weights: Any = None) -> Self:
        """A fitted estimator at another rank of the same path, without fitting again.

        Parameters
        ----------
        rank : int
            One of ``path_.ranks``.
        X, sample_weight, weights : optional
            What `fit` was given. With X the solution is polished; without it ``polished_`` is False.

        Returns
        -------
        AutoNMF
            A new estimator; this one does not change.
        """
        check_is_fitted(self)
        point = self.path_.at_rank(rank)
        other = copy(self)
        if X is None:
            U, V = (factor.astype(self.components_.dtype) for factor in (point.U, point.V))
            n_known = self.path_.n_known
            V[:, :n_known] = self.components_[:n_known].T  # the path may be in single precision
            other._set_factors(U, V.T, point.loss, polished=False)
        else:
            X = self._check(X, reset=False)
            options = self._options()
            with self._open(X, options, sample_weight, weights) as opened:
                other._set_factors(*refine(opened, self.path_, rank, options), polished=True)
        return other

    def tree(
        self, X: Any = None, max_rank: int | None = None, sample_weight: Any = None, weights: Any = None
    ) -> ComponentTree:
        """Which component splits at each rank, from rank one up.

        Parameters
        ----------
        X, sample_weight, weights : optional
            What `fit` was given. With X the solutions of all ranks are those of `at_rank` with X, polished,
            which takes as long as several fits; without it they are those of ``path_.tree()``.
        max_rank : int, optional
            The largest rank of the tree, by default 25. Small ranks are polished much faster than large ones.

        Returns
        -------
        ComponentTree

        Examples
        --------
        >>> from autonmf import AutoNMF
        >>> from autonmf.datasets import make_low_rank
        >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
        >>> tree = AutoNMF(random_state=0).fit(X).tree(X, max_rank=3)
        >>> tree.at_rank(2)["parent"].tolist()
        [0, 0]
        """
        check_is_fitted(self)
        levels = select_levels(self.path_, max_rank)
        if X is None:
            return make_tree(levels)
        X = self._check(X, reset=False)
        options = self._options()
        with self._open(X, options, sample_weight, weights) as opened:
            ranks = [point.rank for point in levels]
            return make_tree(list(refine_all(opened, self.path_, ranks, options)))

    def component_stability(
        self,
        X: Any,
        n_resamples: int = 20,
        random_state: Seed = 0,
        sample_weight: Any = None,
        weights: Any = None,
    ) -> ComponentStability:
        """How well each component is found again when the samples of X are drawn again.

        Parameters
        ----------
        X, sample_weight, weights
            What `fit` was given; X in memory.
        n_resamples : int
            Number of resamples: as many samples as X has, drawn with replacement. Each is factorised from a
            random initial point of its own.
        random_state : int, generator or None
            Seed of the resamples and of their initial points.

        Returns
        -------
        ComponentStability
            A cosine with its interval for each component, intervals of its loadings, and the stability at
            each rank up to five more than that of the model.

        Examples
        --------
        >>> from autonmf import AutoNMF
        >>> from autonmf.datasets import make_low_rank
        >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
        >>> stability = AutoNMF(random_state=0).fit(X).component_stability(X, n_resamples=5)
        >>> bool(stability.stability.min() > 0.9)
        True
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        if isinstance(X, Stored) or is_dask(X):
            raise ValueError(
                "component_stability draws samples of X, which needs X in memory: pass X[:] or X.compute(), "
                "or fit and pass a part of the samples"
            )
        W = self._project(X, weights)
        automatic = self.n_components in (None, "auto") and self.rule == "auto"
        options = replace(
            self._options(), solver="auto", grid="exact", init="random", n_starts=1, max_rank=None,
            time_budget=None, equilibrate=automatic,
        )  # fmt: skip
        return measure_stability(
            X, (W, self.components_.T), self.path_, options, n_resamples=n_resamples,
            random_state=random_state, sample_weight=sample_weight, weights=weights,
        )  # fmt: skip

    def report(self, file: str | PathLike[str], X: Any = None, **options: Any) -> Path:
        """Write a self-contained interactive page about this model to ``file``.

        X is the training data, needed for maps and the data check; ``options`` are those of
        `autonmf.report.write_report`: title, feature_names, image_shape, wavelengths, ...
        """
        check_is_fitted(self)
        import autonmf.report

        return autonmf.report.write_report(self, file, X=X, **options)

    @property
    def path_(self) -> RankPath:
        check_is_fitted(self)
        return self._path.value

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check(self, X: Any, *, reset: bool = True) -> Any:
        """Validate X as scikit-learn does; its values are checked in one pass when it is opened.

        X in a file or on a cluster is returned as it is: scikit-learn would load it.
        """
        X = fill_masked_array(X) if self.missing == "mask" else X
        X = open_stored(X) if is_stored(X) else X
        if isinstance(X, Stored) or is_dask(X):
            _check_n_features(self, X, reset=reset)
            return X
        refuse_non_matrix(X)
        dtypes = [np.float64, np.float32]
        try:
            return validate_data(
                self, X, reset=reset, ensure_all_finite=False, accept_sparse=("csr", "csc"), dtype=dtypes
            )
        except ValueError as error:
            advice = next((text for start, text in ADVICE.items() if str(error).startswith(start)), None)
            if advice is None:
                raise
            raise ValueError(f"{str(error).partition(chr(10))[0]}: {advice}") from error

    def _open(self, X: Any, options: PathOptions, sample_weight: Any, weights: Any) -> Any:
        power = options.loss.weight_power
        return open_data(X, missing=self.missing, power=power, sample_weight=sample_weight, weights=weights)

    def _fit(self, X: Any, y: Any, sample_weight: Any, weights: Any) -> Array:
        X = self._check(X)
        options = self._options()
        observer = FitObserver(self, options, X, y)
        auto = isinstance(self.n_components, str) and self.n_components == "auto"
        with self._open(X, options, sample_weight, weights) as opened:
            found = factorise(
                opened,
                replace(options, callback=observer.callback),
                n_components=None if auto else cast("int | None", self.n_components),
                rule=self.rule,
                tau=self.tau,
                on_polish=observer.polishing,
            )
            self._path, self.rank_estimate_, self.n_iter_ = found.lazy_path, found.estimate, found.n_iter
            self.unused_components_ = found.unused
            self._set_factors(found.W, found.H, found.loss, polished=True)
        if not found.converged:
            warn(
                f"the polish at rank {found.rank} did not converge in max_iter={self.max_iter} iterations; "
                "raise max_iter or tol",
                ConvergenceWarning,
            )
        estimate = found.estimate
        if estimate and estimate.confidence is not None and estimate.confidence < UNCERTAIN:
            why = "; ".join(estimate.warnings)
            message = (
                f"rank {estimate.rank} has a confidence of {estimate.confidence:.2f}: {why}; "
                "path_.tree() shows which component splits at each rank"
            )
            warn(message, UncertainRankWarning)
        observer.ended()
        return self._project(X) if is_dask(X) else cast(Array, found.W)

    def _options(self) -> PathOptions:
        given = vars(self).copy()
        if self.fixed_components is not None:
            names = getattr(self, "feature_names_in_", None)
            given["fixed_components"] = check_known(self.fixed_components, self.n_features_in_, names)
        return PathOptions(
            **{each.name: given[each.name] for each in fields(PathOptions) if each.name in given}
        )

    def _set_factors(self, W: Array, H: Array, loss: float, *, polished: bool) -> None:
        self.n_components_ = len(H)
        self.components_ = np.ascontiguousarray(H)
        self.reconstruction_err_ = float(np.sqrt(2.0 * loss))
        energies = np.square(H, dtype=np.float64).sum(axis=1)
        self.explained_variance_ = np.asarray(W.var(axis=0, dtype=np.float64)) * energies
        self.polished_ = polished


def _project_chunk(V: Array, beta_loss: str | float, X: Any) -> Array:
    """W of a chunk of a Dask array."""
    dtype = np.float32 if X.dtype in (np.float16, np.float32) else np.float64
    return project_rows(X, np.asfortranarray(V, dtype=dtype), beta_loss).astype(dtype, copy=False)
