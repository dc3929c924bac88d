"""What a report says: the answer, the evidence, the fit, and how much of it fits on a page."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autonmf import AutoNMF, RankEstimate, UncertainRankWarning
from autonmf.plotting.presentation import choose_presentation
from autonmf.report.components import FULL, Detail
from autonmf.report.contents import build_contents, compact, compute_fits, fill_space
from autonmf.report.evidence import build_answer, build_evidence, describe_rank
from autonmf.report.result import Factors, Result, recipe_from_model
from autonmf.report.samples import MAX_SHOWN, Samples, pack_tables
from autonmf.report.wording import percent, percents, plain
from autonmf.selection.features import format_number


@pytest.fixture
def result(fitted: AutoNMF, low_rank: np.ndarray) -> Result:
    return Result.from_model(fitted, low_rank)


def contents(model: AutoNMF, X: np.ndarray | None = None, max_bytes: int = 10**6, **options):
    result = Result.from_model(model, X)
    return build_contents(
        result,
        choose_presentation(result.path.shape, **options),
        recipe_from_model(model),
        "title",
        max_bytes,
    )


def said(result: Result, ranks: Sequence[int] = range(1, 9)):
    fits = compute_fits(result, choose_presentation(result.path.shape))
    unexplained = {rank: fit.unexplained for rank, fit in fits.items()}
    return build_answer(result, unexplained, build_evidence(result), ranks=ranks)


def test_the_answer(result: Result) -> None:
    answer, estimate = said(result), result.estimate
    assert answer.headline == "3 components"
    assert answer.why.lower().startswith(estimate.why.lower())
    second = int(np.argsort(-estimate.evidence["probability"])[1]) + 1
    assert f"clear, with a probability of {percent(estimate.confidence)}." in answer.confidence
    assert f"second most probable rank is {second} (" in answer.confidence
    left = [percent(result.path.relative_losses[rank - 1]) for rank in (2, 3, 4)]
    for rank, words in zip((2, 3, 4), left, strict=True):
        assert f"{words} with {rank} components" in answer.fit
    assert [one.rank for one in answer.candidates][:2] == [3, second]
    assert "independent errors" in answer.definitions


@pytest.mark.parametrize(
    ("confidence", "words"),
    [(0.95, "is clear"), (0.7, "is likely"), (0.1, "is uncertain")],
)
def test_confidence_in_words(result: Result, confidence: float, words: str) -> None:
    estimate = replace(result.estimate, confidence=confidence, plausible=(2, 3, 4, 7))
    answer = said(replace(result, estimate=estimate))
    assert words in answer.confidence


def test_data_that_do_not_determine_one_rank() -> None:
    """Random walks have structure at every scale."""
    X = np.abs(np.random.default_rng(0).normal(size=(80, 60)).cumsum(axis=1))
    with pytest.warns(UncertainRankWarning):
        model = AutoNMF(max_rank=12, random_state=0).fit(X)
    answer, plausible = said(Result.from_model(model, X)), model.rank_estimate_.plausible
    assert plausible == tuple(range(plausible[0], plausible[-1] + 1))
    (warning,) = answer.warnings
    assert warning.startswith(
        f"The data do not determine one rank: {plausible[0]} to {plausible[-1]} are reasonable, because "
    )


@pytest.mark.parametrize(("likeliest", "capped"), [(0.9999, True), (0.98, False)])
def test_why_the_confidence_ends_where_it_does(result: Result, likeliest: float, capped: bool) -> None:
    chances = np.full_like(result.estimate.evidence["probability"], 1e-6)
    chances[2] = likeliest
    evidence = result.estimate.evidence | {"probability": chances}
    estimate = replace(result.estimate, evidence=evidence, confidence=min(likeliest, 0.99))
    answer = said(replace(result, estimate=estimate))
    assert (f"capped at {percent(0.99)}" in answer.confidence) == capped


def test_no_probability_is_above_the_confidence(result: Result) -> None:
    estimate = replace(result.estimate, confidence=0.5)
    chances = build_evidence(replace(result, estimate=estimate)).column("probability")
    assert max(chances.values) == 0.5
    assert said(replace(result, estimate=estimate)).candidates[0].probability == 0.5


def test_warnings_are_sentences(result: Result) -> None:
    estimate = replace(result.estimate, warnings=("two ranks are equally supported: 2 and 3",))
    assert said(replace(result, estimate=estimate)).warnings == ("Two ranks are equally supported: 2 and 3.",)


def test_a_rule_without_confidence(low_rank: np.ndarray) -> None:
    model = AutoNMF(max_rank=8, rule="marginal", random_state=0).fit(low_rank)
    answer = said(Result.from_model(model))
    assert "“marginal” gives no probability" in answer.confidence
    assert answer.candidates[0].probability is None


def test_a_rank_that_was_asked_for(low_rank: np.ndarray) -> None:
    model = AutoNMF(n_components=4, max_rank=6, tol=1e-3, random_state=0).fit(low_rank)
    found = contents(model, low_rank)
    assert found.answer.headline == "4 components"
    assert "was given" in found.answer.why
    assert (found.chosen, found.rule, found.plausible, found.answer.confidence) == (None, None, (), "")
    assert [view["rank"] for view in found.views] == [4, 5, 6]
    assert found.evidence.panels == ("loss",)


def test_a_model_at_another_rank_of_the_path(fitted: AutoNMF, low_rank: np.ndarray) -> None:
    found = contents(fitted.at_rank(5, low_rank), low_rank)
    assert (found.rank, found.chosen) == (5, 3)
    assert "has 5 components, as requested" in found.answer.why
    assert [view["polished"] for view in found.views] == [view["rank"] == 5 for view in found.views]


def test_components_that_are_not_needed() -> None:
    X = np.diag([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    with pytest.warns(UserWarning, match="1 of the 4 components vanished"):
        model = AutoNMF(n_components=4, max_rank=4, random_state=0).fit(X)
    found = contents(model, X)
    assert [len(view["components"]) for view in found.views] == [3, 4]
    fractions = [component["fraction"] for component in found.views[1]["components"]]
    assert fractions == pytest.approx([1 / 3] * 3 + [0.0])


def test_the_evidence_is_the_rule_s_own(result: Result) -> None:
    evidence, table = build_evidence(result), result.estimate.evidence
    assert evidence.ranks == tuple(table["rank"])
    assert {column.name for column in evidence.columns} == set(table) - {"rank"}
    np.testing.assert_array_equal(evidence.column("drop").values, table["drop"])
    assert evidence.panels == ("probability", "noise_ratio", "drop")
    noise_ratio = evidence.column("noise_ratio")
    assert noise_ratio.level == (1.0, "noise")
    assert noise_ratio.log


def test_infinite_evidence(result: Result) -> None:
    table = {
        "rank": np.array([1, 2, 3]),
        "drop_ratio": np.array([np.nan, 2.0, np.inf]),
        "name": np.array(["a", "b", "c"]),
    }
    estimate = RankEstimate(3, "own", "because", table, (3,))
    evidence = build_evidence(replace(result, estimate=estimate))
    (column,) = evidence.columns
    assert column.values == (None, 2.0, None)
    assert column.words == ("–", "2.00", "∞")
    assert json.loads(compact(column.values)) == [None, 2.0, None]


def test_a_sentence_for_every_rank(result: Result) -> None:
    evidence = build_evidence(result)
    sentences = [describe_rank(evidence, rank) for rank in evidence.ranks]
    assert len(set(sentences)) == len(sentences)
    ratio = result.estimate.evidence["drop_ratio"][2]
    assert f"Component 3 lowers the loss {plain(ratio)} times as much as the next one" in sentences[2]
    assert "What 3 components leave looks like noise." in sentences[2]
    left = format_number(result.estimate.evidence["noise_ratio"][0])
    assert f"The strongest remaining pattern is {left} times what noise alone would show." in sentences[0]
    assert "did not consider" in describe_rank(evidence, 99)


@pytest.mark.parametrize(
    ("noise_ratio", "said"),
    [
        (0.9, "What 2 components leave looks like noise."),
        (1.2, "is 1.2 times what noise alone would show, which may be noise too."),
        (1.4, "The strongest remaining pattern is 1.4 times what noise alone would show."),
    ],
)
def test_what_is_left_agrees_with_the_reason(result: Result, noise_ratio: float, said: str) -> None:
    """The reason of the rule calls a ratio above one a pattern."""
    table = {"rank": np.array([1, 2]), "noise_ratio": np.array([5.0, noise_ratio])}
    evidence = build_evidence(replace(result, estimate=RankEstimate(2, "auto", "because", table, (2,))))
    assert describe_rank(evidence, 2).endswith(said)


def test_the_fit(result: Result, fitted: AutoNMF, low_rank: np.ndarray) -> None:
    found = compute_fits(
        result, choose_presentation(low_rank.shape, sample_names=[f"s{i}" for i in range(60)])
    )
    losses = dict(zip(fitted.path_.ranks, fitted.path_.relative_losses, strict=True))
    assert [found[k].unexplained for k in losses] == pytest.approx(list(losses.values()))
    assert found[4].added == pytest.approx(losses[3] - losses[4])
    assert found[1].added is None
    point = fitted.path_.at_rank(3)
    lost = ((low_rank - point.U @ point.V.T) ** 2).sum(axis=1)
    lost /= (low_rank**2).sum(axis=1)
    samples = found[3].samples
    assert samples["median"] == pytest.approx(1 - np.median(lost))
    assert samples["quantiles"][0] == pytest.approx(lost.max(), rel=1e-3)
    assert samples["quantiles"][-1] == pytest.approx(lost.min(), rel=1e-3)
    assert samples["worst"][0] == (f"s{np.argmax(lost)}", pytest.approx(1 - lost.max()))


def test_samples_of_zeros_have_no_fit(low_rank: np.ndarray) -> None:
    X = low_rank.copy()
    X[3] = 0.0
    result = Result.from_model(AutoNMF(max_rank=4, random_state=0).fit(X), X)
    assert "row 4" not in [
        name for name, _ in compute_fits(result, choose_presentation(X.shape))[3].samples["worst"]
    ]


def test_without_the_data_the_path_s_factors_are_shown(fitted: AutoNMF) -> None:
    found = contents(fitted)
    assert not any(view["polished"] for view in found.views)
    assert all(view["samples"] is None for view in found.views)
    assert found.views[2]["components"][0]["fraction"] is not None


def test_with_the_data_the_model_s_own_components_are_shown(fitted: AutoNMF, low_rank: np.ndarray) -> None:
    shown = Result.from_model(fitted, low_rank).factors(3)
    np.testing.assert_array_equal(shown.V, fitted.components_.T)
    np.testing.assert_array_equal(shown.U, fitted.transform(low_rank))


@pytest.mark.parametrize("change", [lambda X: X[:30], lambda X: 2.0 * X])
def test_other_data_are_refused(fitted: AutoNMF, low_rank: np.ndarray, change) -> None:
    with pytest.raises(ValueError, match=r"not what the model was fitted to \(a 60 x 40 matrix"):
        Result.from_model(fitted, change(low_rank))


@pytest.mark.parametrize("zeros", [0, 5])
def test_a_weighted_model_is_reported_without_its_data(low_rank: np.ndarray, tmp_path, zeros: int) -> None:
    sample_weight = np.random.default_rng(0).uniform(2.0, 3.0, len(low_rank))
    sample_weight[:zeros] = 0.0
    model = AutoNMF(max_rank=4, random_state=0).fit(low_rank, sample_weight=sample_weight)
    with pytest.raises(ValueError, match="write the report of a weighted model without X"):
        model.report(tmp_path / "page.html", X=low_rank)
    assert model.report(tmp_path / "page.html").is_file()


def test_the_highest_rank_has_no_next(result: Result) -> None:
    evidence = build_evidence(result)
    last = evidence.ranks[-1]
    assert f"Rank {last} is the largest rank tried" in describe_rank(evidence, last)
    assert "the next one" not in describe_rank(evidence, last)
    assert "the next one" in describe_rank(evidence, last - 1)


def test_an_unfitted_model_is_refused() -> None:
    with pytest.raises(ValueError, match="call fit first"):
        Result.from_model(AutoNMF())


def test_what_is_near_the_choice_comes_first(result: Result) -> None:
    assert result.ranks_by_distance[:5] == [3, 2, 4, 1, 5]


def test_full_detail_first_then_small_then_nothing() -> None:
    def build(rank: int, detail: Detail) -> dict[str, object]:
        return {"components": (), "detail": detail.name, "pad": "x" * (60 if detail is FULL else 10)}

    made = fill_space(1000, range(1, 31), build)
    details = [made[rank]["detail"] if rank in made else "nothing" for rank in range(1, 31)]
    assert details == sorted(details, key=["full", "small", "nothing"].index)
    assert set(details) == {"full", "small", "nothing"}
    sizes = [len(compact(one)) for one in made.values()]
    assert sum(sizes) <= 1000
    assert sum(size for size, detail in zip(sizes, details, strict=False) if detail == "full") <= 700


def test_noise_on_every_rank_stays_within_its_bytes(noise_path) -> None:
    path = noise_path(900, 120, 30)
    point = path.at_rank(2)
    result = Result(path, None, Factors(point.U, point.V, True), 2, point.loss)
    presentation = choose_presentation((900, 120), map_shape=(30, 30))
    found = build_contents(result, presentation, recipe_from_model(AutoNMF()), "noise", 200_000)
    assert len(found.as_json()) < 200_000 + 20_000
    assert {view["detail"] for view in found.views} == {"full", "small"}
    assert all(len(view["components"]) == view["rank"] for view in found.views)
    assert found.left_out == (len(found.views), 30)
    assert found.views[1]["detail"] == "full"
    assert found.form["blocks"] == {"full": 1, "small": 1}


def test_json_has_no_holes(fitted: AutoNMF, low_rank: np.ndarray) -> None:
    text = contents(fitted, low_rank, map_shape=(6, 10)).as_json()
    assert "null" not in text.split('"views"')[1]
    json.loads(text, parse_constant=pytest.fail)


def test_one_loss_in_all_sentences(fitted: AutoNMF, low_rank: np.ndarray) -> None:
    """That of the path, also at the rank that is polished."""
    found = contents(fitted, low_rank)
    for view, loss in zip(found.views, fitted.path_.relative_losses, strict=True):
        assert view["explained_words"] == percent(1 - loss)
        assert view["unexplained"] == pytest.approx(loss)
        assert f"{percent(loss)} with {view['rank']} component" in found.answer.fit or view["rank"] not in (
            2,
            3,
            4,
        )


def test_how_much_the_polish_gains() -> None:
    rng = np.random.default_rng(1)
    rows, columns = (10.0 ** rng.normal(0.0, 0.7, shape) for shape in ((150, 1), (1, 60)))
    X = rng.poisson(rows * (rng.gamma(0.3, 1, (150, 5)) @ rng.gamma(0.3, 1, (5, 60))) * columns).astype(float)
    with pytest.warns(UncertainRankWarning):
        model = AutoNMF(max_rank=8, random_state=0).fit(X)
    rank = model.n_components_
    found = contents(model, X)
    polished = model.reconstruction_err_**2 / np.sum(X**2)
    assert [view["rank"] for view in found.views if view["polish_words"]] == [rank]
    words = found.views[rank - 1]["polish_words"]
    assert words == "from {} to {}".format(*percents([model.path_.relative_losses[rank - 1], polished]))


def test_counts_with_the_loss_of_counts() -> None:
    """Nothing about energy, and no advice to use the loss that was used."""
    rng = np.random.default_rng(0)
    X = rng.poisson(6 * rng.gamma(0.3, 1.0, (80, 3)) @ rng.gamma(0.3, 1.0, (3, 30)))
    model = AutoNMF(max_rank=6, beta_loss="kullback-leibler", random_state=0).fit(X)
    found = contents(model, X)
    assert not found.answer.for_counts
    assert not any("counts" in finding.text for finding in found.health.findings)
    assert found.answer.fit.startswith("Kullback-Leibler loss relative to rank one")
    assert all(view["samples"] is None for view in found.views)
    assert found.views[0]["unexplained"] == pytest.approx(1.0, abs=1e-3)


def test_counts_with_least_squares_lead_to_the_loss_of_counts() -> None:
    rng = np.random.default_rng(0)
    X = rng.poisson(6 * rng.gamma(0.1, 1.0, (80, 3)) @ rng.gamma(0.1, 1.0, (3, 30)))
    model = AutoNMF(max_rank=6, random_state=0).fit(X)
    found = contents(model, X)
    assert found.answer.for_counts
    assert not any("counts" in text for text in found.answer.warnings)
    for _, code in found.recipe.for_counts:
        names = {"X": X, "AutoNMF": AutoNMF}
        exec(code, names)
        assert isinstance(names["model"], AutoNMF)
        assert names["model"].max_rank == 6
    assert "beta_loss='kullback-leibler'" in found.recipe.for_counts[0][1]


def test_an_uncertain_choice_says_what_to_do(result: Result) -> None:
    assert said(result).steps == ()
    estimate = replace(result.estimate, confidence=0.2, plausible=(2, 3, 5))
    steps = said(replace(result, estimate=estimate)).steps
    assert "tree" in steps[0]
    assert "ranks 2, 3 and 5, and take" in steps[1]
    few = said(replace(result, estimate=estimate), ranks=range(1, 5)).steps
    assert "ranks 2 and 3, and take" in few[1]
    assert "--rank" in steps[2]


# The tree


@pytest.mark.parametrize(
    ("plausible", "last"), [((10,), 12), ((10, 18), 20), ((10, 25, 50), 27), ((10, 50), 12)]
)
def test_the_tree_ends_where_components_are_iterated_well(plausible: tuple[int, ...], last: int) -> None:
    X = np.random.default_rng(0).random((60, 52))
    model = AutoNMF(max_rank=50, tol=1e-2, random_state=0).fit(X)
    model.rank_estimate_ = replace(model.rank_estimate_, rank=10, plausible=plausible)
    assert contents(model.at_rank(10), X).tree == last


def test_every_component_has_a_branch_and_a_parent(fitted: AutoNMF, low_rank: np.ndarray) -> None:
    found, tree = contents(fitted, low_rank), fitted.path_.tree()
    shown = [fitted.components_ if k == 3 else fitted.path_.at_rank(k).V.T for k in range(1, 9)]
    for view in found.views:
        k, parts = view["rank"], view["components"]
        assert sorted(part["branch"] for part in parts) == list(range(k))
        if k == 1:
            assert "parent" not in parts[0]
            continue
        assert {part["parent"] for part in parts} == set(range(k - 1))
        assert [part["similarity"] for part in parts] == pytest.approx(
            [
                float(tree.at_rank(k)["similarity"][i])
                for i in (_closest(shown[k - 1], fitted.path_.at_rank(k).V.T))
            ],
            abs=1e-3,
        )
        children = [sum(part["parent"] == j for part in parts) for j in range(k - 1)]
        assert sorted(children) == [1] * (k - 2) + [2]


def _closest(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The nearest of the other rows, by direction."""
    units = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (rows, others)]
    return np.argmax(units[0] @ units[1].T, axis=1)


