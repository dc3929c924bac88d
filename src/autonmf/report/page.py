"""`write_report`: a fitted model as one interactive HTML page that needs nothing else."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from contextlib import closing
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from autonmf._files import replace_file
from autonmf.plotting.presentation import Presentation, choose_presentation
from autonmf.report.contents import Contents, build_contents
from autonmf.report.evidence import Answer, Candidate, Evidence
from autonmf.report.health import Health, describe_shape
from autonmf.report.result import Recipe, Result, recipe_from_model

SCRIPTS = ("charts.js", "cards.js", "page.js")

PAPER = (
    "Yulin He and Ran Gu, Automatic Model-Order Selection for Nonnegative Matrix Factorization via Column "
    "l2,0 Regularization (2026)"
)


MAX_BYTES = 7_900_000
"""Maximum size of a page."""

COMPONENT_BYTES = 2_400_000
"""Maximum size of the components."""

REST_BYTES = 400_000
"""Space for everything else except plotly.js: style, evidence, fits."""


def write_report(
    model: Any,
    file: str | os.PathLike[str],
    *,
    X: Any = None,
    title: str | None = None,
    **presentation: Any,
) -> Path:
    """Write one self-contained interactive page about a fitted model, which works offline.

    Parameters
    ----------
    model : AutoNMF
        Fitted.
    file : path
        An HTML file. An existing file is replaced once the new one is complete.
    X : array, data frame or sparse matrix of shape (n_samples, n_features), optional
        The training data, in any form that `AutoNMF.fit` accepts. With them the page also shows a check of
        the data, the fit of each sample and the polished components. Data in a file are read in blocks. Leave
        X out for a model that was fitted with weights.
    title : str, optional
        Headline of the page.
    **presentation
        How components are shown: ``kind``, ``image_shape``, ``wavelengths``, ``map_shape``, ``feature_names``
        and the others of `ComponentsDisplay`, and ``sample_names``, the names of the rows of X. Feature names
        are by default the column names of the data frame that the model was fitted to.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ImportError
        plotly is not installed.
    OSError
        The file cannot be written; an existing file is left unchanged.

    Examples
    --------
    >>> from autonmf import AutoNMF
    >>> from autonmf.datasets import load_swimmer
    >>> from autonmf.report import write_report
    >>> X = load_swimmer()
    >>> model = AutoNMF(random_state=0).fit(X)
    >>> write_report(model, "swimmer.html", X=X, image_shape=(32, 32)).name  # doctest: +SKIP
    'swimmer.html'
    """
    plotly = plotly_script()
    with closing(Result.from_model(model, X)) as result:
        if presentation.get("feature_names") is None:
            presentation["feature_names"] = getattr(model, "feature_names_in_", None)
        return write_page(
            result,
            choose_presentation(result.path.shape, **presentation),
            recipe_from_model(model),
            title or "Components found by autonmf",
            file,
            plotly,
        )


def write_page(
    result: Result,
    presentation: Presentation,
    recipe: Recipe,
    title: str,
    file: str | os.PathLike[str],
    plotly: str,
) -> Path:
    """Write the page about a result of the estimator or the command line."""
    room = min(COMPONENT_BYTES, MAX_BYTES - REST_BYTES - len(plotly.encode()))
    contents = build_contents(result, presentation, recipe, title, room)
    with replace_file(file) as stream:
        stream.write(render(contents, plotly).encode("utf-8", "replace"))  # names may contain lone surrogates
    return Path(file)


def plotly_script() -> str:
    """plotly.js, from the installed plotly package."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError(f'reports need plotly ({error}): pip install "autonmf[report]"') from error
    return str(get_plotlyjs())


