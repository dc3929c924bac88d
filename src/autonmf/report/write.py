"""`write_report`: a fitted model as one interactive page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from autonmf._types import Array
from autonmf.report.contents import contents_of
from autonmf.report.page import plotly_script, render
from autonmf.report.reading import Reading, reading_of
from autonmf.report.recipe import Recipe, recipe_of
from autonmf.report.subject import Subject

MOST_BYTES = 7_900_000
"""Size of a page, at most."""

COMPONENT_BYTES = 2_400_000
"""Of these for the components, at most."""

REST_BYTES = 400_000
"""Kept for everything else beside plotly.js: the style, the table of evidence, the fits."""


def write_report(
    model: Any,
    file: str | os.PathLike[str],
    *,
    X: Any = None,
    title: str | None = None,
    feature_names: Sequence[str] | Array | None = None,
    sample_names: Sequence[str] | Array | None = None,
    image_shape: tuple[int, int] | None = None,
    order: str = "C",
    wavelengths: Any = None,
    map_shape: tuple[int, int] | None = None,
    kind: str | None = None,
    axis_label: str | None = None,
    n_top: int = 10,
) -> Path:
    """Write one self-contained interactive page about a fitted model; it needs no network to be read.

    Parameters
    ----------
    model : AutoNMF
        Fitted.
    file : path
        An HTML file. It is complete or not there; one that was there before is replaced.
    X : array, data frame or sparse matrix of shape (n_samples, n_features), optional
        The training data, whatever `AutoNMF.fit` takes: with them the page also shows the data's health, the
        fit of each sample and the polished components. What lies in a file is read a block at a time. Leave
        it out for a model that was fitted with weights.
    title : str, optional
        Headline of the page.
    feature_names : sequence of str, optional
        Words or genes, or an axis such as "400 nm", "410 nm". Default: those of the data frame that the model
        was fitted to.
    sample_names : sequence of str, optional
        Names of the rows of X.
    image_shape : (rows, columns), optional
        Components are images of this shape.
    order : {"C", "F"}
        "C" if the pixels of images and maps go along rows, "F" if down columns, as in files from MATLAB.
    wavelengths : array of shape (n_features,), optional
        Components are spectra over these.
    map_shape : (rows, columns), optional
        The samples are the pixels of a map of this shape.
    kind : {"image", "spectrum", "words", "template"}, optional
        How components are read. Default: what the other parameters are for.
    axis_label : str, optional
        What ``wavelengths`` are, with their unit.
    n_top : int
        Words or genes shown for each component.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ImportError
        plotly is not installed.
    OSError
        The file cannot be written; what was there before is left as it was.

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
    with closing(Subject.of_model(model, X)) as subject:
        if feature_names is None and image_shape is None and wavelengths is None:
            feature_names = getattr(model, "feature_names_in_", None)
        reading = reading_of(
            subject.path.shape,
            feature_names=feature_names,
            sample_names=sample_names,
            image_shape=image_shape,
            order=order,
            wavelengths=wavelengths,
            map_shape=map_shape,
            kind=kind,
            axis_label=axis_label,
            n_top=n_top,
        )
        return write_page(
            subject, reading, recipe_of(model), title or "Components found by autonmf", file, plotly
        )


def write_page(
    subject: Subject,
    reading: Reading,
    recipe: Recipe,
    title: str,
    file: str | os.PathLike[str],
    plotly: str,
) -> Path:
    """Write the page about a result, whoever computed it."""
    room = min(COMPONENT_BYTES, MOST_BYTES - REST_BYTES - len(plotly.encode()))
    contents = contents_of(subject, reading, recipe, title, room)
    target = Path(file)
    write_whole(target, render(contents, plotly))
    return target


def write_whole(target: Path, text: str) -> None:
    """Write a file that is complete or not there; an error names the file that was asked for."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(text.encode("utf-8", "replace"))  # names may hold halves of characters
        os.replace(temporary, target)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(target)) from error
    finally:
        _forget(temporary)


def _forget(file: Path) -> None:
    with suppress(OSError):  # where the folder is not there or not ours, so is the file
        file.unlink(missing_ok=True)
