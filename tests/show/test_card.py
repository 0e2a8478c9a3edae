"""Scores per group against their definitions, and a card that holds hostile text."""

import bare
import numpy as np
import pandas as pd
import pytest
from hostile import HOSTILE
from problems import FORMS, KINDS, fitted
from sklearn.metrics import log_loss, roc_auc_score

from glassleaf import ModelTreeRegressor, group_scores, inference, model_card


@pytest.mark.parametrize("favorable", ["good", "bad"])
def test_classes_by_group(rng, favorable):
    model, X, y = fitted("binary")
    weight = rng.random(500)
    found = group_scores(model, X, y, "t", favorable=favorable, sample_weight=weight)
    assert {group.group for group in found} == {"red", "green", "blue", "grey", "(missing)"}
    assert sum(group.rows for group in found) == 500
    names = X["t"].fillna("(missing)").to_numpy()
    for group in found:
        here = names == group.group
        w, is_it = weight[here], y[here] == favorable
        chosen = model.predict(X)[here] == favorable
        p = model.predict_proba(X)[here, list(model.classes_).index(favorable)]
        expected = {
            "mean_target": np.average(is_it, weights=w),
            "mean_prediction": np.average(p, weights=w),
            "selection_rate": np.average(chosen, weights=w),
            "true_positive_rate": np.average(chosen[is_it], weights=w[is_it]),
            "false_positive_rate": np.average(chosen[~is_it], weights=w[~is_it]),
            "auc": roc_auc_score(is_it, p, sample_weight=w),
            "log_loss": log_loss(is_it, p, sample_weight=w),
        }
        assert group.scores == pytest.approx(expected)
    rates = [group.scores["selection_rate"] for group in found]
    np.testing.assert_allclose([group.ratio for group in found], np.array(rates) / max(rates))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_scores_and_a_card(kind):
    model, X, y = fitted(kind)
    favorable = model.classes_[-1] if hasattr(model, "classes_") else None
    groups = group_scores(model, X, y, (X["a"] > 0).to_numpy(), favorable=favorable)
    card = model_card(model, name="A model", scores={"R2": 0.5}, groups=groups)
    assert card.startswith("# A model\n") and "To be filled in" in card
    assert "### By group" in card and "| True |" in card
    if kind == "squared_error":
        here = (X["a"] > 0).to_numpy()
        error = model.predict(X)[here] - y[here]
        scores = next(group.scores for group in groups if group.group == "True")
        assert scores["mean_error"] == pytest.approx(error.mean())
        assert scores["mean_absolute_error"] == pytest.approx(np.abs(error).mean())
        assert scores["root_mean_squared_error"] == pytest.approx(np.sqrt((error**2).mean()))


def test_a_card_has_all_terms_and_names_the_groups():
    model, X, y = fitted("binary")
    groups = group_scores(model, X, y, "t", favorable="good")
    card = model_card(model, groups=groups)
    assert "rates are of the class good." in card
    assert "smaller terms" not in card and "### By t\n" in card and "\n| t | rows |" in card
    assert {group.by for group in groups} == {"t"}
    assert "smaller term" in model_card(model, max_terms=1)
    two = model_card(model, groups=[*groups, *group_scores(model, X, y, X["u"], favorable="bad")])
    assert two.count("\n### By ") == 2 and "### By t\n" in two and "### By u\n" in two
    assert two.count(f"| {groups[0].group} |") == card.count(f"| {groups[0].group} |")
    with pytest.raises(ValueError, match="max_terms=-1 must be an integer >= 0 or None"):
        model_card(model, max_terms=-1)
    named = group_scores(model, X, y, pd.Series(X["t"], name="colour"), favorable="good")
    assert "### By colour\n" in model_card(model, groups=named)


def test_a_group_without_a_class_has_no_rate():
    model, X, y = fitted("binary")
    found = group_scores(
        model, X, y, np.where(y == "good", "only good", "others"), favorable="good"
    )
    scores = {group.group: group.scores for group in found}
    assert np.isnan(scores["only good"]["false_positive_rate"])
    assert np.isnan(scores["only good"]["auc"])
    assert found[0].to_dict()["scores"]["auc"] is None


