"""The file: complete or not there, the same for the same model, small, and safe whatever it says."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from autonmf import AutoNMF
from autonmf.report import write_report
from autonmf.report.page import plotly_script
from autonmf.report.result import recipe_from_model

LIMIT = 8_000_000
HOSTILE = (
    "</script><script>alert('x')</script><img src=x onerror=alert(1)> "
    "\"quoted\" & 'more' {{contents}} ∑é中 \ud800"
)


def test_the_same_model_gives_the_same_bytes(tmp_path: Path, low_rank: np.ndarray) -> None:
    pages = []
    for name in ("a.html", "b.html"):
        model = AutoNMF(max_rank=6, random_state=0).fit(low_rank)
        pages.append(write_report(model, tmp_path / name, X=low_rank, feature_names=range(40)).read_bytes())
    assert pages[0] == pages[1]


def test_it_returns_the_file_and_leaves_nothing_else(tmp_path: Path, fitted: AutoNMF) -> None:
    target = tmp_path / "report.html"
    assert write_report(fitted, str(target)) == target
    assert list(tmp_path.iterdir()) == [target]
    assert target.stat().st_size < LIMIT


@pytest.mark.parametrize(
    ("n", "ranks", "options"),
    [
        (128 * 128, 24, {"map_shape": (128, 128)}),
        (60, 50, {"feature_names": [f"{i} {'x' * 90}" for i in range(900)], "n_top": 100}),
        (60, 50, {"image_shape": (30, 30)}),
        (60, 50, {}),
    ],
)
def test_ranks_of_noise_stay_below_the_limit(
    tmp_path: Path, noise_page: Callable, stored: Callable, n: int, ranks: int, options: dict
) -> None:
    file = noise_page(tmp_path / "noise.html", n, 900, ranks, **options)
    assert file.stat().st_size < LIMIT
    views = {view["rank"]: view for view in stored(file)["views"]}
    assert list(views) == list(range(1, len(views) + 1))
    assert len(views) > 8
    assert all(len(view["components"]) == view["rank"] for view in views.values())
    assert views[2]["detail"] == "full"
    assert len(views[2]["components"]) == 2


def test_names_of_features_come_from_the_data_frame(tmp_path: Path, low_rank: np.ndarray, stored) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    X = pandas.DataFrame(low_rank, columns=[f"gene{j}" for j in range(40)])
    model = AutoNMF(max_rank=5, random_state=0).fit(X)
    found = stored(write_report(model, tmp_path / "genes.html", X=X))
    assert found["form"]["kind"] == "words"
    H = model.components_
    assert [name for name, _ in found["views"][2]["components"][0]["by_weight"]] == [
        f"gene{j}" for j in np.argsort(-H[0], kind="stable")[:10]
    ]


def test_names_with_a_unit_are_the_axis_of_curves(tmp_path: Path, low_rank: np.ndarray, stored) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    X = pandas.DataFrame(low_rank, columns=[f"{400 + 10 * j} nm" for j in range(40)])
    model = AutoNMF(max_rank=5, random_state=0).fit(X)
    form = stored(write_report(model, tmp_path / "spectra.html", X=X))["form"]
    assert (form["kind"], form["axis_label"]) == ("spectrum", "nm")
    assert form["axes"]["full"] == list(range(400, 800, 10))
    assert stored(write_report(model, tmp_path / "words.html", kind="words"))["form"]["kind"] == "words"


def test_text_from_outside_is_only_text(
    tmp_path: Path, fitted: AutoNMF, low_rank: np.ndarray, stored
) -> None:
    names = [f"{j} {HOSTILE}" for j in range(60)]
    file = write_report(
        fitted,
        tmp_path / "hostile.html",
        X=low_rank,
        title=HOSTILE,
        feature_names=names[:40],
        sample_names=names,
    )
    page = file.read_text(encoding="utf-8")
    assert "alert('x')</script>" not in page
    assert "<img src=x" not in page
    assert page.count("<script") == 3
    found = stored(file)
    assert found["title"] == HOSTILE.replace("\ud800", "?")
    shown = {name for view in found["views"] for part in view["components"] for name, _ in part["by_weight"]}
    assert shown <= {f"{name[:79]}…".replace("\ud800", "?") for name in names}
    assert "&lt;/script&gt;&lt;script&gt;alert(" in page


def test_only_the_two_scripts_of_the_page_may_run(tmp_path: Path, fitted: AutoNMF) -> None:
    page = write_report(fitted, tmp_path / "report.html").read_text(encoding="utf-8")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    hashes = {f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts}
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert len(scripts) == 2
    assert set(rules["script-src"].split()) == hashes
    assert rules["default-src"] == "'none'"
    assert not {"connect-src", "font-src", "frame-src"} & set(rules)


def test_nothing_on_the_page_points_elsewhere(tmp_path: Path, fitted: AutoNMF, low_rank: np.ndarray) -> None:
    page = write_report(fitted, tmp_path / "report.html", X=low_rank).read_text(encoding="utf-8")
    ours = page.replace(plotly_script(), "")
    assert not re.findall(r"""(?:src|href|action)\s*=\s*["']?(?:https?:)?//""", ours)
    assert set(re.findall(r"https?://[^\"'\s<]+", ours)) <= {"http://www.w3.org/2000/svg"}


