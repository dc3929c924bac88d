r"""The Marchenko-Pastur law: the squared singular values of pure noise.

For an n x m matrix of independent entries of variance 1/n and :math:`\beta = m/n \le 1` the eigenvalues of
:math:`X^\top X` follow, in the limit, the density

.. math:: f(x) = \frac{\sqrt{(b-x)(x-a)}}{2\pi\beta x}, \qquad a, b = (1\mp\sqrt\beta)^2.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq


def median(beta: float) -> float:
    r"""The median :math:`\mu_\beta` of the Marchenko-Pastur law, to about twelve digits.

    With :math:`x = 1+\beta-2\sqrt\beta\cos\theta` the density becomes
    :math:`\tfrac2\pi\sin^2\theta/x` on [0, π], without the roots at its ends; its integral is inverted by
    Brent's method.
    """
    if not 0 < beta <= 1:
        raise ValueError(f"beta must be in (0, 1], got {beta}")
    root = np.sqrt(beta)

    def point(theta: float) -> float:
        # (1 - √β)² + 4√β sin²(θ/2): the same, without cancellation near the lower end.
        return float((1.0 - root) ** 2 + 4.0 * root * np.sin(0.5 * theta) ** 2)

    def excess(theta: float) -> float:
        share, _ = quad(
            lambda t: np.sin(t) ** 2 / point(t), 0.0, theta, epsabs=1e-13, epsrel=1e-12, limit=200
        )
        return float(2.0 / np.pi * share - 0.5)

    return point(float(brentq(excess, 1e-12, np.pi, xtol=1e-14, rtol=1e-13)))
