"""PALM, iPALM and S-iPALM: the iterates, the decrease and the subgradient bounds of Section IV.

δ and μ are of order one here: with the defaults the constants would drown in rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose

from autonmf.data import as_data
from autonmf.losses import Problem
from autonmf.solvers import Inertial, NesterovInertia, NoInertia


@dataclass(frozen=True)
class ProvableInertia:
    r"""A β inside the bound of the convergence propositions, where the potential Ξ decreases.

    With γ = τ + δ the propositions have α₁ = α₂ = δ, and the potential decreases for

    .. math:: \beta^2 < \frac{\rho(1-c\rho)\delta}{(1-c\rho)\tau+\delta},

    where c = 1 suffices for iPALM and c = 2 for S-iPALM, whose balancing moves the iterate
    (``docs/theory.md`` derives it; the paper prints a condition without c).
    """

    rho: float = 0.1
    displacement: float = 2.0  # c
    fraction: float = 0.99  # of the bound

    def __post_init__(self) -> None:
        if not 0 < self.displacement * self.rho < 1:
            raise ValueError(f"0 < displacement * rho < 1 is needed, got {self.displacement * self.rho}")

    def beta(self, t: tuple[float, float], problem: Problem, tau: float) -> float:
        slack = 1.0 - self.displacement * self.rho
        bound = self.rho * slack * problem.delta / (slack * tau + problem.delta)
        return self.fraction * math.sqrt(bound)


SEEDS = range(6)
RHO = 0.1
DISPLACEMENT = {False: 1.0, True: 2.0}  # c: without and with balancing
LAMS = {"all columns live": 0.01, "some vanish": 8.0}


@dataclass(frozen=True)
class Constant:
    """A fixed β."""

    value: float

    def beta(self, t, problem, tau) -> float:
        return self.value


def norm(*parts: np.ndarray) -> float:
    return float(np.sqrt(sum(np.sum(part**2) for part in parts)))


def trajectory(solver, model, U, V, steps):
    """Iterates of the package, fixed-size."""
    state = solver.init(Problem(as_data(model.X), mu=model.mu, lam=model.lam, delta=model.delta), U, V)
    for _ in range(steps):
        state = solver.step(state)
        yield state


def bound(model, tau, c, rho=RHO) -> float:
    """The β below which the potential decreases: β² = ρ(1 - cρ)α/((1 - cρ)τ + α) with α = δ."""
    slack = 1 - c * rho
    return np.sqrt(rho * slack * model.delta / (slack * tau + model.delta))


def nu(model, tau, beta, c, theta=1.0, rho=RHO) -> float:
    """Coefficient of ‖d‖² with Young's weight θ; c = θ = 1 is the paper's ν of iPALM."""
    alpha, r = model.delta, rho * model.delta
    return 0.5 * (r - tau * beta**2 - alpha**2 * beta**2 / (theta * (alpha - c * r)))


def make(paper, seed, lam, columns=5):
    X, U, V = paper.start(seed, columns=columns)
    return paper.Model(X, mu=0.5, lam=lam, delta=1.0), U, V


@pytest.mark.parametrize("lam", LAMS.values(), ids=LAMS)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("solver", "inertia", "balanced"),
    [
        (Inertial(NoInertia(), compact=False), lambda paper: lambda k, tau: 0.0, False),
        (Inertial(NesterovInertia(), compact=False), lambda paper: paper.nesterov(), False),
        (Inertial(NesterovInertia(), balanced=True, compact=False), lambda paper: paper.nesterov(), True),
        (Inertial(Constant(0.3), compact=False), lambda paper: lambda k, tau: 0.3, False),
    ],
    ids=["palm", "ipalm", "s-ipalm", "constant"],
)
def test_iterates_are_the_papers(solver, inertia, balanced, seed, lam, paper):
    model, U, V = make(paper, seed, lam)
    written = model.inertial(U, V, inertia(paper), 40, balanced)
    for state, step in zip(trajectory(solver, model, U, V, 40), written, strict=True):
        assert_allclose(state.U, step.U_new, atol=1e-10)
        assert_allclose(state.V, step.V_new, atol=1e-10)
        assert_allclose(state.objective, model.Psi(step.U_new, step.V_new))


@pytest.mark.parametrize("seed", SEEDS)
def test_zero_inertia_is_palm(seed, paper):
    model, U, V = make(paper, seed, 8.0)
    runs = [
        trajectory(Inertial(inertia, compact=False), model, U, V, 30)
        for inertia in (NoInertia(), Constant(0.0))
    ]
    for palm, ipalm in zip(*runs, strict=True):
        np.testing.assert_array_equal(palm.U, ipalm.U)
        np.testing.assert_array_equal(palm.V, ipalm.V)


def test_runs_lose_columns(paper):
    """The cases above are not all trivial: columns vanish in some, and not all of them."""
    ranks = []
    for seed in SEEDS:
        model, U, V = make(paper, seed, LAMS["some vanish"])
        *_, last = trajectory(Inertial(NoInertia()), model, U, V, 40)
        ranks.append(last.rank)
    assert min(ranks) < 5
    assert max(ranks) > 0


@pytest.mark.parametrize("lam", LAMS.values(), ids=LAMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_palm_decrease(seed, lam, paper):
    """Ψ falls by at least α/2 times the squared step, in each block and in total."""
    model, U, V = make(paper, seed, lam)
    for s in model.inertial(U, V, lambda k, tau: 0.0, 60):
        middle = model.Psi(s.U_new, s.V)
        assert middle <= model.Psi(s.U, s.V) - model.delta / 2 * norm(s.U_new - s.U) ** 2 + 1e-11
        assert model.Psi(s.U_new, s.V_new) <= middle - model.delta / 2 * norm(s.V_new - s.V) ** 2 + 1e-11


@pytest.mark.parametrize("excess", [0.5, 0.999, 5.0])
@pytest.mark.parametrize("lam", LAMS.values(), ids=LAMS)
@pytest.mark.parametrize("balanced", [False, True], ids=["ipalm", "s-ipalm"])
@pytest.mark.parametrize("seed", SEEDS)
def test_potential_decrease(seed, balanced, lam, excess, paper):
    """Ξ falls by ν‖d‖² (Propositions 6 and 7 with c = 1 and 2), and ν > 0 exactly inside the bound on β.

    The inequality itself holds for any β; outside the bound ν is negative and Ξ may rise. Each block may
    have its own β.
    """
    model, U, V = make(paper, seed, lam)
    c = DISPLACEMENT[balanced]

    def beta(k, tau):
        return excess * bound(model, tau, c)

    for s in model.inertial(U, V, beta, 60, balanced):
        before = model.Xi((s.U, s.V), (s.U_old, s.V_old), RHO)
        after = model.Xi((s.U_new, s.V_new), (s.U, s.V), RHO)
        for theta in (1.0, 0.9):  # θ < 1 leaves a multiple of the squared update
            coefficients = [nu(model, t, b, c, theta) for t, b in ((s.tau1, s.beta1), (s.tau2, s.beta2))]
            fall = coefficients[0] * norm(s.U - s.U_old) ** 2 + coefficients[1] * norm(s.V - s.V_old) ** 2
            left = 0.5 * (1 - theta) * model.delta * (1 - c * RHO)
            fall += left * norm(s.Uh - s.U, s.Vh - s.V) ** 2
            assert after - before <= -fall + 1e-10
        assert (nu(model, s.tau1, s.beta1, c) > 0) == (excess < 1)
        assert (nu(model, s.tau2, s.beta2, c) > 0) == (excess < 1)


@pytest.mark.parametrize("balanced", [False, True], ids=["ipalm", "s-ipalm"])
@pytest.mark.parametrize("seed", SEEDS)
def test_solver_decreases_the_potential(seed, balanced, paper):
    """The package itself, with a β that is inside the bound whatever happens.

    Ψ ≤ Ψ(U⁰, V⁰) along the run, so ‖U‖², ‖V‖² ≤ 2Ψ(U⁰, V⁰)/μ: a Lipschitz constant known in advance.
    """
    model, U, V = make(paper, seed, 8.0)
    c = DISPLACEMENT[balanced]
    tau = 2 * model.Psi(U, V) / model.mu + model.mu
    beta = 0.99 * bound(model, tau, c)
    solver = Inertial(Constant(beta), balanced=balanced, compact=False)
    before, old = model.Xi((U, V), (U, V), RHO), (U, V)
    moved = 0.0
    for state in trajectory(solver, model, U, V, 80):
        after = model.Xi((state.U, state.V), old, RHO)
        assert after - before <= -nu(model, tau, beta, c) * moved + 1e-10
        before, moved = after, norm(state.U - old[0], state.V - old[1]) ** 2
        old = (state.U, state.V)
        assert max(model.tau(state.U), model.tau(state.V)) <= tau


@pytest.mark.parametrize("c", [1.0, 2.0])
@pytest.mark.parametrize("tau", [0.1, 3.0, 100.0])
def test_provable_inertia_is_inside_the_bound(c, tau, paper):
    model, *_ = make(paper, 0, 0.3)
    inertia = ProvableInertia(rho=RHO, displacement=c)
    problem = Problem(as_data(model.X), mu=model.mu, delta=model.delta)
    beta = inertia.beta((1.0, 1.0), problem, tau)
    assert 0.9 * bound(model, tau, c) < beta < bound(model, tau, c)
    assert nu(model, tau, beta, c) > 0


class Recorder:
    """`ProvableInertia` that remembers the β it gave out."""

    def __init__(self, c: float) -> None:
        self.inner = ProvableInertia(rho=RHO, displacement=c)
        self.given: list[float] = []

    def beta(self, t, problem, tau) -> float:
        self.given.append(self.inner.beta(t, problem, tau))
        return self.given[-1]


@pytest.mark.parametrize("seed", SEEDS)
def test_provable_inertia_decreases_the_potential(seed, paper):
    model, U, V = make(paper, seed, 8.0)
    solver = Inertial(ProvableInertia(rho=RHO, displacement=1.0), compact=False)
    before, old = model.Xi((U, V), (U, V), RHO), (U, V)
    for state in trajectory(solver, model, U, V, 80):
        after = model.Xi((state.U, state.V), old, RHO)
        assert after <= before + 1e-10
        before, old = after, (state.U, state.V)


@pytest.mark.parametrize("seed", SEEDS)
def test_provable_inertia_is_provable_in_every_step(seed, paper):
    """ν₁ and ν₂ are positive with the β and τ of each block, from a start so small that U grows fast."""
    model, U, V = make(paper, seed, 0.0)
    recorder = Recorder(1.0)
    solver = Inertial(recorder, compact=False)
    old = 0.01 * U, 0.01 * V
    for state in trajectory(solver, model, *old, 40):
        assert nu(model, model.tau(old[1]), recorder.given[0], c=1) > 0
        assert nu(model, model.tau(state.U), recorder.given[-1], c=1) > 0
        recorder.given.clear()
        old = state.U, state.V


@pytest.mark.parametrize("seed", SEEDS)
def test_bound_covers_every_step_size(seed):
    """The bound on β, taken at α = α₂, is the smallest over α in [α₁, α₂] when ρ < α₁/(2cα₂)."""
    rng = np.random.default_rng(seed)
    for _ in range(50):
        c, tau = rng.choice([1.0, 2.0]), 10 ** rng.uniform(-1, 2)
        a1, a2 = np.sort(rng.uniform(0.1, 2, 2))
        rho = rng.uniform(0.01, 0.999) * a1 / (2 * c * a2)
        smallest = rho * (1 - c * rho) * a2 / ((1 - c * rho) * tau + a2)
        alpha = np.linspace(a1, a2, 100)
        allowed = rho * a2 / (tau + alpha**2 / (alpha - c * rho * a2))
        assert_allclose(allowed.min(), smallest)


def test_printed_coefficient_of_s_ipalm_is_false(paper):
    """A run that has arrived: Ξ falls by exactly ½ρα₂‖d‖², where the printed ν (3ρ for ρ) asks for 3/2."""
    model, U, V = make(paper, 0, lam=1e3)
    solver = Inertial(NoInertia(), balanced=True, compact=False)
    first, second = trajectory(solver, model, U, V, 2)
    assert not first.U.any()
    assert not first.V.any()  # everything is dropped at once, and stays away
    before = model.Xi((first.U, first.V), (U, V), RHO)
    after = model.Xi((second.U, second.V), (first.U, first.V), RHO)
    d = norm(U, V) ** 2
    assert_allclose(after - before, -nu(model, model.tau(V), 0.0, c=2) * d)
    printed = 3 * RHO * model.delta / 2  # the printed ν at β = 0
    assert after - before > -printed * d + 0.1


@pytest.mark.parametrize("lam", LAMS.values(), ids=LAMS)
@pytest.mark.parametrize("balanced", [False, True], ids=["ipalm", "s-ipalm"])
@pytest.mark.parametrize("seed", SEEDS)
def test_subgradient_bound(seed, balanced, lam, paper):
    """dist(0, ∂Ξ) and the proofs' own subgradient Γ, with the constants c₁ and c₂ of this very step."""
    model, U, V = make(paper, seed, lam)
    r = RHO * model.delta
    for s in model.inertial(U, V, lambda k, tau: 0.4, 60, balanced):
        e_U, e_V = s.U_new - s.U, s.V_new - s.V
        tau, gamma = max(s.tau1, s.tau2), max(s.gamma1, s.gamma2)
        c_f = np.linalg.norm(s.U_new @ s.V_new.T - model.X, 2)
        c_1 = tau + gamma + 2 * r + (c_f if balanced else 0.0)
        c_2 = c_f + 2 * tau + gamma + 2 * r
        moved_U = norm(s.U_new - s.Uh) + norm(s.Uh - s.U) + norm(s.U - s.U_old)
        moved_V = norm(s.V_new - s.Vh) + norm(s.Vh - s.V) + norm(s.V - s.V_old)
        limit = c_1 * moved_U + c_2 * moved_V
        new_U, new_V = model.gradients(s.U_new, s.V_new)
        W_U = new_U - model.gradients(s.Ut, s.V)[0] - s.gamma1 * (s.Uh - s.Ut)
        W_V = new_V - model.gradients(s.Uh, s.Vt)[1] - s.gamma2 * (s.Vh - s.Vt)
        assert model.is_subgradient(W_U, W_V, s.U_new, s.V_new)
        assert norm(W_U + r * e_U) + norm(W_V + r * e_V) + r * norm(e_U) + r * norm(e_V) <= limit + 1e-10
        shortest = np.hypot(model.distance(s.U_new, s.V_new, r * e_U, r * e_V), r * norm(e_U, e_V))
        assert shortest <= norm(W_U + r * e_U, W_V + r * e_V, r * e_U, r * e_V) + 1e-10


