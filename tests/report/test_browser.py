"""The page in a real browser, without a network."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from autonmf import AutoNMF
from autonmf.io import read_matrix
from autonmf.report import write_report
from autonmf.report.wording import percent

PHONE = {"width": 360, "height": 740}
DESKTOP = {"width": 1200, "height": 900}
HOSTILE = "</script><img src=x onerror=alert(1)> \"quoted\" & 'more' ∑é中"


@pytest.fixture(scope="module")
def pages(
    tmp_path_factory, fitted: AutoNMF, low_rank: np.ndarray, noise_page: Callable, opened: Callable
) -> dict[str, Any]:
    """One page for each way of presentation components."""
    folder = tmp_path_factory.mktemp("pages")
    names = [f"{j} {HOSTILE}" for j in range(60)]
    given = AutoNMF(n_components=4, max_rank=6, tol=1e-3, random_state=0).fit(low_rank)
    made = {
        "image": noise_page(folder / "image.html", 30, 4096, 50, image_shape=(64, 64)),
        "spectrum": write_report(
            fitted, folder / "spectrum.html", X=low_rank, map_shape=(6, 10),
            wavelengths=np.linspace(400, 790, 40), groups=["a", "b"] * 30,
            stability=fitted.component_stability(low_rank, n_resamples=2),
        ),
        "words": write_report(
            fitted, folder / "words.html", X=low_rank, title=HOSTILE, feature_names=names[:40],
            sample_names=names,
        ),
        "template": write_report(
            given, folder / "template.html", X=low_rank, kind="template", wavelengths=np.arange(40) * 50.0
        ),
    }  # fmt: skip
    return {kind: opened(file) for kind, file in made.items()}


KINDS = ("image", "spectrum", "words", "template")


@pytest.fixture(params=KINDS)
def each(request: pytest.FixtureRequest, pages: dict[str, Any]) -> Any:
    """Each page in turn, as it opens."""
    page = pages[request.param]
    page.page.set_viewport_size(DESKTOP)
    page.page.emulate_media(color_scheme="light", media="screen")
    page.page.evaluate("showRank(contents.rank)")
    return page


@pytest.fixture
def spectra(pages: dict[str, Any]) -> Any:
    page = pages["spectrum"]
    page.page.set_viewport_size(DESKTOP)
    page.page.emulate_media(color_scheme="light", media="screen")
    page.show(3)
    return page


def state(page: Any) -> dict[str, Any]:
    """Everything that should follow the slider."""
    return {
        "value": page.text("#value"),
        "now": page.text("#now"),
        "cards": page.page.locator("#cards > li").count(),
        "numbers": page.text("#fit-numbers"),
        "sentence": page.text("#evidence-sentence"),
        "row": page.page.get_attribute("#evidence tr.current", "data-rank"),
        "code": page.text("#code-now"),
        "line": page.page.evaluate(
            "document.getElementById('evidence-chart').layout.shapes.find((s) => s.line.dash === 'dash').x0"
        ),
        "shares": page.page.evaluate("document.getElementById('shares').data[0].z.length"),
        "tree": page.page.text_content("#tree-picture text[font-weight='700']"),
        "curves": page.page.evaluate("document.getElementById('spectra').data.length"),
    }


def press(page: Any, key: str, rank: int) -> None:
    page.page.focus("#rank")
    page.page.keyboard.press(key)
    page.until(f"shown.rank === {rank}")


@pytest.mark.slow
def test_the_slider_moves_by_keyboard_and_everything_follows(spectra: Any, fitted: AutoNMF) -> None:
    before = state(spectra)
    press(spectra, "ArrowRight", 4)
    after = state(spectra)
    assert (before["value"], after["value"]) == ("3", "4")
    assert (before["cards"], after["cards"]) == (3, 4)
    assert (before["row"], after["row"]) == ("3", "4")
    assert (before["line"], after["line"]) == (3, 4)
    assert (before["curves"], after["curves"]) == (3, 4)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == set(before)
    explained = percent(1.0 - fitted.path_.relative_losses[3])
    assert f"4 components explain {explained} of the energy" in after["now"]
    assert "model.at_rank(4, X)" in after["code"]


def test_home_and_end(spectra: Any) -> None:
    press(spectra, "Home", 1)
    assert spectra.text("#components-title") == "The component"
    press(spectra, "End", 8)
    assert state(spectra)["cards"] == 8


def test_buttons(spectra: Any) -> None:
    spectra.page.click("#more")
    assert spectra.text("#value") == "4"
    spectra.page.click("#fewer")
    assert not spectra.page.is_visible("#back")
    spectra.page.click("[data-show] >> nth=1")
    other = int(spectra.text("#value"))
    assert other == int(spectra.page.get_attribute("[data-show] >> nth=1", "data-show")) != 3
    spectra.page.click("#back")
    assert spectra.text("#value") == "3"
    assert spectra.page.evaluate("document.activeElement.id") == "rank"


def test_a_click_on_the_evidence_moves_the_slider(spectra: Any) -> None:
    spectra.page.locator("#evidence-chart").scroll_into_view_if_needed()
    points = spectra.page.locator("#evidence-chart .scatterlayer .trace >> nth=0 >> .points path")
    box = points.nth(5).bounding_box()
    spectra.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    spectra.until("shown.rank === 6")


def test_every_kind_without_an_error_or_a_request(each: Any) -> None:
    views = each.page.evaluate("contents.views.map(({ rank, detail }) => [rank, detail])")
    for rank, _ in [*views[:6], views[-1]]:
        each.show(rank)
        assert each.page.locator("#cards > li").count() == rank
    each.page.wait_for_timeout(50)
    assert each.problems == []
    outside = [url for url in each.requests if not url.startswith(("file:", "data:", "blob:"))]
    assert outside == []
    assert sum(url.startswith("file:") for url in each.requests) == 1


def test_no_kind_is_wider_than_a_phone(each: Any) -> None:
    each.page.set_viewport_size(PHONE)
    each.page.locator("details").evaluate("(details) => { details.open = true; }")
    largest = each.page.evaluate("contents.views.at(-1).rank")
    for rank in (each.page.evaluate("contents.rank"), largest):
        each.show(rank)
        each.until(
            "[...document.querySelectorAll('.js-plotly-plot')]"
            ".every((plot) => plot._fullLayout.width <= innerWidth)"
        )
        assert each.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        wide = each.page.evaluate(
            "[...document.querySelectorAll('main *')]"
            ".filter((e) => !e.closest('.scroll, .chart'))"
            ".filter((e) => e.getBoundingClientRect().right > innerWidth + 1)"
            ".map((e) => e.outerHTML.slice(0, 80))"
        )
        assert wide == []


def luminance(rgb: list[float]) -> float:
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in rgb)]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_both_schemes(spectra: Any, scheme: str) -> None:
    """Contrasts of WCAG 2, level AA, on the page and on its panels."""
    fronts = ["text", "quiet", "choice", "data", "warning", "good"]
    spectra.page.emulate_media(color_scheme=scheme)
    colours = spectra.page.evaluate(
        """(names) => Object.fromEntries(names.map((name) => {
            const probe = document.createElement("i");
            probe.style.color = `var(--${name})`;
            document.body.append(probe);
            const found = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map(Number);
            probe.remove();
            return [name, found];
        }))""",
        ["paper", "panel", *fronts],
    )
    light = {name: luminance(rgb) for name, rgb in colours.items()}
    assert (light["paper"] < 0.05) == (scheme == "dark")
    for back in ("paper", "panel"):
        for front in fronts:
            low, high = sorted((light[back], light[front]))
            assert (high + 0.05) / (low + 0.05) >= 4.5, f"{front} on {back}"


def test_plots_follow_the_scheme(spectra: Any) -> None:
    for scheme, ink in (("dark", "#e9ebed"), ("light", "#1a1c1e")):
        spectra.page.emulate_media(color_scheme=scheme)
        for plot in ("spectra", "fit-curve", "fit-samples", "evidence-chart"):
            spectra.until(f"document.getElementById('{plot}')._fullLayout.font.color === '{ink}'")


def test_print(spectra: Any, tmp_path: Path) -> None:
    """On paper: the rank that is shown, no controls, black on white even in dark mode."""
    spectra.page.emulate_media(color_scheme="dark", media="print")
    assert not spectra.page.is_visible("#rank")
    assert not spectra.page.is_visible("#more")
    assert spectra.page.is_visible("#value")
    assert spectra.page.locator("#cards > li").count() == 3
    assert spectra.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert spectra.page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    printed = spectra.page.pdf(format="A4")
    assert printed.startswith(b"%PDF")
    assert 2 <= printed.count(b"/Type /Page\n") <= 6
    assert printed.count(b"/Subtype /Image") >= 4


def test_a_reader_of_the_screen_is_told(spectra: Any) -> None:
    """Names, roles and values, as the browser hands them to assistive programs."""
    page = spectra.page
    assert page.get_by_role("slider", name="Rank").count() == 1
    press(spectra, "ArrowRight", 4)
    assert page.get_attribute("#rank", "aria-valuetext") == "4 components"
    assert page.get_attribute("#now", "aria-live") == "polite"
    assert page.locator("img:not([alt]), img[alt='']").locator("visible=true").count() == 0
    assert page.locator("[role=img]:visible:not([aria-label])").count() == 0
    page.locator("details").evaluate("(details) => { details.open = true; }")
    assert page.get_by_role("columnheader", name="probability").count() == 1
    assert page.get_by_role("rowheader", name="4", exact=True).count() == 1
    names = page.eval_on_selector_all(
        "button:not([hidden])", "(all) => all.map((one) => one.getAttribute('aria-label') || one.innerText)"
    )
    assert all(names)
    levels = page.eval_on_selector_all("h1, h2, h3", "(all) => all.map((h) => Number(h.tagName[1]))")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_hostile_names_are_read_not_run(pages: dict[str, Any]) -> None:
    page = pages["words"]
    page.show(3)
    assert page.text("h1") == HOSTILE
    assert page.page.title() == HOSTILE
    assert HOSTILE in page.text("#cards")
    assert page.page.locator("#cards img, h1 img").count() == 0
    assert page.problems == []


def test_words_in_another_order(pages: dict[str, Any], fitted: AutoNMF) -> None:
    page = pages["words"]
    page.show(3)
    assert page.page.is_visible("#order")
    page.page.check("input[value=by_weight]")
    first = page.text(".terms li >> nth=0")
    assert first.startswith(f"{np.argmax(fitted.components_[0])} ")
    page.page.check("input[value=by_specificity]")


def test_the_policy_forbids_requests_and_foreign_scripts(spectra: Any) -> None:
    refused = spectra.page.evaluate(
        """async () => {
            let events = 0;
            document.addEventListener("securitypolicyviolation", () => { events += 1; });
            const failed = await fetch("http://127.0.0.1:9/").then(() => false, () => true);
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
            script.remove();
            await new Promise((done) => setTimeout(done, 50));
            return [failed, window.ran === undefined, events];
        }"""
    )
    spectra.problems.clear()
    assert refused == [True, True, 2]


def test_percentages_read_the_same_in_both_languages(spectra: Any) -> None:
    shares = [0.0, 1.0, -0.1, 1e-6, 2e-4, 0.00312, 0.0512, 0.123, 0.5, 0.87, 0.95, 0.9993, 0.99995, 0.9999999]
    assert spectra.page.evaluate("(shares) => shares.map(percent)", shares) == [
        percent(share) for share in shares
    ]


def test_a_rank_that_was_asked_for_has_no_probability(pages: dict[str, Any]) -> None:
    page = pages["template"]
    assert page.text("#answer-title") == "4 components"
    assert "was given" in page.text("#answer")
    assert "Probability" not in page.text("#fit-numbers")


def test_what_does_not_fit_on_the_page_is_said(pages: dict[str, Any]) -> None:
    page = pages["image"]
    details = page.page.evaluate("contents.views.map((view) => view.detail)")
    page.show(details.index("full") + 1)
    assert "pixels are averaged" not in page.text("#components-note")
    page.show(details.index("small") + 1)
    assert "2 × 2 pixels are averaged" in page.text("#components-note")
    last = len(details)
    assert last < 50
    assert f"it ends at rank {last}; in Python, model.path_ has 50" in page.text("#components-note")
    press(page, "End", last)
    assert page.page.locator("#cards > li").count() == last


def test_maps_of_shares_and_of_amounts(spectra: Any) -> None:
    first = spectra.page.get_attribute("#cards img >> nth=0", "src")
    assert "share of signal, 0 to" in spectra.text("#cards")
    spectra.page.check("input[value=amounts]")
    assert spectra.page.get_attribute("#cards img >> nth=0", "src") != first
    assert "amount, 0 to" in spectra.text("#cards")
    spectra.page.check("input[value=map]")


# The tree, the samples and the files


def test_a_click_on_the_tree_opens_the_rank(spectra: Any) -> None:
    nodes = spectra.page.locator("#tree-picture g[role=button]")
    assert nodes.count() == sum(range(1, 9))
    nodes.nth(10).click()  # the first of rank five
    spectra.until("shown.rank === 5")
    nodes.nth(1).focus()
    spectra.page.keyboard.press("Enter")
    spectra.until("shown.rank === 2")


def test_colours_stay_with_a_branch(spectra: Any) -> None:
    painted = spectra.page.evaluate(
        "contents.views.flatMap((view) => { paint(view); "
        "return view.components.map((one) => [one.branch, one.colour]); })"
    )
    assert len({tuple(pair) for pair in painted}) == len({branch for branch, _ in painted}) == 8
    below = spectra.page.evaluate(
        "placeTree(treeViews()).spans.map((row) => row.slice().sort((a, b) => a[0] - b[0]))"
    )
    for row in below:  # each row is filled from left to right, without a gap
        assert row[0][0] == 0
        assert row[-1][1] == 8
        assert all(one[1] == other[0] for one, other in pairwise(row))


def test_samples_are_sorted_by_group_and_by_share(
    spectra: Any, fitted: AutoNMF, low_rank: np.ndarray
) -> None:
    z = np.array(spectra.page.evaluate("document.getElementById('shares').data[0].z"))
    order = spectra.page.evaluate(
        "document.getElementById('shares').data[0].customdata[0].map((one) => one[1])"
    )
    assert sorted(order) == list(range(60))
    assert [i % 2 for i in order] == [0] * 30 + [1] * 30
    top = z.argmax(axis=0)
    assert (np.diff(top[:30]) >= 0).all()
    assert (np.diff(top[30:]) >= 0).all()
    np.testing.assert_allclose(z.sum(axis=0), 1.0, atol=0.01)
    spectra.page.select_option("#sample", "7")
    bars = spectra.page.evaluate("document.getElementById('one').data[0].y")
    np.testing.assert_allclose(bars, z[:, order.index(7)])
    W, H = fitted.transform(low_rank)[7], fitted.components_.sum(axis=1)
    np.testing.assert_allclose(bars, W * H / (W @ H), atol=0.003)


def test_stability_is_written_on_the_cards(spectra: Any) -> None:
    assert spectra.text("#cards").count("stability 1.00 (") == 3
    assert spectra.page.is_visible("#stability")


def test_intervals_of_the_loadings_are_drawn(spectra: Any, fitted: AutoNMF, low_rank: np.ndarray) -> None:
    stability = fitted.component_stability(low_rank, n_resamples=2)
    spectra.page.select_option("#loadings-of", index=1)
    band, curve = spectra.page.evaluate("document.getElementById('loadings').data.map((each) => each.y)")
    scale = fitted.components_[1].max()
    np.testing.assert_allclose(curve, fitted.components_[1] / scale, atol=1e-3)
    np.testing.assert_allclose(band[:40], stability.upper[1] / scale, atol=1e-3)
    np.testing.assert_allclose(band[:39:-1], stability.lower[1] / scale, atol=1e-3)
    assert "nine of ten resamples" in spectra.text("#loadings-note")
    spectra.show(4)
    assert not spectra.page.is_visible("#loadings-figure")


@pytest.mark.slow
def test_intervals_of_words_and_of_images(
    opened: Callable, fitted: AutoNMF, low_rank: np.ndarray, tmp_path: Path
) -> None:
    stability = fitted.component_stability(low_rank, n_resamples=2)
    names = [f"{j} {HOSTILE}" for j in range(40)]
    shapes: dict[str, Any] = {"words": {"feature_names": names, "n_top": 4}, "image": {"image_shape": (5, 8)}}
    for kind, options in shapes.items():
        file = write_report(fitted, tmp_path / f"{kind}.html", X=low_rank, stability=stability, **options)
        page = opened(file)
        page.page.select_option("#loadings-of", index=2)
        for size in (PHONE, DESKTOP):
            page.page.set_viewport_size(size)
            page.until(f"document.documentElement.scrollWidth === {size['width']}")
        assert page.page.is_visible("#loadings") == (kind == "words")
        assert page.page.is_visible("#loadings-pictures") == (kind == "image")
        figure = {"words": "loadings", "image": "loading-pictures"}[kind]
        name, content = saved(page, f"button[aria-label='Save {figure} as SVG']")
        assert name == f"{figure}-rank-3.svg"
        if kind == "words":
            shown, lines = page.page.evaluate(
                "document.getElementById('loadings').data.map(({ x, y }) => [x, y])"
            )
            order = np.argsort(-fitted.components_[2], kind="stable")[:4]
            scale = fitted.components_[2].max()
            np.testing.assert_allclose(shown[0], fitted.components_[2][order] / scale, atol=1e-3)
            ends = np.stack([stability.lower[2], stability.upper[2]], axis=1)[order] / scale
            np.testing.assert_allclose(np.reshape(lines[0], (4, 3))[:, :2].astype(float), ends, atol=1e-3)
        else:
            assert page.page.locator("#loadings-pictures img").count() == 3
            assert content.count(b"<image") == 3
            assert b"upper end" in content
        assert not page.problems


def test_labels_of_groups_do_not_overlap(
    opened: Callable, fitted: AutoNMF, low_rank: np.ndarray, tmp_path: Path
) -> None:
    groups = [f"group {i // 6}" for i in range(60)]
    page = opened(write_report(fitted, tmp_path / "page.html", X=low_rank, groups=groups))
    for size, labels in ((PHONE, 0), (DESKTOP, 10)):
        page.page.set_viewport_size(size)
        page.until(f"document.getElementById('shares').layout.annotations.length === {labels}")


def test_the_residual_has_coordinates(spectra: Any, fitted: AutoNMF, low_rank: np.ndarray) -> None:
    spectra.until("document.getElementById('residual').data !== undefined")
    trace = spectra.page.evaluate("(({ x, y, z }) => [x, y, z])(document.getElementById('residual').data[0])")
    assert (trace[0], trace[1]) == (list(range(1, 11)), list(range(1, 7)))
    point = fitted.path_.at_rank(3)
    norms = np.linalg.norm(low_rank - point.U @ point.V.T, axis=1).reshape(6, 10)
    np.testing.assert_allclose(trace[2], norms, atol=norms.max() / 60)


def saved(page: Any, button: str) -> tuple[str, bytes]:
    """What a button saves: name and content. Chromium drops downloads that follow too fast."""
    page.page.wait_for_timeout(150)
    with page.page.expect_download() as download:
        page.page.locator(button).click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def test_tables_are_saved(spectra: Any, fitted: AutoNMF, low_rank: np.ndarray, tmp_path: Path) -> None:
    for name, factor in (("W", fitted.transform(low_rank)), ("H", fitted.components_)):
        file, content = saved(spectra, f"#tables button:has-text('{name} at rank 3')")
        (tmp_path / file).write_bytes(content)
        table = read_matrix(tmp_path / file)
        np.testing.assert_allclose(table.X, factor, rtol=2e-3, atol=1e-6 * factor.max())
        assert (table.column_names if name == "W" else table.row_names)[0] == "component_1"
    file, content = saved(spectra, "#tables button:has-text('Evidence')")
    lines = content.decode().splitlines()
    evidence = fitted.rank_estimate_.evidence
    assert lines[0].split(",")[0] == "rank"
    assert len(lines) == len(evidence["rank"]) + 1
    place = lines[0].split(",").index("drop")
    assert float(lines[3].split(",")[place]) == evidence["drop"][2]


@pytest.mark.slow
def test_every_figure_is_saved(each: Any) -> None:
    each.page.wait_for_timeout(100)
    figures = each.page.eval_on_selector_all(
        "[data-figure]",
        "(all) => all.filter((one) => one.checkVisibility()).map((one) => one.dataset.figure)",
    )
    assert {"evidence", "loss"} <= set(figures)
    for name in figures:
        file, content = saved(each, f"button[aria-label='Save {name} as SVG']")
        assert file == f"{name}-rank-{each.page.evaluate('shown.rank')}.svg"
        root = ElementTree.fromstring(content)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert len(list(root.iter())) > 5
        file, content = saved(each, f"button[aria-label='Save {name} as PNG']")
        assert content.startswith(b"\x89PNG")
        assert len(content) > 1000
    assert each.problems == []


@pytest.mark.slow
def test_materials_have_one_colour_bar(
    opened: Callable, fitted: AutoNMF, low_rank: np.ndarray, tmp_path: Path, spectra: Any
) -> None:
    file = write_report(fitted, tmp_path / "page.html", X=low_rank, map_shape=(6, 10), unmix=True)
    page = opened(file)
    assert page.page.locator("#materials-cards > li").count() == fitted.n_components_
    assert page.page.locator("#materials-cards img").count() == fitted.n_components_
    assert page.page.locator("#materials .bar").count() == 1
    assert "abundance: 0" in page.text("#materials-scale")
    assert "mean abundance" in page.text("#materials-cards")
    assert not page.problems
    plain = opened(write_report(fitted, tmp_path / "plain.html", X=low_rank, kind="spectrum", unmix=True))
    assert plain.page.locator("#materials-cards img").count() == 0
    assert not plain.page.is_visible("#materials-scale")
    assert not spectra.page.is_visible("#materials")