# Samples


def test_shares_and_their_means_by_group(fitted: AutoNMF, low_rank: np.ndarray) -> None:
    groups = ["10", "2", "x"] * 20
    found = contents(fitted, low_rank, groups=groups)
    assert found.samples["group_names"] == ["2", "10", "x"]  # numbers by value
    assert found.samples["group_sizes"] == [20, 20, 20]
    assert found.samples["names"][:2] == ["row 1", "row 2"]
    W, H = fitted.transform(low_rank), fitted.components_
    parts = W[:, :, None] * H
    shares = parts.sum(axis=2) / parts.sum(axis=(1, 2))[:, None]
    stored = np.frombuffer(b64decode(found.views[2]["shares"]), np.uint8).reshape(3, 60) / 255
    np.testing.assert_allclose(stored, shares.T, atol=0.5 / 255)
    means = [shares[np.array(groups) == name].mean(axis=0) for name in ("2", "10", "x")]
    np.testing.assert_allclose(np.array(found.views[2]["by_group"]).T, means, atol=1e-4)


def test_of_many_samples_some_of_every_group_are_shown() -> None:
    presentation = choose_presentation(
        (5000, 3), groups=["rare" if i % 100 == 7 else "usual" for i in range(5000)]
    )
    samples = Samples(presentation, 5000)
    described = samples.describe()
    assert len(described["names"]) == len(set(described["names"])) == MAX_SHOWN
    assert described["group_sizes"] == [50, 4950]
    assert described["groups"].count(0) == 3


