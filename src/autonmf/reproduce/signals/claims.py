"""The sentences below Table 2."""

from __future__ import annotations

from collections.abc import Iterator

from autonmf.reproduce import form
from autonmf.reproduce.experiment import Results
from autonmf.reproduce.signals.rows import OTHER_INPUT, Lines, as_in_paper, lines_of, paper_answer
from autonmf.reproduce.verdict import Claim, Holds, Verdict, graded, judge

FASTER = {
    "pasm": ("pbmc3k", "swimmer-noisy", "olivetti"),
    "s-ipalm": ("wos", "samson", "jasper-ridge", "urban"),
}
"""Which of the two the paper finds faster, and where."""


def verdict(results: Results) -> Verdict:
    """Orders, errors and times on the inputs of the paper."""
    lines = as_in_paper(lines_of(results))
    return judge([*_orders(lines), *_svht(lines), *_errors(lines), *_times(lines)])


def _orders(lines: Lines) -> Iterator[Claim]:
    texts = {
        "pasm": ("PASM matches the reference order on six of seven data sets", 6 / 7),
        "s-ipalm": ("iPALM (balanced) matches the reference order on five of seven", 5 / 7),
    }
    for method, (text, wanted) in texts.items():
        answers = {data: by[method] for data, by in lines.items() if method in by}
        if not answers:
            continue
        always = [d for d, rows in answers.items() if all(row["found"] == row["order"] for row in rows)]
        right = sum(row["found"] == row["order"] for rows in answers.values() for row in rows)
        total = sum(map(len, answers.values()))
        same = [
            d
            for d, rows in answers.items()
            if rows[0]["found"] == getattr(paper_answer(d, method), "rank", 0)
        ]
        yield Claim(
            text,
            f"matches at every seed on {form.share(len(always), len(answers))} data sets"
            f"{_named(always)}, in {form.share(right, total)} runs; seed 0 gives the paper's own rank on "
            f"{len(same)}{_named(same)}",
            graded(len(always) / len(answers), wanted, wanted / 2),
        )


def _named(data: list[str]) -> str:
    return f" ({', '.join(data)})" if data else ""


def _svht(lines: Lines) -> Iterator[Claim]:
    answers = {data: by["svht"][0] for data, by in lines.items() if "svht" in by}
    if not answers:
        return
    over = [data for data, row in answers.items() if row["found"] > row["order"]]
    alike = [data for data in answers if data not in OTHER_INPUT]
    same = [d for d in alike if answers[d]["found"] == getattr(paper_answer(d, "svht"), "rank", 0)]
    yield Claim(
        "SVHT strongly overestimates every reference order",
        f"overestimates on {form.share(len(over), len(answers))}; the paper's number on "
        f"{form.share(len(same), len(alike))} of the inputs that are the same matrix",
        Holds.yes
        if len(over) == len(answers) and len(same) == len(alike)
        else graded(len(over), len(answers) + 1, 1),
    )


def _errors(lines: Lines) -> Iterator[Claim]:
    compared = {
        (data, method): (
            form.middle(row["recovery_error"] for row in by[method]),
            by["svht"][0]["recovery_error"],
        )
        for data, by in lines.items()
        for method in ("s-ipalm", "pasm")
        if method in by and "svht" in by
    }
    known = {key: pair for key, pair in compared.items() if None not in pair}
    if known:
        lower = [key for key, (own, other) in known.items() if own is not None and own < other]
        yield Claim(
            "both achieve substantially lower recovery errors than SVHT on every data set",
            f"lower in {form.share(len(lower), len(known))} comparisons; a superfluous component costs "
            "one, so that the errors of SVHT are mostly the square root of how many it has too many",
            graded(len(lower) / len(known), 1.0, 0.5),
        )


def _times(lines: Lines) -> Iterator[Claim]:
    agree, seen = [], 0
    for faster, slower in (("pasm", "s-ipalm"), ("s-ipalm", "pasm")):
        for data in FASTER[faster]:
            by = lines.get(data, {})
            if faster in by and slower in by:
                a, b = (form.middle(row["seconds"] for row in by[m]) or 0.0 for m in (faster, slower))
                seen += 1
                agree += [data] if a < b else []
    if seen:
        yield Claim(
            "PASM is faster on PBMC3K, Swimmer and AT&T, iPALM on Web of Science and the spectra",
            f"the same order on {form.share(len(agree), seen)} data sets{_named(agree)}",
            graded(len(agree) / seen, 1.0, 0.5),
        )
