"""The paper's model and algorithms written out once more, in plain NumPy and with every intermediate kept.

The tests compare the package with this transcription iterate by iterate, and check the paper's
inequalities on its intermediates (Ũ, Û, ...), which the solvers do not keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

Matrix = np.ndarray
Beta = Callable[[int, float], float]
"""β from the iteration number and the Lipschitz constant of the block that moves."""


@dataclass(frozen=True)
class Model:
    """Eq. (1) for one X, with the step sizes γ = τ + δ."""

    X: Matrix
    mu: float
    lam: float
    delta: float

    def F(self, U: Matrix, V: Matrix) -> float:
        return 0.5 * np.sum((self.X - U @ V.T) ** 2) + 0.5 * self.mu * (np.sum(U**2) + np.sum(V**2))

    def Psi(self, U: Matrix, V: Matrix) -> float:
        columns = np.count_nonzero(U.any(axis=0)) + np.count_nonzero(V.any(axis=0))
        return self.F(U, V) + self.lam * columns

    def gradients(self, U: Matrix, V: Matrix) -> tuple[Matrix, Matrix]:
        R = U @ V.T - self.X
        return R @ V + self.mu * U, R.T @ U + self.mu * V

    def tau(self, other: Matrix) -> float:
        return np.linalg.norm(other, 2) ** 2 + self.mu

    def prox(self, P: Matrix, gamma: float) -> Matrix:
        """Remark 2, column by column."""
        B = np.maximum(P, 0.0)
        for j in range(B.shape[1]):
            if np.linalg.norm(B[:, j]) <= np.sqrt(2 * self.lam / gamma):
                B[:, j] = 0.0
        return B

    def prox_value(self, B: Matrix, P: Matrix, gamma: float) -> float:
        """What the proximal map minimises."""
        return self.lam * np.count_nonzero(B.any(axis=0)) + 0.5 * gamma * np.sum((B - P) ** 2)

    def brute_prox(self, P: Matrix, gamma: float) -> float:
        """The least value over every support, each solved by SciPy's NNLS."""
        r = P.shape[1]
        best = np.inf
        for size in range(r + 1):
            for support in combinations(range(r), size):
                B = np.zeros_like(P)
                for j in support:
                    B[:, j] = nnls(np.eye(len(P)), P[:, j])[0]
                fit = 0.5 * gamma * np.sum((B - P) ** 2)
                best = min(best, self.lam * size + fit)
        return best

    def distance(self, U: Matrix, V: Matrix, shift_U: Matrix | float = 0.0, shift_V: Matrix | float = 0.0):
        """dist(0, ∂Ψ(U, V) + shift), entry by entry from the description of ∂Ψ in Proposition 1."""
        total = 0.0
        for B, gradient, shift in zip((U, V), self.gradients(U, V), (shift_U, shift_V), strict=True):
            G = gradient + shift
            for j in np.flatnonzero(B.any(axis=0)):
                for b, g in zip(B[:, j], G[:, j], strict=True):
                    # g + (-∞, 0] at a zero entry, {g} at a positive one
                    total += g**2 if b > 0 else min(g, 0.0) ** 2
        return np.sqrt(total)

    def is_subgradient(self, W_U: Matrix, W_V: Matrix, U: Matrix, V: Matrix, tol: float = 1e-9) -> bool:
        """Whether (W_U, W_V) ∈ ∂Ψ(U, V)."""
        for B, W, G in zip((U, V), (W_U, W_V), self.gradients(U, V), strict=True):
            active = B.any(axis=0)
            normal, entries = (W - G)[:, active], B[:, active]
            if (normal > tol).any() or (np.abs(normal[entries > 0]) > tol).any():
                return False
        return True

    def Xi(self, Z: tuple[Matrix, Matrix], old: tuple[Matrix, Matrix], rho: float) -> float:
        """The potential, with ρ₁ = ρ₂ = ρ and α₂ = δ."""
        moved = sum(np.sum((a - b) ** 2) for a, b in zip(Z, old, strict=True))
        return self.Psi(*Z) + 0.5 * rho * self.delta * moved

    def inertial(
        self, U: Matrix, V: Matrix, beta: Beta, steps: int, balanced: bool = False
    ) -> Iterator[SimpleNamespace]:
        """Algorithm 1, or 2 if ``balanced``."""
        U_old, V_old = U, V
        for k in range(steps):
            tau1 = self.tau(V)
            gamma1, beta1 = tau1 + self.delta, beta(k, tau1)
            Ut = U + beta1 * (U - U_old)
            Uh = self.prox(Ut - self.gradients(Ut, V)[0] / gamma1, gamma1)
            tau2 = self.tau(Uh)
            gamma2, beta2 = tau2 + self.delta, beta(k, tau2)
            Vt = V + beta2 * (V - V_old)
            Vh = self.prox(Vt - self.gradients(Uh, Vt)[1] / gamma2, gamma2)
            U_new, V_new = balance(Uh, Vh) if balanced else (Uh, Vh)
            yield SimpleNamespace(
                U_old=U_old, V_old=V_old, U=U, V=V, Ut=Ut, Vt=Vt, Uh=Uh, Vh=Vh, U_new=U_new, V_new=V_new,
                tau1=tau1, tau2=tau2, gamma1=gamma1, gamma2=gamma2, beta1=beta1, beta2=beta2,
            )  # fmt: skip
            U_old, V_old, U, V = U, V, U_new, V_new

    def hals(self, start: Matrix, other: Matrix, target: Matrix) -> Matrix:
        """One sweep over the columns of ½‖T - B Cᵀ‖² + μ/2‖B‖²."""
        B = start.copy()
        for j in range(B.shape[1]):
            rest = target - np.delete(B, j, 1) @ np.delete(other, j, 1).T
            B[:, j] = np.maximum(rest @ other[:, j] / (other[:, j] @ other[:, j] + self.mu), 0.0)
        return B

    def active_set(self, U: Matrix, V: Matrix, steps: int) -> Iterator[SimpleNamespace]:
        """Algorithm 3 with one HALS sweep a block."""
        for _ in range(steps):
            gamma1 = self.tau(V) + self.delta
            Ut = self.prox(U - self.gradients(U, V)[0] / gamma1, gamma1)
            T_U = Ut.any(axis=0)
            Uh = Ut.copy()
            Uh[:, T_U] = self.hals(Ut[:, T_U], V[:, T_U], self.X)
            gamma2 = self.tau(Uh) + self.delta
            Vt = self.prox(V - self.gradients(Uh, V)[1] / gamma2, gamma2)
            T_V = Vt.any(axis=0)
            Vh = Vt.copy()
            Vh[:, T_V] = self.hals(Vt[:, T_V], Uh[:, T_V], self.X.T)
            U_new, V_new = balance(Uh, Vh)
            yield SimpleNamespace(
                U=U, V=V, Ut=Ut, Vt=Vt, Uh=Uh, Vh=Vh, U_new=U_new, V_new=V_new, T_U=T_U, T_V=T_V,
                tau1=gamma1 - self.delta, tau2=gamma2 - self.delta,
            )  # fmt: skip
            U, V = U_new, V_new

    def critical_point(self, U: Matrix, V: Matrix) -> tuple[Matrix, Matrix]:
        """A critical point of F̃ near (U, V): L-BFGS-B on both factors at once, then their KKT faces."""
        n, r = U.shape

        def split(z: Matrix) -> tuple[Matrix, Matrix]:
            return z[: n * r].reshape(n, r), z[n * r :].reshape(-1, r)

        def value(z: Matrix) -> tuple[float, Matrix]:
            return self.F(*split(z)), np.concatenate([g.ravel() for g in self.gradients(*split(z))])

        z = np.concatenate([U.ravel(), V.ravel()])
        options = {"maxiter": 20000, "maxfun": 50000, "ftol": 0.0, "gtol": 1e-10, "maxls": 50}
        for _ in range(3):  # a line search that stalls in rounding is started afresh
            z = minimize(
                value, z, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(z), options=options
            ).x
        return split(np.where(z < 1e-9, 0.0, z))