def test_hostile_text_stays_text(rng):
    X = pd.DataFrame({name: rng.normal(size=400) for name in HOSTILE})
    y = np.where(X[HOSTILE[0]] > 0, "<b>", "a|b\n# c")
    model = bare.classifier(max_depth=1).fit(X, y)
    card = model_card(
        model, name="<script>", purpose="[x](javascript:1) ![](y)", groups=group_scores(
            model, X, y, rng.choice(["<i>", "|", "\n\n# head"], 400), favorable="<b>"
        ),
    )  # fmt: skip
    assert "<script" not in card and "<b>" not in card and "<i>" not in card
    assert "](" not in card.replace(r"\]\(", "")
    headings = [line for line in card.splitlines() if line.startswith("#")]
    assert len(headings) == 10
    tables = [line for line in card.splitlines() if line.startswith("|")]
    for line in tables:
        assert line.endswith("|")


def test_what_is_refused():
    model, X, y = fitted("binary")
    with pytest.raises(ValueError, match="by='nothing' is not a column"):
        group_scores(model, X, y, "nothing", favorable="good")
    with pytest.raises(ValueError, match="by has 3 entries"):
        group_scores(model, X, y, [1, 2, 3], favorable="good")
    with pytest.raises(ValueError, match="y has 3 entries"):
        group_scores(model, X, y[:3], "t", favorable="good")
    for favorable in ("maybe", None):
        with pytest.raises(ValueError, match="say which class is good to get, of 'bad', 'good'"):
            group_scores(model, X, y, "t", favorable=favorable)
    numbers, X, y = fitted("squared_error")
    with pytest.raises(ValueError, match="favorable='good': the model predicts no classes"):
        group_scores(numbers, X, y, "t", favorable="good")


def test_a_card_says_where_numbers_bend():
    model, _, _ = fitted("squared_error", **FORMS["curves"])
    assert "·max\\(0, d " in model_card(model)
    assert "max\\(" not in model_card(fitted("squared_error")[0])


def test_a_card_names_the_settings_that_are_no_defaults(rng):
    X = rng.normal(size=(300, 2))
    card = model_card(ModelTreeRegressor(max_depth=0, n_jobs=1, coef_digits=3).fit(X, X[:, 0]))
    said = card.partition("## Model\n")[2].partition("##")[0].replace("\\", "")
    assert "A single formula" in said
    assert "ModelTreeRegressor(coef_digits=3, max_depth=0)" in said and "significance" not in said
    seeded = ModelTreeRegressor(max_leaf_nodes="auto", random_state=5).fit(X, X[:, 0])
    assert "random\\_state=5" in model_card(seeded)
    tree = model_card(fitted("squared_error", max_depth=1)[0]).replace("\\", "")
    assert "A decision tree with 2 leaves (depth 1)" in tree


@pytest.mark.parametrize("form", [dict, list, np.array])
def test_a_card_and_a_report_name_every_sign(rng, form):
    names = [f"column_{j}" for j in range(18)]
    signs = [1, -1, 0] * 6
    X = pd.DataFrame(rng.normal(size=(300, 18)), columns=names)
    given = dict(zip(names, signs, strict=True)) if form is dict else form(signs)
    model = ModelTreeRegressor(max_depth=0, monotonic_cst=given).fit(X, X @ signs)
    rising, falling = (", ".join(names[k::3]) for k in (0, 1))
    said = f"monotonic_cst={{rising: {rising}; falling: {falling}}}"
    assert said in model_card(model).replace("\\", "")
    assert said in model.report(X, X @ signs).markdown().replace("\\", "")


@pytest.mark.parametrize("clamp", [True, False])
def test_a_card_says_what_its_formulas_mean_and_what_is_beyond_them(rng, clamp):
    z = rng.normal(size=(400, 2))
    X = pd.DataFrame(np.sinh(3 * z), columns=["income", "age"])
    model = bare.regressor(max_depth=0, leaf_transform="rank", clamp=clamp).fit(X, z[:, 0])
    card = model_card(model)
    assert card.count("\n- rank\\(income\\): ") == 1
    assert "every number counts as the nearest end" in card
    card = model_card(bare.regressor(max_depth=0, clamp=clamp).fit(X, z[:, 0]))
    assert ("every number counts as the nearest end" in card) == clamp
    assert ("it extrapolates along income, age;" in card) == (not clamp)


def test_coefficients_have_a_part_if_they_are_given(rng):
    X = rng.normal(size=(600, 2))
    y = X[:, 0] + rng.normal(size=600)
    model = ModelTreeRegressor(max_depth=1, honest=0.5).fit(X, y)
    table = inference(model, X, y)
    card = model_card(model, inference=table)
    part = card.partition("## Coefficients")[2].partition("##")[0]
    assert "| where | term | estimate | standard error | 95% interval | p |" in part
    assert f"{table['standard error'][1]:.3g}" in part and table.attrs["notes"][0][:30] in part
    assert "&lt; 0.001" in part
    assert "## Coefficients" not in model_card(model)
