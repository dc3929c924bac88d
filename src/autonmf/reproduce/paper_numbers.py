"""The paper's own numbers, typed from the tables and the text of Section VI.

Y. He and R. Gu, Automatic Model-Order Selection for Nonnegative Matrix Factorization via Column l2,0
Regularization. `tests/reproduce/test_paper_numbers.py` reads them again from its source.
"""

from __future__ import annotations

from typing import NamedTuple


class Answer(NamedTuple):
    """What the paper reports of one method on one matrix; None where it has a dash."""

    rank: int | None
    error: float | None  # RE
    seconds: float | None


class Config(NamedTuple):
    """A line of Table 1."""

    n: int
    m: int
    noise: float
    rank: int


METHODS_1 = ("ipalm", "pasm", "svht", "cv")
METHODS_2 = ("ipalm", "pasm", "svht")  # ipalm: the scale-balanced variant, Section VI-D

# n, m, noise, r*; then rank, RE and seconds of each method
_TABLE_1 = """
1000 400 0.1 10 10 3.459015e-02 0.58 10 3.459015e-02 0.65 10 - 0.02 10 3.459015e-02 187.57
1000 400 0.1 20 20 4.677367e-02 0.71 20 4.673877e-02 0.81 20 - 0.01 20 4.675550e-02 149.67
1000 400 0.3 10 10 1.070742e-01 0.50 10 1.070742e-01 0.75 10 - 0.01 10 1.070495e-01 152.63
1000 400 0.3 20 20 1.409395e-01 0.65 20 1.409342e-01 0.84 20 - 0.01 20 1.409780e-01 131.46
1000 800 0.1 10 10 2.507372e-02 0.76 10 2.507372e-02 0.98 10 - 0.04 10 2.507298e-02 386.13
1000 800 0.1 20 20 3.211601e-02 1.02 20 3.210953e-02 1.19 20 - 0.04 20 3.211727e-02 301.11
1000 800 0.3 10 10 7.918155e-02 0.90 10 7.918155e-02 1.33 10 - 0.06 10 7.916743e-02 322.81
1000 800 0.3 20 20 9.723429e-02 1.43 20 9.723652e-02 1.36 20 - 0.06 20 9.724437e-02 287.89
3000 1000 0.1 10 10 2.311187e-02 2.42 10 2.311187e-02 3.54 10 - 0.09 10 2.310838e-02 917.15
3000 1000 0.1 20 20 2.847521e-02 4.09 20 2.842076e-02 3.99 20 - 0.11 20 2.843069e-02 946.61
3000 1000 0.3 10 10 7.348318e-02 3.02 10 7.348318e-02 4.43 11 - 0.13 10 7.346473e-02 906.29
3000 1000 0.3 20 22 1.965367e+00 4.10 20 8.626572e-02 3.83 20 - 0.11 20 8.627458e-02 937.76
3000 2000 0.1 10 10 1.795882e-02 5.75 10 1.795882e-02 5.97 11 - 0.55 10 1.795499e-02 1499.15
3000 2000 0.1 20 20 1.967294e-02 6.86 20 1.967327e-02 6.76 20 - 0.50 20 1.968731e-02 1678.68
3000 2000 0.3 10 10 5.864614e-02 5.62 10 5.864615e-02 5.87 11 - 0.51 10 5.863489e-02 1564.50
3000 2000 0.3 20 20 6.007926e-02 6.36 20 6.007905e-02 6.97 20 - 0.46 20 6.008414e-02 1704.50
5000 3000 0.1 10 10 1.530275e-02 8.79 10 1.530275e-02 9.43 11 - 1.28 - - -
5000 3000 0.1 20 20 1.604520e-02 8.86 20 1.604530e-02 10.01 20 - 1.28 - - -
5000 3000 0.3 10 10 5.100082e-02 7.74 10 5.100082e-02 9.35 11 - 1.26 - - -
5000 3000 0.3 20 20 4.929761e-02 9.76 20 4.929794e-02 9.82 20 - 1.26 - - -
5000 4000 0.1 10 10 1.402154e-02 10.47 10 1.402154e-02 12.14 11 - 2.11 - - -
5000 4000 0.1 20 20 1.394394e-02 11.85 20 1.394398e-02 12.66 20 - 2.07 - - -
5000 4000 0.3 10 10 4.734162e-02 10.93 10 4.734162e-02 12.57 11 - 2.12 - - -
5000 4000 0.3 20 20 4.306148e-02 12.28 20 4.306081e-02 12.64 20 - 2.08 - - -
"""

# rank, RE and seconds of each method
_TABLE_2 = {
    "pbmc3k": (9, "9 0.9037 25.15 9 0.7312 24.11 665 27.025 8.05"),
    "swimmer": (16, "16 1.5423 0.89 16 1.9717 0.72 22 4.670 0.08"),
    "olivetti": (10, "10 6.0507 1.75 10 2.5812 1.13 114 12.412 0.12"),
    "wos": (11, "10 1.9683 9.93 12 2.5676 25.68 1162 36.597 9.04"),
    "samson": (3, "5 1.7656 3.24 3 0.4957 4.30 61 8.335 0.06"),
    "jasper-ridge": (4, "4 0.3885 4.83 4 0.6040 5.59 86 10.020 0.03"),
    "urban": (4, "4 0.2777 25.54 4 0.4395 34.58 55 8.455 0.08"),
}

DIMENSIONS = {
    "pbmc3k": (2700, 13714),
    "swimmer": (256, 1024),
    "olivetti": (400, 4096),
    "wos": (5736, 20082),
    "samson": (156, 9025),
    "jasper-ridge": (224, 10000),
    "urban": (162, 94249),
}
"""Rows and columns of X in Table 2."""

PATH_SECONDS = {"synthetic": (0.66, 3.46, 3.38), "swimmer": (5.10, 17.38, 15.34)}
"""Section VI-C: the λ-path, the decreasing and the increasing discrete path."""


def _answers(methods: tuple[str, ...], fields: list[str]) -> dict[str, Answer]:
    def number(text: str) -> float | None:
        return None if text == "-" else float(text)

    found = {}
    for i, method in enumerate(methods):
        rank, error, seconds = (number(text) for text in fields[3 * i : 3 * i + 3])
        found[method] = Answer(None if rank is None else int(rank), error, seconds)
    return found


def _table_1() -> dict[Config, dict[str, Answer]]:
    table = {}
    for line in _TABLE_1.strip().splitlines():
        n, m, noise, rank, *fields = line.split()
        table[Config(int(n), int(m), float(noise), int(rank))] = _answers(METHODS_1, fields)
    return table


TABLE_1 = _table_1()
"""The answers of four methods to 24 matrices."""

TABLE_2 = {data: _answers(METHODS_2, text.split()) for data, (_, text) in _TABLE_2.items()}
"""The answers of three methods to seven data sets."""

ORDERS = {data: order for data, (order, _) in _TABLE_2.items()}
"""Reference orders of Table 2."""


def path_ratios(data: str) -> tuple[float, float]:
    """How many times the λ-path is faster than the decreasing and the increasing path, by the paper."""
    path, down, up = PATH_SECONDS[data]
    return down / path, up / path
