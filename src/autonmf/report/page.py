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
from autonmf.plotting.presentation import Presentation, check_presentation, choose_presentation
from autonmf.report.contents import Contents, build_contents
from autonmf.report.evidence import Candidate
from autonmf.report.health import describe_shape
from autonmf.report.result import Recipe, Result, recipe_from_model
from autonmf.stability import ComponentStability
from autonmf.unmixing import Unmixing, unmix

SCRIPTS = ("charts.js", "cards.js", "samples.js", "tree.js", "save.js", "page.js")

MAX_BYTES = 7_900_000
"""Maximum size of a page."""

COMPONENT_BYTES = 2_700_000
"""Maximum size of the components, the samples, W and H."""

REST_BYTES = 400_000
"""Space for everything else except plotly.js: style, evidence, fits."""


def write_report(
    model: Any,
    file: str | os.PathLike[str],
    *,
    X: Any = None,
    title: str | None = None,
    stability: ComponentStability | None = None,
    unmix: bool = False,
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
    stability : ComponentStability, optional
        ``model.component_stability(X)``, which costs as much as several fits.
    unmix : bool
        Also show the materials of a spectral image and their abundances (`autonmf.unmix`, started from the
        model), as spectra and, with ``map_shape``, as maps from 0 to 1. Needs X.
    **presentation
        How components are shown: ``kind``, ``image_shape``, ``wavelengths``, ``map_shape``, ``feature_names``
        and the others of `ComponentsDisplay`; ``sample_names``, the names of the rows of X; and ``groups``, a
        label for each row, such as its class. Feature names are by default the column names of the data frame
        that the model was fitted to.

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
    check_presentation("write_report", presentation)
    plotly = plotly_script()
    with closing(Result.from_model(model, X, stability)) as result:
        if presentation.get("feature_names") is None:
            presentation["feature_names"] = getattr(model, "feature_names_in_", None)
        form = choose_presentation(result.path.shape, **presentation)
        return write_page(
            result,
            form,
            recipe_from_model(model),
            title or "Components found by autonmf",
            file,
            plotly,
            find_materials(X, form, model) if unmix else None,
        )


def find_materials(X: Any, presentation: Presentation, init: Any) -> Unmixing:
    """Unmix X from a model or its weights; only spectra are unmixed."""
    if X is None:
        raise ValueError("unmixing needs the data: pass X too")
    if presentation.kind != "spectrum":
        raise ValueError(
            f"unmixing is for spectra, but components are shown as {presentation.kind}: pass kind='spectrum'"
        )
    return unmix(X, init=init)


def write_page(
    result: Result,
    presentation: Presentation,
    recipe: Recipe,
    title: str,
    file: str | os.PathLike[str],
    plotly: str,
    unmixing: Unmixing | None = None,
) -> Path:
    """Write the page about a result of the estimator or the command line."""
    room = min(COMPONENT_BYTES, MAX_BYTES - REST_BYTES - len(plotly.encode()))
    contents = build_contents(result, presentation, recipe, title, room, unmixing)
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
    answer, columns, health, recipe = (
        contents.answer,
        contents.evidence.columns,
        contents.health,
        contents.recipe,
    )
    ranks = [view["rank"] for view in contents.views]
    visited = f"ranks {ranks[0]} to {ranks[-1]}" if len(ranks) > 1 else f"rank {ranks[0]}"
    rule = "" if contents.rule is None else f" · rule “{contents.rule}”"
    levels = {"good": "OK", "note": "Note", "warning": "Warning"}
    texts = {
        "generator": recipe.versions.partition(",")[0],
        "title": contents.title,
        "subtitle": f"{describe_shape(contents.shape)} · {visited}{rule}",
        "headline": answer.headline,
        "confidence": answer.confidence,
        "last": str(len(ranks) - 1),
        "first": str(ranks.index(contents.rank)),
        "rank": str(contents.rank),
        "shell": recipe.shell or "",
        "python": recipe.python,
        "versions": recipe.versions,
    }
    script = "\n".join(_read_template(name) for name in SCRIPTS)
    unsafe = {ord(sign): f"\\u{ord(sign):04x}" for sign in "&<>"}  # could close the element around JSON
    parts = {name: escape(text) for name, text in texts.items()} | {
        "hashes": " ".join(_hash(each) for each in (plotly, script)),
        "style": _read_template("style.css"),
        "why": _fill("<p>{}</p>", *(text for text in (answer.why, answer.fit) if text)),
        "definitions": _fill('<p class="quiet">{}</p>', *filter(None, [answer.definitions])),
        "no_confidence": "" if answer.confidence else " hidden",
        "candidates": "".join(_render_candidate(one, ranks) for one in answer.candidates),
        "warnings": _fill('<p class="finding warning"><b>Warning:</b> {}</p>', *answer.warnings),
        "steps": _fill("<li>{}</li>", *answer.steps),
        "shaded": "Shaded: plausible ranks. "
        if 0 < len(contents.plausible) < len(contents.evidence.ranks)
        else "",
        "no_steps": "" if answer.steps else " hidden",
        "for_counts": _fill("<dt>{}</dt><dd><pre>{}</pre></dd>", *recipe.for_counts),
        "no_counts": "" if answer.for_counts and recipe.for_counts else " hidden",
        "loss_curve": contents.loss["curve"],
        "loss_note": contents.loss["note"],
        "evidence_head": _fill('<th scope="col">{}</th>', *(column.label for column in columns)),
        "evidence_rows": "".join(
            f'<tr data-rank="{rank}"><th scope="row">{rank}</th>'
            f"{_fill('<td>{}</td>', *(column.words[at] for column in columns))}</tr>"
            for at, rank in enumerate(contents.evidence.ranks)
        ),
        "meanings": _fill(
            "<dt>{}</dt><dd>{}</dd>", *((each.label, each.meaning) for each in columns if each.meaning)
        ),
        "findings": _fill(
            '<p class="finding {}"><b>{}:</b> {} {}</p>',
            *((one.level, levels[one.level], one.text, one.advice) for one in health.findings),
        ),
        "facts": _fill('<tr><th scope="row">{}</th><td>{}</td></tr>', *health.facts.items()),
        "no_shell": "" if recipe.shell else " hidden",
        "contents": contents.as_json().translate(unsafe),
        "plotly": plotly,
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _read_template("page.html"))


def _read_template(name: str) -> str:
    return (files("autonmf.report") / "template" / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"


def _fill(form: str, *rows: str | tuple[str, ...]) -> str:
    """The form once for each row, with its texts in the gaps."""
    return "".join(form.format(*map(escape, [row] if isinstance(row, str) else row)) for row in rows)


def _render_candidate(one: Candidate, ranks: list[int]) -> str:
    gauge = "<span></span>"
    if one.probability is not None:
        gauge = f'<span class="gauge"><span style="width:{100 * one.probability:.1f}%"></span></span>'
    off = "" if one.rank in ranks else " disabled"
    return (
        f'<li><button type="button" data-show="{one.rank}"{off}><span>rank {one.rank}</span>{gauge}'
        f'<span class="likely">{escape(one.words)}</span></button></li>'
    )
