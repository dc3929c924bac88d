"""Where the paper contradicts itself; whatever its tables can tell is computed from them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from autonmf.reproduce import form
from autonmf.reproduce.experiment import Results
from autonmf.reproduce.paper_numbers import ORDERS, PATH_SECONDS, TABLE_1, TABLE_2, Answer


def error_bounds(rank: int, order: int) -> tuple[float, float]:
    """The least and the largest RE that a factor of ``rank`` can have against one of ``order``.

    A missing component costs one in the first term, a superfluous one exactly one in the second, and two
    nonnegative unit columns are at most √2 apart.
    """
    missing, extra = max(order - rank, 0), max(rank - order, 0)
    largest = math.sqrt(2 * min(rank, order) + missing) + math.sqrt(extra)
    return math.sqrt(missing) + math.sqrt(extra), largest


def impossible_errors() -> Iterator[str]:
    """The recovery errors of both tables that no factor of that rank can have."""
    lines: list[tuple[str, int, str, Answer]] = [
        (f"Table 1, {c.n}x{c.m}, noise {c.noise:g}, r* = {c.rank}", c.rank, method, answer)
        for c, by in TABLE_1.items()
        for method, answer in by.items()
    ]
    lines += [
        (f"Table 2, {data}", ORDERS[data], method, answer)
        for data, by in TABLE_2.items()
        for method, answer in by.items()
    ]
    for place, order, method, (rank, error, _) in lines:
        if rank is None or error is None:
            continue
        low, high = error_bounds(rank, order)
        if not low <= error <= high:
            yield (
                f"{place}: RE {error:g} of {method} at rank {rank} is impossible. Against {order} "
                f"components it lies between {low:.3f} and {high:.3f} (√{2 * order})."
            )


def contradictions(efficiency: Results) -> list[str]:
    """Each in a sentence or two."""
    return [*impossible_errors(), *_of_tables(), *_of_text(), *_of_measurements(efficiency)]


def _of_tables() -> Iterator[str]:
    off = [(c, a.rank) for c, by in TABLE_1.items() if (a := by["ipalm"]).rank != c.rank]
    (config, rank), *_ = off
    yield (
        f"iPALM overestimates “by only a single rank” (Sec. VI-E); in Table 1 it has {rank} for "
        f"{config.rank} at {config.n}x{config.m}, noise {config.noise:g}."
    )
    slower = sum((by["pasm"].seconds or 0) > (by["ipalm"].seconds or 0) for by in TABLE_1.values())
    also = sum((by["pasm"].seconds or 0) > (by["ipalm"].seconds or 0) for by in TABLE_2.values())
    yield (
        "PASM has an “overwhelming advantage” in iterations and in time "
        f"(Sec. VI-B); in Table 1 it is slower than iPALM in {slower} of {len(TABLE_1)} lines, in Table 2 "
        f"in {also} of {len(TABLE_2)}."
    )
    path, swimmer = PATH_SECONDS["synthetic"][0], PATH_SECONDS["swimmer"][0]
    table = TABLE_2["swimmer"]
    yield (
        f"The λ-path of Swimmer takes {swimmer:.2f} s with 20 points in Sec. VI-C and "
        f"{table['ipalm'].seconds} or {table['pasm'].seconds} s with 30 points in Table 2, on one machine."
    )
    first = next(iter(TABLE_1.values()))
    yield (
        f"The λ-path of a 100x80 matrix with 20 points takes {path} s in Sec. VI-C; that of a 1000x400 "
        f"matrix, 50 times as large, with 30 points {first['ipalm'].seconds} s in Table 1."
    )
    errors = [
        a.error
        for c, by in TABLE_1.items()
        for a in (by["ipalm"], by["pasm"])
        if a.rank == c.rank and a.error
    ]
    yield (
        "Recovery errors are “10⁻² to 10⁻¹” where the rank is right (Sec. VI-E); in Table 1 "
        f"{sum(error > 0.1 for error in errors)} of {len(errors)} are above 10⁻¹, the largest "
        f"{max(errors):.3f}."
    )
    over = [c for c, by in TABLE_1.items() if (by["svht"].rank or 0) > c.rank]
    yield (
        "SVHT “suffers from systematic rank overestimation as dimensions scale up”; in Table 1 it is one "
        f"too large in {len(over)} of {len(TABLE_1)} lines, all with r* = "
        f"{', '.join(sorted({str(c.rank) for c in over}))}, and right in every other line up to 5000x4000."
    )
    yield (
        f"SVHT finds {TABLE_2['swimmer']['svht'].rank} in Swimmer; the noise-free matrix that the text "
        "describes has linear rank 13, so that no threshold can. Table 2 was made from a noisy one (ours "
        "gives 22, too)."
    )


def _of_text() -> Iterator[str]:
    yield (
        "Swimmer is a “256 × 1024 matrix” that “contains 1024 stick-figure images” (Sec. VI-F): it has "
        "256 images of 1024 pixels."
    )
    yield "AT&T Faces “contains ten subjects” (Sec. VI-F): it has 400 images, ten of each of 40 people."
    yield (
        "“Across all experiments” the initial rank is min(⌈0.5 min(n, m)⌉, 50) (Sec. VI-A), which is 40 "
        "for 100x80 and 50 for 1000x800; Sec. VI-B starts with r = 30 on both."
    )
    yield (
        "X is n x m. Sec. VI-B has n = 100, m = 80, Sec. VI-C m = 100, n = 80; Table 1 is headed n, m, "
        "its files m, n. The U-side grid of λ and RE of one factor depend on the orientation."
    )
    yield (
        "Table 1 is captioned “average RE” and explains dashes by a “relative error”; the number of runs "
        "is not given, and its ranks are integers."
    )
    yield (
        "The rule starts from rank(0) = 1, so that its ranks must increase, while the path along which i "
        "counts goes down to rank one, where rank(i) = rank(0) divides by zero. Read along the path it "
        "would answer the largest rank (see the readings of the rule)."
    )
    yield (
        "The stop rule is on the “positive rank”, written as min(rank U, rank V): the linear ranks of "
        "the factors, which need not be the number of components."
    )
    yield (
        "“iPALM” is the unbalanced algorithm in Table 1 and the balanced one in Table 2, which Sec. VI-D "
        "says and the abstract, the tables and the conclusions do not."
    )
    yield (
        "The convergence results ask for a bounded β; Sec. VI-A uses none. Slips in the proofs of the "
        "decrease of S-iPALM and of Theorem 2 are listed in `docs/theory.md`."
    )


def _of_measurements(efficiency: Results) -> Iterator[str]:
    rows = [done.rows[0] for done in efficiency if done.rows]
    if not rows:
        return
    factors = [row["path_low"] / row["recovery_lam"] for row in rows]
    yield (
        "Recovery is proved for λ of at most a 32nd of the squared r*-th singular value (Prop. 4). The "
        f"plateau of PASM's path at r* begins {form.digits(min(factors), 2)} to "
        f"{form.digits(max(factors), 2)} times above that bound (measured on the matrices of Sec. VI-B): "
        "the theorem does not speak of the λ that the method uses."
    )