def test_the_code_on_the_page_gives_the_model_again(tmp_path: Path, low_rank: np.ndarray, stored) -> None:
    model = AutoNMF(max_rank=6, rule="marginal", tau=4.0, n_starts=2, random_state=3).fit(low_rank)
    code = stored(write_report(model, tmp_path / "report.html"))["recipe"]["python"]
    names = {"X": low_rank}
    exec(code, names)
    np.testing.assert_array_equal(names["model"].components_, model.components_)
    assert code.count("=") == 6


def test_the_code_says_that_a_seed_is_missing() -> None:
    assert "random_state was not an integer" in recipe_from_model(AutoNMF()).python
    code = recipe_from_model(
        AutoNMF(random_state=np.random.default_rng(0), init=(np.ones(2), np.ones(2)))
    ).python
    assert "init=init, random_state=random_state" in code


@pytest.mark.parametrize("where", ["missing/report.html", "file/report.html", "."])
def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path, fitted: AutoNMF, where: str) -> None:
    (tmp_path / "file").write_text("a file")
    with pytest.raises(OSError, match=re.escape(f"{tmp_path / where}'")):
        write_report(fitted, tmp_path / where)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_leaves_the_earlier_page(tmp_path: Path) -> None:
    """Files of this process may have one megabyte: more is an error of the disk's kind."""
    target = tmp_path / "report.html"
    target.write_text("the earlier page")
    code = (
        "import sys, resource; from autonmf._files import replace_file\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, 10**6))\n"
        "with replace_file(sys.argv[1]) as stream: stream.write(b'x' * 3 * 10**6)"
    )
    done = subprocess.run([sys.executable, "-c", code, target], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip().endswith(f"File too large: '{target}'")
    assert target.read_text() == "the earlier page"
    assert list(tmp_path.iterdir()) == [target]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 10**6


def test_without_plotly_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "plotly.py").write_text("raise ImportError('not here')")
    code = "from autonmf.report.page import plotly_script; plotly_script()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert 'pip install "autonmf[report]"' in done.stderr


def test_an_unknown_option_is_refused_in_our_words(tmp_path: Path, fitted: AutoNMF) -> None:
    with pytest.raises(TypeError, match=r"^write_report has no parameter 'wavelength': do you mean wavel"):
        fitted.report(tmp_path / "report.html", wavelength=[1, 2])
    assert list(tmp_path.iterdir()) == []


def test_unmixing_needs_X_and_spectra(fitted: AutoNMF, low_rank: np.ndarray, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unmixing needs the data: pass X too"):
        fitted.report(tmp_path / "page.html", unmix=True)
    with pytest.raises(ValueError, match="shown as image: pass kind='spectrum'"):
        fitted.report(tmp_path / "page.html", low_rank, unmix=True, image_shape=(5, 8))
    assert not list(tmp_path.iterdir())


def test_only_what_is_shaded_is_explained(fitted: AutoNMF, low_rank: np.ndarray, tmp_path: Path) -> None:
    shaded = "Shaded: plausible ranks."
    assert shaded in write_report(fitted, tmp_path / "page.html").read_text(encoding="utf-8")
    given = AutoNMF(2, max_rank=4, random_state=0).fit(low_rank)
    assert shaded not in write_report(given, tmp_path / "given.html").read_text(encoding="utf-8")