def render(contents: Contents, plotly: str) -> str:
    """The HTML page; its policy allows only these scripts, by hash, and no requests."""
    script = "\n".join(_read_template(name) for name in SCRIPTS)
    ranks = [view["rank"] for view in contents.views]
    visited = f"ranks {ranks[0]} to {ranks[-1]}" if len(ranks) > 1 else f"rank {ranks[0]}"
    rule = "" if contents.rule is None else f" · rule “{contents.rule}”"
    unsafe = {ord(sign): f"\\u{ord(sign):04x}" for sign in "&<>"}  # could close the element around JSON
    parts = {
        "policy": _build_policy(plotly, script),
        "generator": escape(contents.recipe.versions.partition(",")[0]),
        "title": escape(contents.title),
        "style": _read_template("style.css"),
        "subtitle": escape(f"{describe_shape(contents.shape)} · {visited}{rule}"),
        "answer": _render_answer(contents.answer, ranks),
        "last": str(len(ranks) - 1),
        "first": str(ranks.index(contents.rank)),
        "rank": str(contents.rank),
        "evidence": _render_evidence(contents.evidence),
        "health": _render_health(contents.health),
        "code": _render_code(contents.recipe),
        "footer": escape(
            f"Written by {contents.recipe.versions}. This page works offline and sends no data. "
            f"Method: {PAPER}."
        ),
        "contents": contents.as_json().translate(unsafe),
        "plotly": plotly,
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _read_template("page.html"))


def _read_template(name: str) -> str:
    return (files("autonmf.report") / "template" / name).read_text(encoding="utf-8")


def _build_policy(*scripts: str) -> str:
    """The content security policy: these scripts, embedded pictures, no requests."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(s.encode()).digest()).decode()}'" for s in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _render_answer(answer: Answer, ranks: list[int]) -> str:
    why = "".join(f"<p>{escape(text)}</p>" for text in (answer.why, answer.fit) if text)
    confidence = ""
    if answer.confidence:
        rows = "".join(_render_candidate(one, ranks) for one in answer.candidates)
        confidence = (
            f"<div><h3>Confidence</h3><p>{escape(answer.confidence)}</p>"
            f'<ul class="candidates">{rows}</ul></div>'
        )
    why += f'<p class="quiet">{escape(answer.definitions)}</p>' if answer.definitions else ""
    warnings = "".join(
        f'<p class="finding warning"><b>Warning:</b> {escape(text)}</p>' for text in answer.warnings
    )
    return (
        f'<h2 id="answer-title">{escape(answer.headline)}</h2>'
        f'<div class="columns"><div><h3>Why this rank</h3>{why}</div>{confidence}</div>{warnings}'
    )


def _render_candidate(one: Candidate, ranks: list[int]) -> str:
    bar = "" if one.probability is None else f'<span style="width:{100 * one.probability:.1f}%"></span>'
    gauge = f'<span class="gauge">{bar}</span>' if bar else "<span></span>"
    off = "" if one.rank in ranks else " disabled"
    return (
        f'<li><button type="button" data-show="{one.rank}"{off}><span>rank {one.rank}</span>{gauge}'
        f'<span class="likely">{escape(one.words)}</span></button></li>'
    )


def _render_evidence(evidence: Evidence) -> str:
    head = "".join(f'<th scope="col">{escape(column.label)}</th>' for column in evidence.columns)
    body = "".join(
        f'<tr data-rank="{rank}"><th scope="row">{rank}</th>'
        + "".join(f"<td>{escape(column.words[at])}</td>" for column in evidence.columns)
        + "</tr>"
        for at, rank in enumerate(evidence.ranks)
    )
    meanings = "".join(
        f"<dt>{escape(column.label)}</dt><dd>{escape(column.meaning)}</dd>"
        for column in evidence.columns
        if column.meaning
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Table of the evidence"><table><thead>'
        f'<tr><th scope="col">rank</th>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        f'<dl class="meanings">{meanings}</dl>'
    )


def _render_health(health: Health) -> str:
    levels = {"good": "OK", "note": "Note", "warning": "Warning"}
    findings = "".join(
        f'<p class="finding {finding.level}"><b>{levels[finding.level]}:</b> {escape(finding.text)}'
        f"{' ' + escape(finding.advice) if finding.advice else ''}</p>"
        for finding in health.findings
    )
    facts = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in health.facts.items()
    )
    return f'{findings}<table class="facts"><tbody>{facts}</tbody></table>'


def _render_code(recipe: Recipe) -> str:
    blocks = [
        ("Python", "code-python", recipe.python, ""),
        ("At this rank", "code-now", "", ' id="code-rank"'),
    ]
    if recipe.shell is not None:
        blocks.insert(0, ("On the command line", "code-shell", recipe.shell, ""))
    return "".join(
        f'<div class="code-title"><h3{mark}>{escape(title)}</h3>'
        f'<button type="button" class="copy" data-copy="{name}" aria-label="Copy: {escape(title)}" hidden>'
        f'Copy</button></div><pre id="{name}">{escape(text)}</pre>'
        for title, name, text, mark in blocks
    )
