"""`rank_path`: the path of a matrix by one call."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from os import PathLike
from typing import Any

from autonmf._types import Seed
from autonmf.distributed import open_data
from autonmf.model.known import check_known, find_names
from autonmf.path.checkpoint import open_checkpoint
from autonmf.path.options import Callback, PathOptions
from autonmf.path.result import RankPath
from autonmf.path.search import search, warn_of_rising_losses
from autonmf.solvers import Solver


def rank_path(
    X: Any,
    max_rank: int | None = None,
    *,
    min_rank: int = 1,
    fixed_components: Any = None,
    beta_loss: str | float = "frobenius",
    solver: str | Solver = "auto",
    grid: str = "exact",
    n_points: int = 30,
    budget: str | Callable[[int], int] = "auto",
    mu: float = 1e-8,
    delta: float = 1e-6,
    tol: float = 1e-4,
    max_iter: int = 2000,
    init: str | tuple[Any, Any] = "random",
    n_starts: int = 1,
    engine: str = "auto",
    scale: bool = True,
    equilibrate: bool = False,
    time_budget: float | None = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    random_state: Seed = None,
    missing: str = "error",
    weights: Any = None,
    checkpoint: str | PathLike[str] | None = None,
) -> RankPath:
    r"""Factorise X at every rank, from an upper bound down, along one warm-started path of λ.

    Solves eq. (1) of the paper,

    .. math:: \min_{U,V\ge0} \tfrac12\|X-UV^\top\|_F^2 + \tfrac\mu2(\|U\|_F^2+\|V\|_F^2)
              + \lambda(\|U\|_{2,0}+\|V\|_{2,0}),

    for increasing λ; each solution starts from the one before.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, m)
        Nonnegative data.
    max_rank : int, optional
        Where the path starts. Default: min(⌈min(n, m)/2⌉, 50). More than min(n, m) is never needed
        and is reduced to it with a warning. Components that vanish in the first iterations are gone: the
        largest rank of the path may be smaller.
    min_rank : int
        Where the path ends.
    fixed_components : array or data frame of shape (k, m), optional
        Known components: rows of H that stay as they are, and are the first k of every solution, in their
        order. The path ends with these alone. Columns are matched by name where both have names. See
        ``docs/known.md``. Only with ``grid="exact"`` and the default solver.
    beta_loss : {"frobenius", "kullback-leibler"}, or 2 or 1 for them
        The loss, as scikit-learn names it. "kullback-leibler", Σ x log(x/x̂) - x + x̂, is for counts. It is
        minimised by coordinate descent on the exact path, and has neither λ nor μ.
    solver : {"auto", "hals", "pasm", "s-ipalm", "ipalm", "palm"} or Solver
        The algorithm. "auto" is "hals" (sweeps over the columns, with no penalty) on the exact path, and
        "pasm" on the adaptive grid. The last four are the paper's.
    grid : {"exact", "adaptive"}
        "exact" goes from breakpoint to breakpoint and visits every rank; "adaptive" is the paper's
        grid of at most ``n_points`` values of λ, which can jump over ranks.
    n_points : int
        N_λ of the adaptive grid.
    budget : "auto", "full" or callable
        Iterations at each rank of the exact path: "auto" spends few at high ranks; "full" iterates
        until a stopping criterion holds, as the adaptive grid always does; a function of the rank.
    mu, delta : float
        μ of eq. (1), and δ of the step size γ = τ + δ, in units of the scaled X.
    tol : float
        ε of the stopping criteria, for the relative change of the objective and of the factors. The projected
        gradient is compared with 10·tol.
    max_iter : int
        Iterations at one λ at most.
    init : {"random", "nndsvd", "nndsvda"} or (U, V)
        Initial point. Given factors set ``max_rank`` and are not modified.
    n_starts : int
        Random initial points; each rank keeps its best solution over all (of the equilibrated X, if that is
        what is computed). Given factors count as one.
    engine : {"auto", "direct", "compressed"}
        "direct" reads X at every step, "compressed" only a few times, to project it on its leading
        ``max_rank`` + 10 directions (randomised); losses are then those of the projection, and factors
        are kept in single precision. "auto" compresses the exact path when that is much cheaper, and
        takes "direct" where the first solution explains more of X than its projection shows. The projection
        has the leading direction of X, so that no loss is above that of rank one by more than 1e-6 of
        ½‖X‖²; for ``equilibrate=True`` that holds with "auto" and "direct" only.
    scale : bool
        Divide X by its root mean square inside, so that μ, δ and ``tol`` mean the same at any scale. False
        reproduces the paper.
    equilibrate : bool
        Follow the path on X with rows and columns scaled to comparable norm, and scale its solutions back:
        the path of X that ``rule="auto"`` reads, with its `Evidence`.
    time_budget : float, optional
        Seconds. The exact path divides them among the ranks and still reaches the last one. Initial points
        whose turn has not come by then are left out.
    n_jobs : int, optional
        Threads that initial points are distributed over. The result does not depend on it.
    callback : callable, optional
        Called with a `Progress` after each iteration; returning True ends the path there.
    random_state : int, generator or None
        Seed. The same seed gives the same bits.
    missing : {"error", "mask"}
        "mask" takes NaN (in a sparse X only NaN that is stored) for entries that are missing, and leaves them
        out of the loss.
    weights : array of shape (n, m), optional
        How much each entry counts, for example the inverse of its variance: the loss is
        ½Σ w_ij (X_ij - (UVᵀ)_ij)², and so are the path's losses and ‖X‖².
    checkpoint : str or path, optional
        A file that each rank is saved to as it is reached. Called again with the same arguments after a
        crash, the path goes on from there, and ends with the same bits as without the crash (see
        ``docs/checkpoints.md``). Not with ``time_budget``, nor with a generator as ``random_state``.

    Returns
    -------
    RankPath
        With ``complete=False``, and a warning, if it was interrupted (Ctrl-C) after its first rank.

    Examples
    --------
    >>> from autonmf import rank_path
    >>> from autonmf.datasets import make_low_rank
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> path = rank_path(X, max_rank=6, random_state=0)
    >>> path.ranks.tolist()
    [1, 2, 3, 4, 5, 6]
    >>> path.at_rank(3).U.shape
    (60, 3)
    """
    options = PathOptions(
        max_rank=max_rank,
        min_rank=min_rank,
        fixed_components=fixed_components,
        beta_loss=beta_loss,
        solver=solver,
        grid=grid,
        n_points=n_points,
        budget=budget,
        mu=mu,
        delta=delta,
        tol=tol,
        max_iter=max_iter,
        init=init,
        n_starts=n_starts,
        engine=engine,
        scale=scale,
        equilibrate=equilibrate,
        missing=missing,
        time_budget=time_budget,
        n_jobs=n_jobs,
        callback=callback,
        checkpoint=checkpoint,
        random_state=random_state,
    )
    with open_data(X, missing=missing, weights=weights, power=options.loss.weight_power) as opened:
        opened.check_options(options)
        if fixed_components is not None:
            rows = check_known(fixed_components, opened.data.shape[1], find_names(X))
            options = replace(options, fixed_components=rows)
        data = opened.data
        saved = nullcontext((options, None)) if checkpoint is None else open_checkpoint(options, data)
        with saved as (options, records):
            found = search(opened, options, checkpoint=records)
            try:
                return found.finish()
            except KeyboardInterrupt:
                warn_of_rising_losses()
                unscaler = replace(found.unscaler, deadline=-math.inf)
                path = replace(found.path, complete=False)
                return replace(found, unscaler=unscaler, path=path).finish()