def balance(U: Matrix, V: Matrix) -> tuple[Matrix, Matrix]:
    """Algorithm 2, step 2, column by column."""
    U, V = U.copy(), V.copy()
    for j in range(U.shape[1]):
        a, b = np.linalg.norm(U[:, j]), np.linalg.norm(V[:, j])
        if a * b == 0:
            U[:, j] = V[:, j] = 0.0
        else:
            s = np.sqrt(b / a)
            U[:, j], V[:, j] = U[:, j] * s, V[:, j] / s
    return U, V


def nesterov() -> Beta:
    """β_k = (t_{k-1} - 1)/t_k with t_{-1} = t_0 = 1."""
    t = [1.0, 1.0]  # t_{-1}, t_0

    def beta(k: int, tau: float) -> float:
        while len(t) < k + 2:
            t.append((1 + np.sqrt(4 * t[-1] ** 2 + 1)) / 2)
        return (t[k] - 1) / t[k + 1]

    return beta


def start(seed: int, n: int = 12, m: int = 9, rank: int = 3, columns: int = 5, noise: float = 0.2):
    """X of the given rank plus noise, and balanced factors with more columns."""
    rng = np.random.default_rng(seed)
    X = np.maximum(rng.random((n, rank)) @ rng.random((m, rank)).T + noise * rng.standard_normal((n, m)), 0)
    U, V = balance(rng.random((n, columns)), rng.random((m, columns)))
    return X, U, V


@pytest.fixture(scope="session")
def paper() -> SimpleNamespace:
    """The transcription: `Model`, `balance`, `nesterov` and a small `start`."""
    return SimpleNamespace(Model=Model, balance=balance, nesterov=nesterov, start=start)
