"""Numbers as people write them."""

from __future__ import annotations

import pytest

from autonmf.report.wording import PERCENT, count, percent, percents, plain


@pytest.mark.parametrize(
    ("fraction", "words"),
    [(0, "0"), (1, "100"), (0.123, "12"), (0.0512, "5.1"), (0.00312, "0.3"), (0.9993, "99.93"),
     (1e-6, "below 0.01"), (0.9999999, "above 99.999"), (-0.1, "0"), (0.95, "95.0"), (2.47, "247"),
     (1.0 + 1e-12, "100")],
)  # fmt: skip
def test_percent(fraction: float, words: str) -> None:
    assert percent(fraction) == words + PERCENT


def test_fractions_side_by_side_are_told_apart() -> None:
    assert percents([0.4412, 0.4409]) == [f"44.12{PERCENT}", f"44.09{PERCENT}"]
    assert percents([0.44, 0.31]) == [f"44{PERCENT}", f"31{PERCENT}"]
    assert percents([0.5, 1e-9, 1e-12]) == [f"50{PERCENT}", f"below 0.01{PERCENT}", f"below 0.01{PERCENT}"]


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0"), (1234.5, "1,230"), (0.001234, "0.00123"), (12.345, "12.3"), (1.2e9, "1.20e+09"),
     (float("inf"), "∞"), (-float("inf"), "−∞"), (float("nan"), "–"),
     (-2.5, "-2.50"), (999999.0, "1,000,000")],
)  # fmt: skip
def test_plain(value: float, words: str) -> None:
    assert plain(value) == words


def test_counts() -> None:
    assert [count(1, "row"), count(1200, "row"), count(2, "entry", "entries")] == [
        "1 row", "1,200 rows", "2 entries"
    ]  # fmt: skip
