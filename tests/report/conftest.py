"""Results to report on, and a real browser to read the pages with."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autonmf import AutoNMF
from autonmf.path import PathPoint, RankPath
from autonmf.plotting.presentation import choose_presentation
from autonmf.report.page import plotly_script, write_page
from autonmf.report.result import Factors, Result, recipe_from_model

pytest.importorskip("plotly", reason='reports need plotly: pip install "autonmf[report]"')


@pytest.fixture(scope="session")
def fitted(low_rank: np.ndarray) -> AutoNMF:
    """Three components, found on 60 x 40."""
    return AutoNMF(max_rank=8, random_state=0).fit(low_rank)


@pytest.fixture(scope="session")
def noise_path() -> Callable[[int, int, int], RankPath]:
    """Paths made by hand: factors of noise at every rank, which nothing compresses."""

    def make(n: int, m: int, largest: int) -> RankPath:
        rng = np.random.default_rng(0)
        points = tuple(
            PathPoint(rng.random((n, k)), rng.random((m, k)), 1.0 / k, 0.0, 1) for k in range(1, largest + 1)
        )
        return RankPath(
            points=points, visits=(), shape=(n, m), squared_norm=100.0, rank_one_loss=9.5, energy=50.0,
            mu=0.0, delta=0.0, complete=True, settings={},
        )  # fmt: skip

    return make


@pytest.fixture(scope="session")
def noise_page(noise_path: Callable[[int, int, int], RankPath]) -> Callable[..., Path]:
    """A page about a path of noise, at rank two."""

    def write(file: Path, n: int, m: int, largest: int, **options: Any) -> Path:
        path = noise_path(n, m, largest)
        point = path.at_rank(2)
        result = Result(path, None, Factors(point.U, point.V, True), 2, point.loss)
        presentation = choose_presentation((n, m), **options)
        return write_page(result, presentation, recipe_from_model(AutoNMF()), "noise", file, plotly_script())

    return write


@pytest.fixture(scope="session")
def stored() -> Callable[[Path], dict[str, Any]]:
    """The contents that a page holds."""

    def read(page: Path) -> dict[str, Any]:
        (text,) = re.findall(
            r'<script type="application/json" id="contents">(.*?)</script>', page.read_text(encoding="utf-8")
        )
        found: dict[str, Any] = json.loads(text)
        return found

    return read


@dataclass
class Opened:
    """A page in the browser, and everything that went wrong there."""

    page: Any
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def text(self, selector: str) -> str:
        return str(self.page.inner_text(selector))

    def show(self, rank: int) -> None:
        self.page.evaluate(f"showRank({rank})")

    def until(self, condition: str) -> None:
        """Wait for JavaScript to come true; the page's policy forbids Playwright's own way."""
        for _ in range(500):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"never true: {condition}")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium from the system's packages, without a screen."""
    api = pytest.importorskip("playwright.sync_api", reason="tests in a browser need playwright")
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((file for name in names if (file := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no {', '.join(names)} on the PATH: apt-get install chromium")
    with api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def opened(browser: Any) -> Iterator[Callable[[Path], Opened]]:
    """Open a page without a network and wait until it is drawn."""
    contexts = []

    def read(file: Path) -> Opened:
        context = browser.new_context(viewport={"width": 1200, "height": 900}, offline=True)
        contexts.append(context)
        state = Opened(context.new_page())
        page = state.page
        page.on("console", lambda message: state.problems.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: state.problems.append(str(error)))
        page.on("dialog", lambda dialog: (state.problems.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: state.requests.append(request.url))
        page.goto(file.resolve().as_uri())
        page.wait_for_selector("#evidence-chart .main-svg", state="attached")
        return state

    yield read
    for context in contexts:
        context.close()