def test_a_column_of_many_values_does_not_group() -> None:
    with pytest.raises(ValueError, match="groups has 60 different values; at most 40"):
        Samples(choose_presentation((60, 3), groups=range(60)), 60)


def test_pixels_are_named_by_their_place() -> None:
    for order in ("C", "F"):
        presentation = choose_presentation((12, 5), map_shape=(3, 4), order=order)
        for index in range(12):
            row, column = np.unravel_index(index, (3, 4), order=order)
            assert presentation.sample(index) == f"pixel {row + 1}, {column + 1}"


def test_tables_have_three_digits_and_fit(fitted: AutoNMF, low_rank: np.ndarray) -> None:
    found = contents(fitted, low_rank).tables
    for name, factor in (("W", fitted.transform(low_rank)), ("H", fitted.components_.T)):
        halves = np.frombuffer(b64decode(found[name]["numbers"]), "<f2").reshape(factor.shape).astype(float)
        np.testing.assert_allclose(halves * found[name]["tops"], factor, rtol=1e-3, atol=1e-6 * factor.max())
    factors = Factors(np.ones((1000, 3)), np.ones((40, 3)), True)
    presentation = choose_presentation((1000, 40))
    assert list(pack_tables(factors, presentation, 4000)) == ["H"]
    assert pack_tables(factors, presentation, 100) == {}


