"""`Contents` as one HTML page that needs nothing else."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files

from autonmf.report.answer import Answer, Candidate
from autonmf.report.contents import Contents
from autonmf.report.evidence import Evidence
from autonmf.report.health import Health
from autonmf.report.recipe import Recipe
from autonmf.report.wording import count

SCRIPTS = ("charts.js", "cards.js", "page.js")

PAPER = (
    "Yulin He and Ran Gu, Automatic Model-Order Selection for Nonnegative Matrix Factorization via Column "
    "l2,0 Regularization (2026)"
)


def plotly_script() -> str:
    """plotly.js, from the installed plotly package."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError(
            f'reports need plotly, which cannot be imported here ({error}): pip install "autonmf[report]"'
        ) from error
    return str(get_plotlyjs())


def render(contents: Contents, plotly: str) -> str:
    """The page. Scripts run by their hashes only, and nothing may be fetched."""
    script = "\n".join(_template(name) for name in SCRIPTS)
    ranks = [view.rank for view in contents.views]
    parts = {
        "policy": _policy(plotly, script),
        "generator": escape(contents.recipe.versions.partition(",")[0]),
        "title": escape(contents.title),
        "style": _template("style.css"),
        "subtitle": escape(_subtitle(contents)),
        "answer": _answer(contents.answer, ranks),
        "last": str(len(ranks) - 1),
        "first": str(ranks.index(contents.rank)),
        "rank": str(contents.rank),
        "evidence": _evidence(contents.evidence),
        "health": _health(contents.health),
        "code": _code(contents.recipe),
        "footer": escape(
            f"Written by {contents.recipe.versions}. This page needs no network and sends nothing. "
            f"Method: {PAPER}."
        ),
        "contents": _inert(contents.as_json()),
        "plotly": plotly,
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _template("page.html"))


def _template(name: str) -> str:
    return (files("autonmf.report") / "template" / name).read_text(encoding="utf-8")


def _policy(*scripts: str) -> str:
    """What a browser may do with the page: run these scripts, show pictures that are in it; no requests."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(s.encode()).digest()).decode()}'" for s in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _inert(json: str) -> str:
    """JSON that cannot end the element it is in."""
    return json.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _subtitle(contents: Contents) -> str:
    n, m = contents.shape
    ranks = [view.rank for view in contents.views]
    visited = f"ranks {ranks[0]} to {ranks[-1]}" if len(ranks) > 1 else f"rank {ranks[0]}"
    rule = "" if contents.rule is None else f" · rule “{contents.rule}”"
    return f"{count(n, 'sample')} × {count(m, 'feature')} · {visited} computed{rule}"


def _answer(answer: Answer, ranks: list[int]) -> str:
    why = "".join(_paragraph(text) for text in (answer.why, answer.fit) if text)
    sure = ""
    if answer.sure:
        rows = "".join(_candidate(one, ranks) for one in answer.candidates)
        sure = f'<div><h3>How sure</h3>{_paragraph(answer.sure)}<ul class="candidates">{rows}</ul></div>'
    why += f'<p class="quiet">{escape(answer.terms)}</p>' if answer.terms else ""
    warnings = "".join(
        f'<p class="finding warning"><b>Warning:</b> {escape(text)}</p>' for text in answer.warnings
    )
    return (
        f'<h2 id="answer-title">{escape(answer.headline)}</h2>'
        f'<div class="columns"><div><h3>Why this rank</h3>{why}</div>{sure}</div>{warnings}'
    )


def _candidate(one: Candidate, ranks: list[int]) -> str:
    gauge = ""
    if one.probability is not None:
        gauge = f'<span class="gauge"><span style="width:{100 * one.probability:.1f}%"></span></span>'
    label = (
        f"<span>rank {one.rank}</span>{gauge or '<span></span>'}"
        f'<span class="likely">{escape(one.words)}</span>'
    )
    off = "" if one.rank in ranks else " disabled"
    return f'<li><button type="button" data-show="{one.rank}"{off}>{label}</button></li>'


def _evidence(evidence: Evidence) -> str:
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
        f'<div class="scroll" tabindex="0" role="region" aria-label="The evidence as a table"><table><thead>'
        f'<tr><th scope="col">rank</th>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        f'<dl class="meanings">{meanings}</dl>'
    )


def _health(health: Health) -> str:
    findings = "".join(
        f'<p class="finding {finding.level}">{_LEVELS[finding.level]}{escape(finding.text)}'
        f"{' ' + escape(finding.advice) if finding.advice else ''}</p>"
        for finding in health.findings
    )
    facts = "".join(
        f'<tr><th scope="row">{escape(fact.name)}</th><td>{escape(fact.value)}</td></tr>'
        for fact in health.facts
    )
    return f'{findings}<table class="facts"><tbody>{facts}</tbody></table>'


_LEVELS = {"good": "<b>Good:</b> ", "note": "<b>Note:</b> ", "warning": "<b>Warning:</b> "}


def _code(recipe: Recipe) -> str:
    blocks = [
        ("Python", "code-python", recipe.python, ""),
        ("At this rank", "code-now", "", ' id="code-rank"'),
    ]
    if recipe.shell is not None:
        blocks.insert(0, ("This page again, from a shell", "code-shell", recipe.shell, ""))
    return "".join(
        f'<div class="code-title"><h3{mark}>{escape(title)}</h3>'
        f'<button type="button" class="copy" data-copy="{name}" aria-label="Copy: {escape(title)}" hidden>'
        f'Copy</button></div><pre id="{name}">{escape(text)}</pre>'
        for title, name, text, mark in blocks
    )


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"
