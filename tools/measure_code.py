"""Print how large the package is, and how much of it a fit runs through.

Run from a checkout: ``python tools/measure_code.py``.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import autonmf
from autonmf import AutoNMF
from autonmf.data import Data, Scaled
from autonmf.datasets import make_low_rank
from autonmf.losses import FrobeniusState

PACKAGE = Path(autonmf.__file__).parent


class Trace:
    """Files of the package that run, and the deepest call within it, in any thread."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.deepest = 0
        self._depth = threading.local()

    def __call__(self, frame: Any, event: str, arg: Any) -> None:
        file = frame.f_code.co_filename
        if event not in ("call", "return") or not file.startswith(str(PACKAGE)):
            return
        depth = getattr(self._depth, "value", 0) + (1 if event == "call" else -1)
        self._depth.value = depth
        self.deepest = max(self.deepest, depth)
        name = str(Path(file).relative_to(PACKAGE))
        if not name.startswith("kernels"):
            self.files.add(name)

    def run(self, function: Callable[[], Any]) -> Trace:
        """Trace a call."""
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            function()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        return self


def count_wrappers(X: Any) -> int:
    """The largest number of wrappers around the data that a step of a fit reads, without compression."""
    seen = [0]
    original = FrobeniusState.sweep

    def sweep(state: FrobeniusState, count: int, inertia: float = 0.0) -> FrobeniusState:
        data, wrappers = state.problem.data, 0
        while isinstance(data, Scaled):
            data, wrappers = data.data, wrappers + 1
        seen[0] = max(seen[0], wrappers)
        return original(state, count, inertia)

    FrobeniusState.sweep = sweep  # type: ignore[method-assign]
    try:
        AutoNMF(random_state=0).fit(X)
    finally:
        FrobeniusState.sweep = original  # type: ignore[method-assign]
    return seen[0]


def main() -> None:
    """Print the table."""
    files = sorted(PACKAGE.rglob("*.py"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    X = make_low_rank(60, 40, rank=3, random_state=0)[0]
    holes = X.copy()
    holes[::7, ::5] = np.nan
    weights = np.random.default_rng(0).random(X.shape)
    AutoNMF(random_state=0).fit(X)  # imports
    dense = Trace().run(lambda: AutoNMF(random_state=0).fit(X))
    masked = AutoNMF(random_state=0, missing="mask")
    weighted = Trace().run(lambda: masked.fit(holes, weights=weights))
    members = [name for name in vars(Data) if not name.startswith("_")]
    mu = re.compile(r"mu: float = 1e-8")
    rows = {
        "installed Python: lines": sum(text.count("\n") for text in texts),
        "installed Python: files": len(files),
        "files of fewer than 40 lines": sum(text.count("\n") < 40 for text in texts),
        "files that a dense default fit runs through, outside kernels": len(dense.files),
        "deepest call within the package in that fit": dense.deepest,
        "the same with NaN and weights": weighted.deepest,
        "wrappers around the data that a step reads, wide X": count_wrappers(X.T),
        "members of the Data protocol": len(members),
        "places where mu=1e-8 is written as a default": sum(len(mu.findall(text)) for text in texts),
    }
    for what, number in rows.items():
        print(f"{what:<62}{number:>8,}")
    if "--files" in sys.argv:
        print("\n" + "\n".join(sorted(dense.files)))


if __name__ == "__main__":
    main()