@pytest.mark.parametrize("seed", SEEDS)
def test_s_ipalm_is_balanced_and_cosparse(seed, paper):
    model, U, V = make(paper, seed, LAMS["some vanish"])
    for state in trajectory(Inertial(NesterovInertia(), True, compact=False), model, U, 4 * V, 40):
        assert_allclose(np.linalg.norm(state.U, axis=0), np.linalg.norm(state.V, axis=0), atol=1e-12)
        np.testing.assert_array_equal(state.U.any(axis=0), state.V.any(axis=0))


@pytest.mark.parametrize("balanced", [False, True], ids=["ipalm", "s-ipalm"])
@pytest.mark.parametrize("seed", range(3))
def test_finite_length_and_critical_limit(seed, balanced, paper):
    """The steps add up to a finite length and the limit is critical: late steps are negligible."""
    model, U, V = make(paper, seed, 0.05, columns=2)
    c = DISPLACEMENT[balanced]
    steps, last = [], None
    for s in model.inertial(U, V, lambda k, tau: 0.99 * bound(model, tau, c), 6000, balanced):
        steps.append(norm(s.U_new - s.U, s.V_new - s.V))
        last = s
    lengths = np.add.reduceat(steps, np.arange(0, 6000, 1000))
    assert lengths[-1] < 1e-6 * lengths[0]
    assert model.distance(last.U_new, last.V_new) < 1e-6
    assert last.U_new.any()
