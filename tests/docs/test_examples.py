"""Every worked example runs, shows pictures and prints the evidence for its rank."""

from __future__ import annotations

import os
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autonmf import AutoNMF
from autonmf.datasets import Dataset

pyplot = pytest.importorskip("matplotlib.pyplot")

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
FILES = {
    "plot_2_unmixing": "samson.npz",
    "plot_3_cells": "pbmc3k.npz",
    "plot_4_topics": "wos_sample1000.tsv.gz",
    "plot_5_faces": "olivetti_faces.npz",
}
REFERENCES = {"plot_2_unmixing": 3}
"""Ranks that the examples find in real data; cells, texts and faces have none that stands out."""

pytestmark = pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")


@pytest.fixture(autouse=True)
def _pictures() -> Iterator[None]:
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


@pytest.fixture
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data home and a cache folder with nothing in them."""
    monkeypatch.setenv("AUTONMF_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if sys.platform != "linux":
        pytest.importorskip("pooch")
        monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache" / name)


def ran(example: Path, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    """What an example leaves behind, and what it prints."""
    names = runpy.run_path(str(example))
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    assert len(figures) >= 3
    for figure in figures:
        figure.canvas.draw()
        pixels = np.asarray(figure.canvas.buffer_rgba())
        assert np.ptp(pixels[..., :3]) > 0, f"{example.stem} shows an empty picture"
    return names, capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.usefixtures("no_data")
@pytest.mark.parametrize("example", EXAMPLES[1:5], ids=lambda file: file.stem)
def test_generated_data_have_the_rank_they_were_made_with(
    example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names, printed = ran(example, capsys)
    made = [value for value in names.values() if isinstance(value, Dataset)]
    assert all(data.name.startswith("generated") for data in made)
    truth, model = made[0].rank, names["model"]
    assert isinstance(model, AutoNMF)
    assert model.n_components_ == truth
    assert re.search(rf"^rank {truth}: component {truth} .* times ", printed, re.M)


@pytest.mark.slow
def test_the_notes_of_a_recording_are_found_where_the_background_makes_the_number_uncertain(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names, printed = ran(EXAMPLES[5], capsys)
    assert names["model"].rank_estimate_.confidence < 0.5
    assert "the data do not determine one rank" in printed
    heard = re.findall(r"Hz: (\w+)", printed)
    assert sorted(heard) == sorted(names["KEYS"])


@pytest.mark.slow
@pytest.mark.usefixtures("no_data")
def test_other_signatures_are_found_beside_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    names, printed = ran(EXAMPLES[6], capsys)
    assert names["model"].n_components_ == 10
    assert "5 components beyond the 5 known ones" in printed
    assert "no component beyond the 11 known ones" in printed
    assert "known component 11 is not used" in printed


def test_the_first_example_shows_a_clear_an_unclear_and_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    names, printed = ran(EXAMPLES[0], capsys)
    clear, unclear, nothing = (names[name].rank_estimate_ for name in ("clear", "unclear", "nothing"))
    assert clear.rank == 6
    assert clear.plausible in ((), (6,))
    assert unclear.confidence < 0.5 < clear.confidence
    assert unclear.warnings[0].startswith("the data do not determine one rank: ")
    assert nothing.rank == 1
    assert "no structure beyond rank one" in printed


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_real_data_are_taken_where_they_are(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Path(os.environ.get("AUTONMF_DATA") or ROOT.parent / "shared" / "data")
    if not (home / FILES[name]).is_file():
        pytest.skip(f"no {FILES[name]} in {home}: set AUTONMF_DATA to the folder of the benchmark data")
    monkeypatch.setenv("AUTONMF_DATA", str(home))
    names, printed = ran(ROOT / "examples" / f"{name}.py", capsys)
    (data,) = (value for value in names.values() if isinstance(value, Dataset))
    assert not data.name.startswith("generated")
    rank = names["model"].n_components_
    assert f"rank {rank}: " in printed
    assert rank == REFERENCES.get(name, rank)
    if name not in REFERENCES:
        assert "the data do not determine one rank" in printed
