"""Warnings that point at the caller's own line."""

from __future__ import annotations

import sys
import warnings

BETWEEN = ("autonmf", "sklearn", "joblib", "contextlib")
"""Packages whose frames lie between a warning and the line of the caller."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the line of the caller, for example of `AutoNMF.fit`."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