def test_stability(fitted: AutoNMF, low_rank: np.ndarray) -> None:
    stability = fitted.component_stability(low_rank, n_resamples=3)
    result = Result.from_model(fitted, low_rank, stability)
    found = build_contents(
        result, choose_presentation((60, 40)), recipe_from_model(fitted), "title", 10**6
    ).stability
    assert found["components"] == stability.stability.round(3).tolist()
    assert found["ranks"] == stability.ranks.tolist()
    with pytest.raises(ValueError, match="stability is that of another model"):
        Result.from_model(fitted.at_rank(2), low_rank, stability)


def test_intervals_of_the_loadings(fitted: AutoNMF, low_rank: np.ndarray) -> None:
    stability = fitted.component_stability(low_rank, n_resamples=5)
    H, names = fitted.components_, [f"gene {j}" for j in range(40)]

    def show(X: np.ndarray | None, **options: Any) -> dict[str, Any]:
        result = Result.from_model(fitted, X, stability)
        presentation = choose_presentation((60, 40), **options)
        found = build_contents(result, presentation, recipe_from_model(fitted), "title", 10**6).stability
        assert found is not None
        return found

    for index, one in enumerate(show(low_rank)["loadings"]):
        for name, expected in (("value", H), ("lower", stability.lower), ("upper", stability.upper)):
            np.testing.assert_allclose(one[name], expected[index] / H[index].max(), atol=1e-3)
    for index, one in enumerate(show(low_rank, feature_names=names, n_top=3)["loadings"]):
        top = np.argsort(-H[index])[:3]
        assert one["names"] == [names[j] for j in top]
        np.testing.assert_allclose(one["upper"], stability.upper[index][top] / H[index].max(), atol=1e-3)
    assert set(show(low_rank, image_shape=(5, 8))["loadings"][0]) == {"value", "lower", "upper"}
    reversed_path = replace(
        fitted.path_,
        points=tuple(replace(p, U=p.U[:, ::-1], V=p.V[:, ::-1]) for p in fitted.path_.points),
    )
    result = replace(Result.from_model(fitted, None, stability), path=reversed_path)
    found = build_contents(result, choose_presentation((60, 40)), recipe_from_model(fitted), "", 10**6)
    assert found.stability is not None
    shown = [np.argmax(one["value"]) for one in found.stability["loadings"]]
    assert shown == np.argmax(reversed_path.at_rank(3).V, axis=0).tolist()


def test_one_rank_claims_no_probability(low_rank: np.ndarray) -> None:
    found = contents(AutoNMF(max_rank=1, random_state=0).fit(low_rank))
    assert found.answer.confidence == "Only one rank was tried, so that nothing was chosen."
    assert not found.answer.candidates
    assert "noise" not in found.views[0]["sentence"]
    assert "probability" not in found.views[0]["sentence"]
